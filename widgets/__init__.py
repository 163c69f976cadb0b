"""Reusable Qt widgets: preview host, plots, option controls. They import core and config only."""
