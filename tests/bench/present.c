/* The least program that presents: clears the images of an X11 window's swapchain and presents them uncapped.
 *
 * Built by the bench: cc -O2 present.c -o present -lvulkan -lxcb
 * Usage: present WIDTH HEIGHT FRAMES; prints frames per second. It makes the same Vulkan calls for a frame as
 * app/engine/vulkan/clearing.py: wait for the frame's fence, acquire, record two barriers and a clear, submit, present.
 */
#define VK_USE_PLATFORM_XCB_KHR
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vulkan/vulkan.h>
#include <xcb/xcb.h>

#define IN_FLIGHT 3
#define MAX_IMAGES 16
#define TRY(call) do { VkResult r_ = (call); if (r_ < 0) { fprintf(stderr, #call ": %d\n", r_); exit(1); } } while (0)

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static VkImageMemoryBarrier barrier(VkImage image, VkAccessFlags from, VkAccessFlags to, VkImageLayout old, VkImageLayout next)
{
    VkImageMemoryBarrier b = {VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER, NULL, from, to, old, next,
                              VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED, image,
                              {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    return b;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: present WIDTH HEIGHT FRAMES\n");
        return 2;
    }
    uint32_t width = atoi(argv[1]), height = atoi(argv[2]);
    int frames = atoi(argv[3]);

    xcb_connection_t *x = xcb_connect(NULL, NULL);
    if (xcb_connection_has_error(x)) {
        fprintf(stderr, "no X server\n");
        return 1;
    }
    xcb_screen_t *screen = xcb_setup_roots_iterator(xcb_get_setup(x)).data;
    xcb_window_t window = xcb_generate_id(x);
    xcb_create_window(x, XCB_COPY_FROM_PARENT, window, screen->root, 0, 0, width, height, 0,
                      XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual, 0, NULL);
    xcb_map_window(x, window);
    xcb_flush(x);

    const char *instance_extensions[] = {"VK_KHR_surface", "VK_KHR_xcb_surface"};
    VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo instance_info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application,
                                          .enabledExtensionCount = 2, .ppEnabledExtensionNames = instance_extensions};
    VkInstance instance;
    TRY(vkCreateInstance(&instance_info, NULL, &instance));
    VkXcbSurfaceCreateInfoKHR surface_info = {VK_STRUCTURE_TYPE_XCB_SURFACE_CREATE_INFO_KHR, .connection = x, .window = window};
    VkSurfaceKHR surface;
    TRY(vkCreateXcbSurfaceKHR(instance, &surface_info, NULL, &surface));

    VkPhysicalDevice physical;
    uint32_t count = 1;
    TRY(vkEnumeratePhysicalDevices(instance, &count, &physical));
    float priority = 1;
    VkDeviceQueueCreateInfo queue_info = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const char *device_extensions[] = {"VK_KHR_swapchain"};
    VkDeviceCreateInfo device_info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &queue_info, .enabledExtensionCount = 1,
                                      .ppEnabledExtensionNames = device_extensions};
    VkDevice device;
    TRY(vkCreateDevice(physical, &device_info, NULL, &device));
    VkQueue queue;
    vkGetDeviceQueue(device, 0, 0, &queue);
    VkBool32 presents = 0;
    TRY(vkGetPhysicalDeviceSurfaceSupportKHR(physical, 0, surface, &presents));
    VkSurfaceCapabilitiesKHR capabilities;
    TRY(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(physical, surface, &capabilities));

    VkSwapchainCreateInfoKHR swapchain_info = {
        VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR, .surface = surface, .minImageCount = capabilities.minImageCount,
        .imageFormat = VK_FORMAT_B8G8R8A8_UNORM, .imageColorSpace = VK_COLOR_SPACE_SRGB_NONLINEAR_KHR,
        .imageExtent = capabilities.currentExtent, .imageArrayLayers = 1,
        .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
        .preTransform = capabilities.currentTransform, .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
        .presentMode = VK_PRESENT_MODE_IMMEDIATE_KHR, .clipped = VK_TRUE};
    VkSwapchainKHR swapchain;
    TRY(vkCreateSwapchainKHR(device, &swapchain_info, NULL, &swapchain));
    VkImage images[MAX_IMAGES];
    uint32_t image_count = MAX_IMAGES;
    TRY(vkGetSwapchainImagesKHR(device, swapchain, &image_count, images));

    VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                         .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VkCommandPool pool;
    TRY(vkCreateCommandPool(device, &pool_info, NULL, &pool));
    VkCommandBufferAllocateInfo allocate_info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool,
                                                 .commandBufferCount = IN_FLIGHT};
    VkCommandBuffer commands[IN_FLIGHT];
    TRY(vkAllocateCommandBuffers(device, &allocate_info, commands));
    VkFence fences[IN_FLIGHT];
    VkSemaphore acquired[IN_FLIGHT], drawn[MAX_IMAGES];
    VkFenceCreateInfo fence_info = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = VK_FENCE_CREATE_SIGNALED_BIT};
    VkSemaphoreCreateInfo semaphore_info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    for (int i = 0; i < IN_FLIGHT; i++) {
        TRY(vkCreateFence(device, &fence_info, NULL, &fences[i]));
        TRY(vkCreateSemaphore(device, &semaphore_info, NULL, &acquired[i]));
    }
    for (uint32_t i = 0; i < image_count; i++)
        TRY(vkCreateSemaphore(device, &semaphore_info, NULL, &drawn[i]));

    VkClearColorValue black = {{0, 0, 0, 1}};
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkPipelineStageFlags wait_stage = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    double started = now_s();
    for (int frame = 0; frame < frames; frame++) {
        int slot = frame % IN_FLIGHT;
        uint32_t index;
        TRY(vkWaitForFences(device, 1, &fences[slot], VK_TRUE, 1000000000));
        TRY(vkAcquireNextImageKHR(device, swapchain, 1000000000, acquired[slot], VK_NULL_HANDLE, &index));
        VkImageMemoryBarrier before = barrier(images[index], 0, VK_ACCESS_TRANSFER_WRITE_BIT, VK_IMAGE_LAYOUT_UNDEFINED,
                                              VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        VkImageMemoryBarrier after = barrier(images[index], VK_ACCESS_TRANSFER_WRITE_BIT, 0,
                                             VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
        TRY(vkBeginCommandBuffer(commands[slot], &begin));
        vkCmdPipelineBarrier(commands[slot], wait_stage, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &before);
        vkCmdClearColorImage(commands[slot], images[index], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &black, 1, &range);
        vkCmdPipelineBarrier(commands[slot], VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0, 0,
                             NULL, 0, NULL, 1, &after);
        TRY(vkEndCommandBuffer(commands[slot]));
        TRY(vkResetFences(device, 1, &fences[slot]));
        VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, NULL, 1, &acquired[slot], &wait_stage, 1, &commands[slot], 1, &drawn[index]};
        TRY(vkQueueSubmit(queue, 1, &submit, fences[slot]));
        VkPresentInfoKHR present = {VK_STRUCTURE_TYPE_PRESENT_INFO_KHR, NULL, 1, &drawn[index], 1, &swapchain, &index, NULL};
        TRY(vkQueuePresentKHR(queue, &present));
    }
    TRY(vkDeviceWaitIdle(device));
    printf("%.1f\n", frames / (now_s() - started));
    return 0;
}
