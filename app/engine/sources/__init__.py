"""Where frames come from: the synthetic pattern and everything FFmpeg opens."""
