/**
 *  Resampling against `serial`, bit for bit: every number of outputs, rows and columns around the vectors' widths, runs of one to
 *  forty inputs, weights narrow and wide, of both signs and as large as makers of weights make them; sources and targets end at a
 *  page that must not be touched, behind the bytes that may be read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "harness.h"

enum { channels_k = 3, outputs_limit_k = 40, taps_limit_k = 40, split_k = 11 };

/// An axis with memory of its own.
typedef struct axis_t {
    uform_resample_axis_t axis;
    uint32_t firsts[outputs_limit_k], taps[outputs_limit_k];
    _Alignas(64) int16_t weights[outputs_limit_k * (taps_limit_k + 3) / 4 * 8];
    float weights_f32[outputs_limit_k * (taps_limit_k + 3)];
    size_t inputs; ///< it takes
} axis_t;

static void set_weight(axis_t *axis, size_t output, size_t tap, int32_t weight) {
    int16_t *const quad = axis->weights + (output * axis->axis.quads + tap / 4) * 8 + tap % 4;
    quad[0] = (int16_t)(axis->axis.wide ? weight & ((1 << split_k) - 1) : weight);
    quad[4] = (int16_t)(axis->axis.wide ? weight >> split_k : 0);
}

/// Runs that ascend, weights that may sum to anything within 32 bits.
static void axis_random(axis_t *axis, bool wide) {
    memset(axis, 0, sizeof(*axis));
    size_t const outputs = 1 + random_below(outputs_limit_k), longest = 1 + random_below(taps_limit_k);
    axis->axis = (uform_resample_axis_t){
        .outputs = outputs,
        .quads = (longest + 3) / 4,
        .firsts = axis->firsts,
        .taps = axis->taps,
        .weights = axis->weights,
        .weights_f32 = axis->weights_f32,
        .precision = wide ? 22 : (unsigned)(1 + random_below(20)),
        .wide = wide,
    };
    int32_t const largest = wide ? (1 << 22) + (1 << 20) : 32767;
    for (size_t output = 0, first = 0; output < outputs; ++output) {
        if (output && random_below(3)) first += random_below(4);
        axis->firsts[output] = (uint32_t)first;
        axis->taps[output] = (uint32_t)(1 + random_below(longest));
        if (first + axis->taps[output] > axis->inputs) axis->inputs = first + axis->taps[output];
        // Few at their largest, so that 255 times their sum stays below 2^31.
        for (size_t tap = 0; tap < axis->taps[output]; ++tap) {
            int32_t weight = (int32_t)random_below((size_t)largest / longest + 1) - largest / (int32_t)(4 * longest);
            if (!random_below(40) && longest > 1) weight = tap % 2 ? -largest / 4 : largest;
            set_weight(axis, output, tap, weight);
            axis->weights_f32[output * axis->axis.quads * 4 + tap] = random_float();
        }
    }
}

/// Rows of random bytes that end, with `slack` bytes behind them, `odd` bytes before a forbidden page.
typedef struct image_t {
    guarded_t memory;
    uint8_t *pixels;
    size_t stride;
} image_t;

static image_t image_new(size_t rows, size_t row_bytes, size_t slack) {
    image_t image = {.stride = row_bytes + random_below(3) * 4};
    size_t const bytes = (rows - 1) * image.stride + row_bytes + slack;
    image.memory = guarded_new(round_up(bytes, 64), true);
    image.pixels = (uint8_t *)image.memory.data + (image.memory.bytes - bytes);
    for (size_t i = 0; i < bytes; ++i) image.pixels[i] = random_below(4) ? (uint8_t)random_below(256) : 255;
    return image;
}

typedef void (*pass_t)(uform_resample_call_t const *call);

/// Runs both passes over the same source into images of the same shape and compares every byte of the targets' memory.
static void compare(
    char const *what, pass_t pass, pass_t serial, uform_resample_call_t call, size_t target_rows, size_t target_bytes) {
    uint64_t const seed = random_bits();
    image_t targets[2];
    for (size_t i = 0; i < 2; ++i) {
        random_seed(seed); // the same padding
        targets[i] = image_new(target_rows, target_bytes, 0);
        call.target = targets[i].pixels, call.target_stride_bytes = targets[i].stride;
        (i ? serial : pass)(&call);
    }
    size_t const bytes = (target_rows - 1) * targets[0].stride + target_bytes;
    for (size_t i = 0; i < bytes; ++i)
        if (targets[0].pixels[i] != targets[1].pixels[i])
            fail_msg("%s: %zu outputs, rows %zu, width %zu: byte %zu: expected %u, found %u", what, call.axis->outputs,
                call.rows, call.width, i, targets[1].pixels[i], targets[0].pixels[i]);
    guarded_free(&targets[0].memory);
    guarded_free(&targets[1].memory);
}

static void check_along(subject_t const *subject, axis_t const *axis) {
    size_t const rows = 1 + random_below(20), bytes = axis->inputs * channels_k;
    image_t source = image_new(rows, bytes, uform_resample_slack_k);
    uform_resample_call_t const call = {
        .axis = &axis->axis,
        .source = source.pixels,
        .source_stride_bytes = source.stride,
        .rows = rows,
        .scale = random_float(),
    };
    uform_resample_t const *const tested = subject->kernels->resample, *const serial = subject->serial->resample;
    compare("along", tested->along, serial->along, call, rows, axis->axis.outputs * channels_k);
    compare(
        "along_f32", tested->along_f32, serial->along_f32, call, rows, axis->axis.outputs * channels_k * sizeof(float));
    guarded_free(&source.memory);
}

static void check_across(subject_t const *subject, axis_t const *axis) {
    size_t const width = 1 + random_below(70), bytes = width * channels_k;
    image_t source = image_new(axis->inputs, bytes, 0);
    uform_resample_call_t call = {
        .axis = &axis->axis, .source = source.pixels, .source_stride_bytes = source.stride, .width = width};
    uform_resample_t const *const tested = subject->kernels->resample, *const serial = subject->serial->resample;
    compare("across", tested->across, serial->across, call, axis->axis.outputs, bytes);
    guarded_free(&source.memory);

    guarded_t floats = guarded_new(round_up(axis->inputs * bytes * sizeof(float), 64), true);
    for (size_t i = 0; i < axis->inputs * bytes; ++i) vector_of(&floats)[i] = random_float();
    call.source = floats.data, call.source_stride_bytes = bytes * sizeof(float);
    compare("across_f32", tested->across_f32, serial->across_f32, call, axis->axis.outputs, bytes * sizeof(float));
    guarded_free(&floats);
}

void check_resample(subject_t const *subject, precision_t precision) {
    (void)precision;
    static axis_t axis;
    for (size_t round = 0; round < 400; ++round) {
        axis_random(&axis, round % 2);
        check_along(subject, &axis);
        check_across(subject, &axis);
    }
}
