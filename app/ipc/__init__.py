"""Between processes: the frame ring in anonymous shared memory, and the control channel with its messages."""
