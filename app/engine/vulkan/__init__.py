"""The engine's own thin layer on Vulkan: device, surface, swapchain, upload, conversion, timestamps, results."""
