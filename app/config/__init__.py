"""Options, VeoConfig, presets, and the texts that name a source and a sink."""
