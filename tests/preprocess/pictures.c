/**
 *  Pictures, checksums, files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pictures.h"

static uint32_t mix(uint32_t x, uint32_t y, uint32_t channel, uint32_t seed) {
    uint32_t h = x * 0x9E3779B1u ^ y * 0x85EBCA77u ^ channel * 0xC2B2AE3Du ^ seed;
    h = (h ^ h >> 15) * 0x2C1B3C6Du;
    h = (h ^ h >> 12) * 0x297A2D39u;
    return h ^ h >> 15;
}

static uint8_t pixel(char kind, uint32_t x, uint32_t y, uint32_t channel, uint32_t seed) {
    switch (kind) {
        case 'n':
            return (uint8_t)(mix(x, y, channel, seed) >> 24);
        case 'e':
            return mix(x, y, channel, seed) >> 31 ? 255 : 0;
        case 'c':
            return (x + y) % 2 ? 255 : 0;
        default:
            return (uint8_t)(x * (channel + 1) + y * (3 - channel));
    }
}

uint8_t *picture_new(char const *kind, size_t width, size_t height, uint32_t seed) {
    uint8_t *const pixels = malloc(width * height * 3);
    assert_non_null(pixels);
    uint8_t *next = pixels;
    for (uint32_t y = 0; y < height; ++y)
        for (uint32_t x = 0; x < width; ++x)
            for (uint32_t channel = 0; channel < 3; ++channel) *next++ = pixel(*kind, x, y, channel, seed);
    return pixels;
}

uint32_t checksum(void const *bytes, size_t length) {
    uint32_t sum = 0xFFFFFFFFu;
    for (size_t i = 0; i < length; ++i) {
        sum ^= ((uint8_t const *)bytes)[i];
        for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
    }
    return ~sum;
}

char *expected_read(char const *name, size_t *length) {
    char path[512];
    snprintf(path, sizeof(path), "%s/preprocess/expected/%s", UFORM_TESTS_DIRECTORY, name);
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long const end = ftell(file);
    assert_true(end > 0);
    rewind(file);
    char *const text = malloc((size_t)end + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)end, file), (size_t)end);
    text[end] = '\0';
    *length = (size_t)end;
    fclose(file);
    return text;
}

size_t kernels_list(uform_kernels_t const *kernels[kernels_limit_k]) {
    static uform_cpu_class_t const classes[] = {
#define UFORM_CLASS(token, ...) uform_cpu_class_##token##_k,
#include "kernels/classes.inc"
#undef UFORM_CLASS
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); ++i) {
        if (uform_cpu_class_require_(classes[i]) != uform_status_ok_k) continue;
        uform_kernels_t const *const one = uform_kernels_(classes[i]);
        if (count && kernels[count - 1]->resample == one->resample) continue;
        kernels[count++] = one;
    }
    return count;
}
