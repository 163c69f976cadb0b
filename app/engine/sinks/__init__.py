"""Where frames go: the simulated display and Vulkan swapchains."""
