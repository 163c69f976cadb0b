"""The preview stream: the server process that shows thumbnails of a run to WebSocket clients. No Qt, no Vulkan."""
