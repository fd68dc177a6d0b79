/**
 *  Rotating and rounding to integers over the vocabularies of vectors and bytes.
 */
#ifndef UFORM_KERNELS_GENERIC_QUANTIZE_H
#define UFORM_KERNELS_GENERIC_QUANTIZE_H

#include "kernels/kernels.h"

enum { rotation_vectors_k = uform_rotation_k / vector_lanes_k };

/// One round: all pairs of vectors (a, b) that are `apart` become (a + b, a - b).
UFORM_INLINED void rotate_pairs(vector_t numbers[rotation_vectors_k], size_t apart) {
    UFORM_UNROLLED
    for (size_t i = 0; i < rotation_vectors_k; ++i) {
        if (i & apart) continue;
        vector_t const a = numbers[i], b = numbers[i + apart];
        numbers[i] = vector_add(a, b);
        // The difference, by the units that additions leave alone where those are others.
        numbers[i + apart] = vector_fma(b, vector_set(-1.0f), a);
    }
}

/// The next round within vectors: what it pairs is brought to two of them, in the place of what the last one paired.
UFORM_INLINED void rotate_lanes(vector_t numbers[rotation_vectors_k], size_t apart) {
    UFORM_UNROLLED
    for (size_t i = 0; i < rotation_vectors_k; i += 2) {
        vector_t const a = numbers[i], b = numbers[i + 1];
        numbers[i] = bytes_firsts(a, b, apart);
        numbers[i + 1] = bytes_seconds(a, b, apart);
    }
    rotate_pairs(numbers, 1);
}

/// Multiplies 64 numbers by the Hadamard matrix. They come as pairs of vectors, one of the even and one of the odd ones among
/// consecutive numbers, and leave in their order.
UFORM_INLINED void rotate_numbers(vector_t numbers[rotation_vectors_k]) {
    rotate_pairs(numbers, 1);
    rotate_lanes(numbers, 2);
    rotate_lanes(numbers, 4);
    rotate_lanes(numbers, 8);
    if (vector_lanes_k > 8) rotate_lanes(numbers, 16);
    rotate_pairs(numbers, 2);
    if (rotation_vectors_k > 4) rotate_pairs(numbers, 4);
}

/// 64 numbers of a row, the even and the odd ones of each pair of vectors; zeros behind its end, which is a multiple of 32.
UFORM_INLINED void load_row(uform_quantize_call_t const *call, size_t row, size_t k, vector_t numbers[]) {
    UFORM_UNROLLED
    for (size_t i = 0; i < rotation_vectors_k; i += 2) {
        size_t const place = k + i * vector_lanes_k;
        char const *const line = (char const *)call->inputs.data + place / 32 * call->inputs.stride_bytes + row * 64 +
                                 place % 32 * sizeof(uint16_t);
        vector_t const pairs = place < call->depth ? vector_load(line) : vector_zero();
        numbers[i] = vector_even_bf16(pairs);
        numbers[i + 1] = vector_odd_bf16(pairs);
    }
}

/// One walk over the depth: rounds the row before `row`, which waits in scratch, and puts this one, rotated, in its place. So the
/// largest number of a row is waited for while another one is worked on. Answers the largest magnitudes of this row.
UFORM_INLINED vector_t quantize_step(
    uform_quantize_call_t const *call, size_t row, float factor, bool rounds, bool rotates) {
    size_t const depth = uform_rotated_depth_(call->depth), stride = call->outputs.stride_bytes;
    float *const scratch = call->scratch;
    char *line = (char *)call->outputs.data + (row - rounds) * 64;
    vector_t const factors = vector_set(factor);
    vector_t largest = vector_zero();
    bytes_t sums = bytes_set(0);
    for (size_t k = 0; k < depth; k += uform_rotation_k) {
        if (rounds) {
            bytes_t integers[rotation_vectors_k];
            UFORM_UNROLLED
            for (size_t i = 0; i < rotation_vectors_k; ++i)
                integers[i] = bytes_round(vector_multiply(vector_load(scratch + k + i * vector_lanes_k), factors));
            sums = bytes_store_inputs(line, stride, integers, sums);
            line += uform_rotation_k / bytes_line_k * stride;
        }
        if (!rotates) continue;
        vector_t numbers[rotation_vectors_k];
        load_row(call, row, k, numbers);
        rotate_numbers(numbers);
        UFORM_UNROLLED
        for (size_t i = 0; i < rotation_vectors_k; ++i) {
            largest = bytes_larger(largest, numbers[i]);
            vector_store(scratch + k + i * vector_lanes_k, numbers[i]);
        }
    }
    if (rounds) call->quantized[row - 1].sum = bytes_sum(sums);
    return largest;
}

static void quantize(uform_quantize_call_t const *call) {
    float factor = 0.0f;
    for (size_t row = 0; row < call->rows; ++row) {
        vector_t const largest =
            row ? quantize_step(call, row, factor, true, true) : quantize_step(call, row, factor, false, true);
        call->quantized[row].scale = uform_quantized_scale_(bytes_largest(largest), &factor);
    }
    if (call->rows) quantize_step(call, call->rows, factor, true, false);
}

/// 64 weights of a column, rotated.
UFORM_INLINED void rotate_weights(float const *weights, size_t depth, size_t k, vector_t numbers[]) {
    vector_t const share = vector_set(1.0f / uform_rotation_k);
    UFORM_UNROLLED
    for (size_t i = 0; i < rotation_vectors_k; i += 2) {
        float const *const place = weights + k + i * vector_lanes_k;
        bool const there = k + i * vector_lanes_k < depth;
        vector_t const a = there ? vector_multiply(vector_load_unaligned(place), share) : vector_zero();
        vector_t const b =
            there ? vector_multiply(vector_load_unaligned(place + vector_lanes_k), share) : vector_zero();
        numbers[i] = bytes_even(a, b);
        numbers[i + 1] = bytes_odd(a, b);
    }
    rotate_numbers(numbers);
}

/// The scale of a column's weights, and the factor that makes them integers.
static float quantize_scale(float const *weights, size_t depth, float *factor) {
    vector_t largest = vector_zero(), numbers[rotation_vectors_k];
    for (size_t k = 0; k < depth; k += uform_rotation_k) {
        rotate_weights(weights, depth, k, numbers);
        UFORM_UNROLLED
        for (size_t i = 0; i < rotation_vectors_k; ++i) largest = bytes_larger(largest, numbers[i]);
    }
    return uform_quantized_scale_(bytes_largest(largest), factor);
}

/// 64 of a column's weights as integers.
static void quantize_weights(
    float const *weights, size_t depth, size_t k, float factor, int32_t integers[uform_rotation_k]) {
    vector_t numbers[rotation_vectors_k];
    rotate_weights(weights, depth, k, numbers);
    UFORM_UNROLLED
    for (size_t i = 0; i < rotation_vectors_k; ++i)
        bytes_store(integers + i * vector_lanes_k, bytes_round(vector_multiply(numbers[i], vector_set(factor))));
}

#endif
