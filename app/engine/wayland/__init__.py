"""The engine's own native Wayland window, and the compositor's word on when each picture was shown."""
