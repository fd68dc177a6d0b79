/**
 *  Resampling in plain C: the reference for bytes, and what every class computes for f32, where the compiler finds the vectors.
 */
#ifndef UFORM_KERNELS_GENERIC_RESAMPLE_PLAIN_H
#define UFORM_KERNELS_GENERIC_RESAMPLE_PLAIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

enum { resample_split_k = 11, resample_channels_k = 3 }; ///< a high half counts 2^11

static inline uint8_t const *resample_source(uform_resample_call_t const *call, size_t row) {
    return (uint8_t const *)call->source + row * call->source_stride_bytes;
}

static inline uint8_t *resample_target(uform_resample_call_t const *call, size_t row) {
    return (uint8_t *)call->target + row * call->target_stride_bytes;
}

/// The first row of a pass across rows that `output` takes.
static inline uint8_t const *resample_input(uform_resample_call_t const *call, size_t output) {
    return resample_source(call, call->axis->firsts[output] - call->source_first);
}

/// One weight, whole, in arithmetic that wraps around.
static inline uint32_t resample_weight(uform_resample_axis_t const *axis, size_t output, size_t tap) {
    int16_t const *quad = axis->weights + (output * axis->quads + tap / 4) * 8;
    return (uint32_t)quad[tap % 4] + ((uint32_t)quad[4 + tap % 4] << resample_split_k);
}

/// A sum that half of 2^precision was added to, as a byte.
static inline uint8_t resample_byte(uint32_t sum, unsigned precision) {
    int32_t const whole = (int32_t)sum >> precision;
    return whole < 0 ? 0 : whole > 255 ? 255 : (uint8_t)whole;
}

/// One byte: the inputs of `output` are `stride` bytes apart.
static inline uint8_t resample_sum(
    uform_resample_axis_t const *axis, size_t output, uint8_t const *inputs, size_t stride) {
    uint32_t sum = 1u << (axis->precision - 1);
    for (size_t tap = 0; tap < axis->taps[output]; ++tap)
        sum += inputs[tap * stride] * resample_weight(axis, output, tap);
    return resample_byte(sum, axis->precision);
}

/// Output `output` of the bytes from `begin` on of a row.
static inline void resample_across_tail(uform_resample_call_t const *call, size_t output, size_t begin) {
    uint8_t const *const inputs = resample_input(call, output);
    for (size_t i = begin; i < call->width * resample_channels_k; ++i)
        resample_target(call, output)[i] = resample_sum(call->axis, output, inputs + i, call->source_stride_bytes);
}

static inline void resample_along_plain(uform_resample_call_t const *call) {
    for (size_t row = 0; row < call->rows; ++row)
        for (size_t output = 0; output < call->axis->outputs; ++output)
            for (size_t channel = 0; channel < resample_channels_k; ++channel)
                resample_target(call, row)[output * resample_channels_k + channel] = resample_sum(call->axis, output,
                    resample_source(call, row) + call->axis->firsts[output] * (size_t)resample_channels_k + channel,
                    resample_channels_k);
}

static inline void resample_across_plain(uform_resample_call_t const *call) {
    for (size_t output = 0; output < call->axis->outputs; ++output) resample_across_tail(call, output, 0);
}

static inline void resample_along_f32_plain(uform_resample_call_t const *call) {
    uform_resample_axis_t const *const axis = call->axis;
    for (size_t row = 0; row < call->rows; ++row) {
        float *const target = (float *)(void *)resample_target(call, row);
        for (size_t output = 0; output < axis->outputs; ++output) {
            uint8_t const *const inputs =
                resample_source(call, row) + axis->firsts[output] * (size_t)resample_channels_k;
            float const *const weights = axis->weights_f32 + output * axis->quads * 4;
            float sums[resample_channels_k];
            for (size_t channel = 0; channel < resample_channels_k; ++channel)
                sums[channel] = (float)inputs[channel] * call->scale * weights[0];
            for (size_t tap = 1; tap < axis->taps[output]; ++tap)
                for (size_t channel = 0; channel < resample_channels_k; ++channel)
                    sums[channel] += (float)inputs[tap * resample_channels_k + channel] * call->scale * weights[tap];
            memcpy(target + output * resample_channels_k, sums, sizeof(sums));
        }
    }
}

static void resample_across_f32(uform_resample_call_t const *call) {
    uform_resample_axis_t const *const axis = call->axis;
    size_t const numbers = call->width * resample_channels_k;
    for (size_t output = 0; output < axis->outputs; ++output) {
        float *restrict const target = (float *)(void *)resample_target(call, output);
        float const *const weights = axis->weights_f32 + output * axis->quads * 4;
        for (size_t tap = 0; tap < axis->taps[output]; ++tap) {
            float const *restrict const inputs =
                (float const *)(void const *)(resample_input(call, output) + tap * call->source_stride_bytes);
            float const weight = weights[tap];
            if (!tap)
                for (size_t i = 0; i < numbers; ++i) target[i] = inputs[i] * weight;
            else
                for (size_t i = 0; i < numbers; ++i) target[i] += inputs[i] * weight;
        }
    }
}

#endif
