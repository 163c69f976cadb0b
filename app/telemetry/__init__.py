"""Read-only providers of host and GPU readings, and the sampler that polls them outside the frame path."""
