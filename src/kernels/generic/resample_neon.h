/**
 *  Resampling on NEON, with the sums of resample_plain.h.
 *
 *  Instructions multiply pixels of 16 bits by a weight of 16 bits and add the products to sums of 32, which wrap around as they
 *  should. Along rows, four neighbouring pixels of a row are one load and two shuffles, and a few rows are done at once. Across
 *  rows, vectors of bytes are widened. Low and high halves of wide weights have sums of their own, put together at the end.
 */
#ifndef UFORM_KERNELS_GENERIC_RESAMPLE_NEON_H
#define UFORM_KERNELS_GENERIC_RESAMPLE_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/generic/resample_plain.h"
#include "kernels/target.h"

enum {
    resample_rows_k = 4,   ///< rows of a block: their sums wait for themselves, not for each other
    resample_vector_k = 16 ///< bytes of a vector
};

/// The rows of one block.
typedef struct resample_rows_t {
    uint8_t const *sources[resample_rows_k];
    uint8_t *targets[resample_rows_k];
} resample_rows_t;

/// A block that is not full does its last row again.
UFORM_INLINED resample_rows_t resample_rows(uform_resample_call_t const *call, size_t row) {
    resample_rows_t rows;
    for (size_t i = 0; i < resample_rows_k; ++i) {
        size_t const one = row + i < call->rows ? row + i : call->rows - 1;
        rows.sources[i] = resample_source(call, one), rows.targets[i] = resample_target(call, one);
    }
    return rows;
}

/// (low + 2^split * high + half) >> precision, clamped to 16 bits without a sign.
UFORM_INLINED uint16x4_t resample_scaled(uform_resample_axis_t const *axis, int32x4_t low, int32x4_t high, bool wide) {
    if (wide) low = vaddq_s32(low, vshlq_n_s32(high, resample_split_k));
    int32x4_t const sum = vaddq_s32(low, vdupq_n_s32((int32_t)(1u << (axis->precision - 1))));
    return vqmovun_s32(vshlq_s32(sum, vdupq_n_s32(-(int32_t)axis->precision)));
}

/// Adds four neighbouring pixels times their weights: each pixel is its channels and the next one's first.
UFORM_INLINED int32x4_t resample_add(int32x4_t sums, int16x8_t first, int16x8_t second, int16x4_t weights) {
    sums = vmlal_lane_s16(sums, vget_low_s16(first), weights, 0);
    sums = vmlal_lane_s16(sums, vget_high_s16(first), weights, 1);
    sums = vmlal_lane_s16(sums, vget_low_s16(second), weights, 2);
    return vmlal_lane_s16(sums, vget_high_s16(second), weights, 3);
}

/// One output of a block of rows: three bytes a row, and a fourth that the next output overwrites unless this is the last.
UFORM_INLINED void resample_along_output(
    uform_resample_axis_t const *axis, size_t output, bool wide, bool last, resample_rows_t const *rows) {
    static uint8_t const order[32] = {0, 255, 1, 255, 2, 255, 3, 255, 3, 255, 4, 255, 5, 255, 6, 255, //
        6, 255, 7, 255, 8, 255, 9, 255, 9, 255, 10, 255, 11, 255, 12, 255};
    uint8x16_t const first_order = vld1q_u8(order), second_order = vld1q_u8(order + 16);
    int32x4_t low[resample_rows_k], high[resample_rows_k];
    UFORM_UNROLLED
    for (size_t i = 0; i < resample_rows_k; ++i) low[i] = high[i] = vdupq_n_s32(0);
    int16_t const *quad = axis->weights + output * axis->quads * 8;
    size_t offset = axis->firsts[output] * (size_t)resample_channels_k;
    size_t const end = offset + axis->taps[output] * resample_channels_k;
    for (; offset < end; quad += 8, offset += 4 * resample_channels_k) {
        int16x8_t const weights = vld1q_s16(quad);
        UFORM_UNROLLED
        for (size_t i = 0; i < resample_rows_k; ++i) {
            uint8x16_t const pixels = vld1q_u8(rows->sources[i] + offset);
            int16x8_t const first = vreinterpretq_s16_u8(vqtbl1q_u8(pixels, first_order));
            int16x8_t const second = vreinterpretq_s16_u8(vqtbl1q_u8(pixels, second_order));
            low[i] = resample_add(low[i], first, second, vget_low_s16(weights));
            if (wide) high[i] = resample_add(high[i], first, second, vget_high_s16(weights));
        }
    }
    UFORM_UNROLLED
    for (size_t i = 0; i < resample_rows_k; ++i) {
        uint16x4_t const scaled = resample_scaled(axis, low[i], high[i], wide);
        uint8_t bytes[8];
        vst1_u8(bytes, vqmovn_u16(vcombine_u16(scaled, scaled)));
        memcpy(rows->targets[i] + output * resample_channels_k, bytes,
            last ? resample_channels_k : resample_channels_k + 1);
    }
}

UFORM_INLINED void resample_along_as(uform_resample_call_t const *call, bool wide) {
    uform_resample_axis_t const axis = *call->axis;
    for (size_t row = 0; row < call->rows; row += resample_rows_k) {
        resample_rows_t const rows = resample_rows(call, row);
        for (size_t output = 0; output + 1 < axis.outputs; ++output)
            resample_along_output(&axis, output, wide, false, &rows);
        resample_along_output(&axis, axis.outputs - 1, wide, true, &rows);
    }
}

static void resample_along(uform_resample_call_t const *call) {
    if (call->axis->wide) resample_along_as(call, true);
    else resample_along_as(call, false);
}

/// Adds one weight times sixteen bytes.
UFORM_INLINED void resample_add_bytes(int32x4_t sums[4], int16x8_t first, int16x8_t second, int16_t const *weight) {
    int16x4_t const all = vld1_dup_s16(weight);
    sums[0] = vmlal_s16(sums[0], vget_low_s16(first), all);
    sums[1] = vmlal_s16(sums[1], vget_high_s16(first), all);
    sums[2] = vmlal_s16(sums[2], vget_low_s16(second), all);
    sums[3] = vmlal_s16(sums[3], vget_high_s16(second), all);
}

/// One vector of bytes of one output.
UFORM_INLINED void resample_across_vector(uform_resample_call_t const *call, size_t output, size_t begin, bool wide) {
    uform_resample_axis_t const *const axis = call->axis;
    int32x4_t low[4], high[4];
    UFORM_UNROLLED
    for (size_t i = 0; i < 4; ++i) low[i] = high[i] = vdupq_n_s32(0);
    uint8_t const *source = resample_input(call, output) + begin;
    int16_t const *const quads = axis->weights + output * axis->quads * 8;
    for (size_t tap = 0, taps = axis->taps[output]; tap < taps; ++tap, source += call->source_stride_bytes) {
        uint8x16_t const bytes = vld1q_u8(source);
        int16x8_t const first = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
        int16x8_t const second = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(bytes)));
        int16_t const *const weight = quads + tap / 4 * 8 + tap % 4;
        resample_add_bytes(low, first, second, weight);
        if (wide) resample_add_bytes(high, first, second, weight + 4);
    }
    uint8x8_t bytes[2];
    UFORM_UNROLLED
    for (size_t i = 0; i < 2; ++i)
        bytes[i] = vqmovn_u16(vcombine_u16(resample_scaled(axis, low[2 * i], high[2 * i], wide),
            resample_scaled(axis, low[2 * i + 1], high[2 * i + 1], wide)));
    vst1q_u8(resample_target(call, output) + begin, vcombine_u8(bytes[0], bytes[1]));
}

UFORM_INLINED void resample_across_as(uform_resample_call_t const *call, bool wide) {
    size_t const bytes = call->width * resample_channels_k;
    for (size_t output = 0; output < call->axis->outputs; ++output) {
        if (bytes < resample_vector_k) {
            resample_across_tail(call, output, 0);
            continue;
        }
        for (size_t begin = 0; begin + resample_vector_k <= bytes; begin += resample_vector_k)
            resample_across_vector(call, output, begin, wide);
        // The last vector overlaps the one before.
        if (bytes % resample_vector_k) resample_across_vector(call, output, bytes - resample_vector_k, wide);
    }
}

static void resample_across(uform_resample_call_t const *call) {
    if (call->axis->wide) resample_across_as(call, true);
    else resample_across_as(call, false);
}

/// Four channels of pixels as f32, the fourth being the next pixel's.
UFORM_INLINED float32x4_t resample_pixel(uint8_t const *source, float32x4_t scale) {
    uint32_t bytes;
    memcpy(&bytes, source, sizeof(bytes));
    uint16x4_t const channels = vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(bytes))));
    return vmulq_f32(vcvtq_f32_u32(vmovl_u16(channels)), scale);
}

/// One output of a block of rows, one rounding an operation.
UFORM_INLINED void resample_along_f32_output(
    uform_resample_axis_t const *axis, size_t output, float32x4_t scale, resample_rows_t const *rows) {
    float const *const weights = axis->weights_f32 + output * axis->quads * 4;
    size_t offset = axis->firsts[output] * (size_t)resample_channels_k;
    float32x4_t sums[resample_rows_k];
    UFORM_UNROLLED
    for (size_t i = 0; i < resample_rows_k; ++i)
        sums[i] = vmulq_f32(resample_pixel(rows->sources[i] + offset, scale), vdupq_n_f32(weights[0]));
    for (size_t tap = 1; tap < axis->taps[output]; ++tap) {
        offset += resample_channels_k;
        float32x4_t const weight = vdupq_n_f32(weights[tap]);
        UFORM_UNROLLED
        for (size_t i = 0; i < resample_rows_k; ++i)
            sums[i] = vaddq_f32(sums[i], vmulq_f32(resample_pixel(rows->sources[i] + offset, scale), weight));
    }
    UFORM_UNROLLED
    for (size_t i = 0; i < resample_rows_k; ++i) {
        float pixel[4];
        vst1q_f32(pixel, sums[i]);
        memcpy(rows->targets[i] + output * resample_channels_k * sizeof(float), pixel,
            output + 1 == axis->outputs ? 3 * sizeof(float) : sizeof(pixel));
    }
}

static void resample_along_f32(uform_resample_call_t const *call) {
    for (size_t row = 0; row < call->rows; row += resample_rows_k) {
        resample_rows_t const rows = resample_rows(call, row);
        for (size_t output = 0; output < call->axis->outputs; ++output)
            resample_along_f32_output(call->axis, output, vdupq_n_f32(call->scale), &rows);
    }
}

static uform_resample_t const resample = {.along = resample_along,
    .across = resample_across,
    .along_f32 = resample_along_f32,
    .across_f32 = resample_across_f32};

#endif
