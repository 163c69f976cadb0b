"""VeoTuner: a workbench on which an engineer tunes a live GPU preview."""

__version__ = "0.1.0"
