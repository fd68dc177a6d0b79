/**
 *  Random raw pictures for tests of calls on images, and the tiny models of tests/golden/vision.
 */
#include "encode/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

void pictures_make(uform_image_t *pictures, size_t count, unsigned char *memory) {
    static uform_image_layout_t const layouts[] = {
        uform_image_layout_rgb_k, uform_image_layout_rgba_k, uform_image_layout_gray_k};
    static size_t const channels[] = {3, 4, 1};
    size_t const bytes = (size_t)pictures_side_k * pictures_side_k * 4;
    uint32_t seed = 1;
    for (size_t i = 0; i < count; ++i) {
        size_t const width = 1 + i * 37 % pictures_side_k, height = 1 + i * 23 % pictures_side_k, kind = i % 3;
        for (size_t k = 0; k < bytes; ++k) seed = seed * 1664525u + 1013904223u, memory[i * bytes + k] = seed >> 24;
        // Every fourth picture's rows are apart.
        size_t const stride = i % 4 == 3 ? (size_t)pictures_side_k * 4 : width * channels[kind];
        pictures[i] = (uform_image_t){
            .data = memory + i * bytes,
            .length = (height - 1) * stride + width * channels[kind],
            .layout = layouts[kind],
            .width = width,
            .height = height,
            .stride_bytes = i % 4 == 3 ? stride : 0,
        };
    }
}

uform_model_t pictures_load(char const *name, uform_scalar_t precision) {
    char path[1024];
    snprintf(path, sizeof path, "%s/golden/vision/models/%s", UFORM_TESTS_DIRECTORY, name);
    uform_model_options_t const options = {.size = sizeof options, .precision = precision};
    uform_model_t model;
    if (uform_model_load_ram(path, NULL, 0, &options, &model)) fail_msg("%s", uform_last_detail());
    return model;
}
