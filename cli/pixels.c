/**
 *  uform pixels: the numbers a vision tower is given for a picture, to compare with what others make of it.
 */
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "output.h"
#include "pictures.h"
#include "progress.h"
#include "protect.h"
#include "setup.h"

/// The tensor of a picture, in memory of its own; NULL, with a message, on failure.
static float *read_pixels(setup_t const *setup, uform_image_t image, char const *path, size_t shape[3]) {
    float *pixels = NULL;
    uform_status_t status = uform_image_pixels(setup->model, image, &setup->encoding, NULL, 0, shape);
    size_t const count = shape[0] * shape[1] * shape[2];
    if (status == uform_status_ok_k) {
        pixels = calloc(count, sizeof(*pixels));
        status = pixels ? uform_image_pixels(setup->model, image, &setup->encoding, pixels, count, shape)
                        : uform_status_out_of_memory_k;
    }
    if (status == uform_status_ok_k) return pixels;
    message_item_("--image", path, status, uform_last_detail());
    free(pixels);
    return NULL;
}

static bool write_pixels(float const *pixels, size_t const shape[3], settings_t const *settings) {
    size_t const plane = shape[1] * shape[2];
    output_t output;
    if (!output_open_(&output, settings->output, output_format_npy_k, uform_scalar_f32_k, plane)) return false;
    output.inner = shape[2];
    for (size_t channel = 0; channel != shape[0]; ++channel)
        if (!output_row_(&output, pixels + channel * plane)) break;
    return output_close_(&output);
}

static exit_status_t read_and_write(setup_t const *setup, settings_t const *settings) {
    pictures_t pictures;
    if (!pictures_open_(&pictures, 1)) return exit_status_failed_k;
    uform_status_t status = uform_status_ok_k;
    char problem[picture_problem_bytes_k];
    exit_status_t exit_status = exit_status_failed_k;
    if (pictures_add_(&pictures, settings->image, &status, problem) == picture_added_k) {
        size_t shape[3] = {0};
        float *const pixels = read_pixels(setup, pictures.images[0], settings->image, shape);
        if (pixels && write_pixels(pixels, shape, settings)) exit_status = exit_status_ok_k;
        free(pixels);
    } else {
        message_item_("--image", settings->image, status, problem);
    }
    pictures_close_(&pictures);
    return exit_status;
}

static exit_status_t run_pixels(settings_t const *settings) {
    setup_t setup;
    // One picture is one thread's work.
    settings_t alone = *settings;
    alone.threads = 1;
    if (!setup_open_(&setup, &alone, setup_images_k)) return exit_status_usage_k;
    exit_status_t const exit_status =
        output_permitted_(-1, settings) ? read_and_write(&setup, settings) : exit_status_usage_k;
    setup_close_(&setup);
    return exit_status;
}

command_t const command_pixels_ = {
    .name = "pixels",
    .bit = command_pixels_k,
    .summary = "show the numbers a vision tower is given",
    .synopsis = "--model DIR --image FILE [--output FILE.npy] [options]",
    .manual =
        "Decodes a picture, resizes, crops and normalises it as the directory says, and writes the tensor as a NumPy\n"
        "file of [channels, height, width] floats: what the image processor of transformers returns as pixel_values. An\n"
        "output whose name ends as a picture's does (.png, .jpg, ...) is refused, since none is written.\n"
        "\n"
        "Examples:\n"
        "  uform pixels --model clip --image cat.jpg --output cat.npy\n"
        "  python3 -c 'import numpy; print(numpy.load(\"cat.npy\").shape)'\n",
    .run = run_pixels,
};
