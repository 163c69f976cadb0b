"""One run: starts the engine process, drains the ring, owns the state, writes the recording."""
