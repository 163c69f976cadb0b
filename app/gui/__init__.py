"""Main window, docks, controllers, actions: composition only."""
