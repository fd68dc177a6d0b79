/**
 *  Resampling of bytes over the integer vocabulary, with the sums of resample_plain.h.
 *
 *  Along rows, two outputs of a block of rows at a time: four neighbouring pixels of a row are one load and one shuffle, whose
 *  channels meet their weights in pairs. Across rows, a vector of bytes of two rows is zipped into pairs. Low and high halves of
 *  wide weights have sums of their own, put together at the end.
 */
#ifndef UFORM_KERNELS_GENERIC_RESAMPLE_H
#define UFORM_KERNELS_GENERIC_RESAMPLE_H

#include "kernels/generic/resample_plain.h"

enum { resample_vectors_k = integers_block_k / integers_rows_k, resample_rows_k = 4 };

/// Sums of one output of a block of rows.
UFORM_INLINED void resample_along_sums(uform_resample_axis_t const *axis, size_t output, bool wide,
    uint8_t const *const sources[integers_block_k], integers_t sums[resample_vectors_k]) {
    integers_t high[resample_vectors_k];
    UFORM_UNROLLED
    for (size_t i = 0; i < resample_vectors_k; ++i) sums[i] = high[i] = integers_zero();
    int16_t const *quad = axis->weights + output * axis->quads * 8;
    size_t offset = axis->firsts[output] * (size_t)resample_channels_k;
    size_t const end = offset + axis->taps[output] * resample_channels_k;
    for (; offset < end; quad += 8, offset += 4 * resample_channels_k) {
        integers_t const weights = integers_quad(quad);
        UFORM_UNROLLED
        for (size_t i = 0; i < resample_vectors_k; ++i) {
            integers_t const pixels = integers_pixels(sources + i * integers_rows_k, offset);
            sums[i] = integers_multiply_add(sums[i], pixels, integers_quad_low(weights));
            if (wide) high[i] = integers_multiply_add(high[i], pixels, integers_quad_high(weights));
        }
    }
    UFORM_UNROLLED
    for (size_t i = 0; i < resample_vectors_k && wide; ++i) sums[i] = integers_join(sums[i], high[i], resample_split_k);
}

/// Two neighbouring outputs of a block of rows. Six bytes of a row are theirs; the two behind them are zeroed unless `last`.
UFORM_INLINED void resample_along_outputs(uform_resample_axis_t const *axis, size_t output, bool wide, bool last,
    uint8_t const *const sources[integers_block_k], uint8_t *const targets[integers_block_k]) {
    integers_t first[resample_vectors_k], second[resample_vectors_k];
    resample_along_sums(axis, output, wide, sources, first);
    resample_along_sums(axis, output + 1, wide, sources, second);
    uint64_t pixels[integers_block_k];
    integers_pixel_pairs(first, second, integers_set((int32_t)(1u << (axis->precision - 1))),
        _mm_cvtsi32_si128((int)axis->precision), pixels);
    UFORM_UNROLLED
    for (size_t i = 0; i < integers_block_k; ++i)
        memcpy(
            targets[i] + output * resample_channels_k, &pixels[i], last ? 2 * resample_channels_k : sizeof(pixels[i]));
}

UFORM_INLINED void resample_along_as(uform_resample_call_t const *call, bool wide) {
    uform_resample_axis_t const axis = *call->axis;
    for (size_t row = 0; row < call->rows; row += integers_block_k) {
        uint8_t const *sources[integers_block_k];
        uint8_t *targets[integers_block_k];
        for (size_t i = 0; i < integers_block_k; ++i) { // a block that is not full does its last row again
            size_t const one = row + i < call->rows ? row + i : call->rows - 1;
            sources[i] = resample_source(call, one), targets[i] = resample_target(call, one);
        }
        // The last pair overlaps the one before where the outputs are odd.
        for (size_t output = 0; output + 2 < axis.outputs; output += 2)
            resample_along_outputs(&axis, output, wide, false, sources, targets);
        resample_along_outputs(&axis, axis.outputs - 2, wide, true, sources, targets);
    }
}

static void resample_along(uform_resample_call_t const *call) {
    if (call->axis->outputs < 2) resample_along_plain(call);
    else if (call->axis->wide) resample_along_as(call, true);
    else resample_along_as(call, false);
}

/// Four channels of pixels as f32, the fourth being the next pixel's.
UFORM_INLINED __m128 resample_pixel(uint8_t const *source, __m128 scale) {
    int32_t bytes;
    memcpy(&bytes, source, sizeof(bytes));
    return _mm_mul_ps(_mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes))), scale);
}

UFORM_INLINED void resample_along_pixels(uform_resample_axis_t const *axis, size_t output, __m128 scale,
    uint8_t const *const sources[resample_rows_k], uint8_t *const targets[resample_rows_k]) {
    float const *const weights = axis->weights_f32 + output * axis->quads * 4;
    size_t offset = axis->firsts[output] * (size_t)resample_channels_k;
    __m128 sums[resample_rows_k];
    UFORM_UNROLLED
    for (size_t i = 0; i < resample_rows_k; ++i)
        sums[i] = _mm_mul_ps(resample_pixel(sources[i] + offset, scale), _mm_set1_ps(weights[0]));
    for (size_t tap = 1; tap < axis->taps[output]; ++tap) {
        offset += resample_channels_k;
        __m128 const weight = _mm_set1_ps(weights[tap]);
        UFORM_UNROLLED
        for (size_t i = 0; i < resample_rows_k; ++i)
            sums[i] = _mm_add_ps(sums[i], _mm_mul_ps(resample_pixel(sources[i] + offset, scale), weight));
    }
    UFORM_UNROLLED
    for (size_t i = 0; i < resample_rows_k; ++i) {
        float pixel[4];
        _mm_storeu_ps(pixel, sums[i]);
        memcpy(targets[i] + output * resample_channels_k * sizeof(float), pixel,
            output + 1 == axis->outputs ? 3 * sizeof(float) : sizeof(pixel));
    }
}

static void resample_along_f32(uform_resample_call_t const *call) {
    for (size_t row = 0; row < call->rows; row += resample_rows_k) {
        uint8_t const *sources[resample_rows_k];
        uint8_t *targets[resample_rows_k];
        for (size_t i = 0; i < resample_rows_k; ++i) {
            size_t const one = row + i < call->rows ? row + i : call->rows - 1;
            sources[i] = resample_source(call, one), targets[i] = resample_target(call, one);
        }
        for (size_t output = 0; output < call->axis->outputs; ++output)
            resample_along_pixels(call->axis, output, _mm_set1_ps(call->scale), sources, targets);
    }
}

/// One vector of bytes of one output.
UFORM_INLINED void resample_across_vector(uform_resample_call_t const *call, size_t output, size_t begin, bool wide) {
    uform_resample_axis_t const *const axis = call->axis;
    integers_t low[4], high[4];
    UFORM_UNROLLED
    for (size_t i = 0; i < 4; ++i) low[i] = high[i] = integers_zero();
    uint8_t const *source = resample_input(call, output) + begin;
    int16_t const *quad = axis->weights + output * axis->quads * 8;
    size_t const taps = axis->taps[output], stride = call->source_stride_bytes;
    for (size_t tap = 0; tap < taps; tap += 2, source += 2 * stride) {
        int16_t const *const weights = quad + tap / 4 * 8 + tap % 4;
        integers_t const first = integers_load(source);
        integers_t const second = tap + 1 < taps ? integers_load(source + stride) : integers_zero();
        integers_t const zipped_low = integers_zip_low(first, second), zipped_high = integers_zip_high(first, second);
        integers_t const pixels[4] = {
            integers_zip_low(zipped_low, integers_zero()),
            integers_zip_high(zipped_low, integers_zero()),
            integers_zip_low(zipped_high, integers_zero()),
            integers_zip_high(zipped_high, integers_zero()),
        };
        integers_t const low_pair = integers_pair(weights), high_pair = integers_pair(weights + 4);
        UFORM_UNROLLED
        for (size_t i = 0; i < 4; ++i) {
            low[i] = integers_multiply_add(low[i], pixels[i], low_pair);
            if (wide) high[i] = integers_multiply_add(high[i], pixels[i], high_pair);
        }
    }
    integers_t const half = integers_set((int32_t)(1u << (axis->precision - 1)));
    UFORM_UNROLLED
    for (size_t i = 0; i < 4; ++i) {
        if (wide) low[i] = integers_join(low[i], high[i], resample_split_k);
        low[i] = integers_scale(low[i], half, _mm_cvtsi32_si128((int)axis->precision));
    }
    integers_store(resample_target(call, output) + begin, integers_bytes(low));
}

UFORM_INLINED void resample_across_as(uform_resample_call_t const *call, bool wide) {
    size_t const bytes = call->width * resample_channels_k;
    for (size_t output = 0; output < call->axis->outputs; ++output) {
        if (bytes < integers_bytes_k) {
            resample_across_tail(call, output, 0);
            continue;
        }
        for (size_t begin = 0; begin + integers_bytes_k <= bytes; begin += integers_bytes_k)
            resample_across_vector(call, output, begin, wide);
        // The last vector overlaps the one before.
        if (bytes % integers_bytes_k) resample_across_vector(call, output, bytes - integers_bytes_k, wide);
    }
}

static void resample_across(uform_resample_call_t const *call) {
    if (call->axis->wide) resample_across_as(call, true);
    else resample_across_as(call, false);
}

static uform_resample_t const resample = {.along = resample_along,
    .across = resample_across,
    .along_f32 = resample_along_f32,
    .across_f32 = resample_across_f32};

#endif
