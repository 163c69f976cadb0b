"""Pure numpy on record arrays: frame statistics, latency, loss."""
