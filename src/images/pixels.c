/**
 *  Pixels from one shape into another: turned upright, alpha dropped, bytes spread to colours, ink to light.
 */
#include <string.h>

#include "images/decoder.h"

enum { tile_pixels_k = 16 }; ///< a tile of both sides of a turn fits into the first cache

void uform_turn_(uint8_t const *source, size_t width, size_t height, unsigned orientation, uint8_t *target) {
    // Where the target's first pixel comes from, and whether its rows are the source's columns.
    static struct {
        bool sideways, from_right, from_bottom;
    } const turns[9] = {[1] = {0, 0, 0},
        [2] = {0, 1, 0},
        [3] = {0, 1, 1},
        [4] = {0, 0, 1},
        [5] = {1, 0, 0},
        [6] = {1, 0, 1},
        [7] = {1, 1, 1},
        [8] = {1, 1, 0}};
    bool const sideways = turns[orientation].sideways;
    ptrdiff_t const right = turns[orientation].from_right ? -3 : 3;
    ptrdiff_t const down = (turns[orientation].from_bottom ? -3 : 3) * (ptrdiff_t)width;
    if (right < 0) source += (width - 1) * 3;
    if (down < 0) source += (height - 1) * width * 3;
    size_t const target_width = sideways ? height : width, target_height = sideways ? width : height;
    ptrdiff_t const step = sideways ? down : right, row_step = sideways ? right : down; // bytes in the source
    for (size_t top = 0; top < target_height; top += tile_pixels_k)
        for (size_t left = 0; left < target_width; left += tile_pixels_k) {
            size_t const bottom = top + tile_pixels_k < target_height ? top + tile_pixels_k : target_height;
            size_t const end = left + tile_pixels_k < target_width ? left + tile_pixels_k : target_width;
            for (size_t y = top; y < bottom; ++y) {
                uint8_t const *from = source + (ptrdiff_t)y * row_step + (ptrdiff_t)left * step;
                uint8_t *to = target + (y * target_width + left) * 3;
                for (size_t x = left; x < end; ++x, from += step, to += 3)
                    to[0] = from[0], to[1] = from[1], to[2] = from[2];
            }
        }
}

void uform_drop_alpha_(uint8_t const *rgba, size_t count, bool flatten, uint8_t *rgb) {
    for (size_t i = 0; i < count; ++i, rgba += 4, rgb += 3)
        for (size_t c = 0; c < 3; ++c) rgb[c] = flatten ? uform_over_white_(rgba[c], rgba[3]) : rgba[c];
}

void uform_spread_(uint8_t *pixels, size_t count, uint8_t const colors[256][3]) {
    // Pixel i is written at 3 * i and read at 2 * count + i, which no write before it has reached.
    uint8_t const *const bytes = pixels + 2 * count;
    for (size_t i = 0; i < count; ++i) {
        uint8_t const *const color = colors[bytes[i]];
        uint8_t *const pixel = pixels + 3 * i;
        pixel[0] = color[0], pixel[1] = color[1], pixel[2] = color[2];
    }
}

void uform_ink_to_light_(uint8_t const *ink, size_t count, uint8_t *rgb) {
    for (size_t i = 0; i < count; ++i, ink += 4, rgb += 3) {
        unsigned const paper = 255u - ink[3]; // what the black lets through
        for (size_t c = 0; c < 3; ++c) {
            unsigned const product = ink[c] * paper + 128;
            rgb[c] = (uint8_t)(paper - ((product + (product >> 8)) >> 8));
        }
    }
}
