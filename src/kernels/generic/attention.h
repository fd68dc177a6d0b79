/**
 *  Self-attention of one text over the vector vocabulary, for either scalar, on the block kernel: a few queries at a
 *  time.
 *
 *  Keys are transposed once a head into the layout of packed weights, so that scores = queries x keys^T is an
 *  ordinary multiplication; values serve as weights as they lie (f32), or interleaved by pairs of rows (bf16).
 *  Scratch, all of it linear in the length:
 *
 *      keys     [keys / block_columns_k][head_width or pairs of it][block_columns_k] numbers of 32 bits
 *      values   [head_width / block_columns_k][pairs of keys][block_columns_k] pairs; bf16 only
 *      scores   panels [rows of a block, keys] f32; the softmax is done in place
 *      weights  panels [rows of a block, keys] bf16; bf16 only
 *
 *  What lies past the text's end in its last vector of keys gets weights of zero; further keys are zeros.
 */
#ifndef UFORM_KERNELS_GENERIC_ATTENTION_H
#define UFORM_KERNELS_GENERIC_ATTENTION_H

#include <math.h>
#include <string.h>

#include "kernels/generic/block.h"
#include "kernels/generic/functions.h"

enum { attention_step_bytes_k = block_columns_k * sizeof(float) };

/// Sizes of one call, and where its scratch lies. `bf16` is a constant wherever it is asked for.
typedef struct attention_plan_t {
    uform_attention_call_t const *call;
    block_function_t const *blocks, *narrow_blocks;
    size_t depth; ///< numbers of 32 bits of a head
    size_t keys;  ///< length, rounded up to whole blocks
    size_t pairs; ///< of keys
    char *packed_keys, *packed_values, *scores, *weights;
} attention_plan_t;

/// Whole blocks, and whole lines of bf16 weights.
static inline size_t attention_keys(size_t length) {
    return (length + uform_row_step_k - 1) / uform_row_step_k * uform_row_step_k;
}

static inline size_t attention_bytes(size_t length, size_t head_width, bool bf16) {
    size_t const keys = attention_keys(length), scores = keys * vector_block_rows_k * sizeof(float);
    return bf16 ? 2 * keys * head_width * sizeof(uint16_t) + scores + scores / 2
                : keys * head_width * sizeof(float) + scores;
}

UFORM_INLINED attention_plan_t attention_plan(
    uform_attention_call_t const *call, block_function_t const (*blocks)[vector_block_rows_k], bool bf16) {
    attention_plan_t plan = {.call = call, .keys = attention_keys(call->length)};
    plan.blocks = blocks[0], plan.narrow_blocks = blocks[1];
    plan.depth = bf16 ? call->head_width / 2 : call->head_width;
    plan.pairs = (call->length + 1) / 2;
    plan.packed_keys = call->scratch;
    plan.packed_values = plan.packed_keys + plan.keys * plan.depth * sizeof(float);
    plan.scores = plan.packed_values + (bf16 ? plan.keys * plan.depth * sizeof(float) : 0);
    plan.weights = plan.scores + plan.keys * vector_block_rows_k * sizeof(float);
    return plan;
}

/// Where a text's lines of one panel begin.
UFORM_INLINED char *attention_lines(attention_plan_t const *plan, uform_panels_t const *panels, size_t panel) {
    return (char *)panels->data + panel * panels->stride_bytes + plan->call->row_begin * 64;
}

UFORM_INLINED void attention_pack_keys(attention_plan_t const *plan, size_t head) {
    size_t const panels = plan->depth / vector_line_k, length = plan->call->length;
    for (size_t key = 0; key < plan->keys; key += vector_lanes_k) {
        char *const target = plan->packed_keys + key / block_columns_k * plan->depth * attention_step_bytes_k +
                             key % block_columns_k * sizeof(float);
        for (size_t step = 0; step < plan->depth; step += vector_lanes_k) {
            size_t const panel = head * panels + step / vector_line_k;
            char const *const source =
                attention_lines(plan, &plan->call->keys, panel) + key * 64 + step % vector_line_k * sizeof(float);
            char *const steps = target + step * attention_step_bytes_k;
            if (key < length) vector_transpose(source, 64, steps, attention_step_bytes_k);
            else
                for (size_t i = 0; i < vector_lanes_k; ++i)
                    vector_store(steps + i * attention_step_bytes_k, vector_zero());
        }
    }
}

/// Interleaves rows of values by pairs; an odd last row gets a partner of zeros.
UFORM_INLINED void attention_pack_values(attention_plan_t const *plan, size_t head) {
    static char const zeros[64] __attribute__((aligned(64))) = {0};
    uform_attention_call_t const *const call = plan->call;
    for (size_t column = 0; column < call->head_width; column += block_columns_k) {
        size_t const lane = 2 * vector_line_k, first = head * call->head_width + column;
        char const *source = attention_lines(plan, &call->values, first / lane) + first % lane * sizeof(uint16_t);
        char *target = plan->packed_values + column / block_columns_k * plan->pairs * attention_step_bytes_k;
        for (size_t pair = 0; pair < plan->pairs; ++pair, source += 128, target += attention_step_bytes_k)
            vector_interleave_bf16(source, 2 * pair + 1 < call->length ? source + 64 : zeros, target);
    }
}

/// Products of `rows` queries with the first `visible` keys, in panels of `rows` lines.
UFORM_INLINED void attention_multiply_scores(
    attention_plan_t const *plan, size_t head, size_t query, size_t rows, size_t visible) {
    static float const zeros[block_columns_k] __attribute__((aligned(64))) = {0};
    block_t block = {
        .inputs = attention_lines(plan, &plan->call->queries, head * (plan->depth / vector_line_k)) + query * 64,
        .inputs_stride = plan->call->queries.stride_bytes,
        .weights_next = attention_step_bytes_k / 2,
        .weights_step = attention_step_bytes_k,
        .steps = plan->depth,
        .outputs_stride = rows * 64,
        .bias = zeros,
    };
    for (size_t key = 0; key < visible; key += block_columns_k) {
        block.weights = plan->packed_keys + key * plan->depth * sizeof(float);
        block.prefetch = block.weights;
        block.outputs = plan->scores + key / vector_line_k * rows * 64;
        (visible - key > vector_lanes_k ? plan->blocks : plan->narrow_blocks)[rows - 1](&block);
    }
}

/// Where a row's vector of scores at `key` is.
UFORM_INLINED char *attention_scores(char *scores, size_t stride, size_t key) {
    return scores + key / vector_line_k * stride + key % vector_line_k * sizeof(float);
}

/// Where its weights at `key` go: f32 weights replace the scores, bf16 ones have panels of 32.
UFORM_INLINED char *attention_weights(char *scores, char *weights, size_t stride, size_t key, bool bf16) {
    size_t const lane = 2 * vector_line_k;
    return bf16 ? weights + key / lane * stride + key % lane * sizeof(uint16_t) : attention_scores(scores, stride, key);
}

/// Adds what distances of one query to the first `visible` keys add to its row of scores.
UFORM_INLINED void attention_add_bias(char *scores, size_t stride, size_t visible, float const *bias) {
    for (size_t key = 0; key < visible; key += vector_lanes_k) {
        char *const place = attention_scores(scores, stride, key);
        vector_store(place, vector_add(vector_load(place), vector_load_unaligned(bias + key)));
    }
}

UFORM_INLINED vector_t attention_largest(char *scores, size_t stride, size_t length) {
    vector_t largest[2] = {vector_set(-INFINITY), vector_set(-INFINITY)};
    size_t key = 0;
    for (; key + block_columns_k <= length; key += block_columns_k) {
        UFORM_UNROLLED
        for (size_t v = 0; v < 2; ++v) {
            vector_t const x = vector_load(attention_scores(scores, stride, key + v * vector_lanes_k));
            largest[v] = vector_maximum(x, largest[v]);
        }
    }
    for (; key < length; key += vector_lanes_k) {
        vector_t const x = vector_load(attention_scores(scores, stride, key));
        largest[0] = vector_select(vector_first(length - key), vector_maximum(x, largest[0]), largest[0]);
    }
    return vector_set(vector_largest(vector_maximum(largest[0], largest[1])));
}

/// The weights of one vector of scores.
UFORM_INLINED vector_t attention_weight(
    char *scores, size_t stride, size_t key, vector_t largest, vector_t factor, bool bf16) {
    vector_t const x = vector_load(attention_scores(scores, stride, key));
    return vector_exp2_weight(vector_multiply(vector_subtract(x, largest), factor), bf16);
}

/// The weights of two vectors of scores, zero from `count` on, where they go; adds them to the sums.
UFORM_INLINED void attention_soften_block(char *scores, size_t stride, size_t key, size_t count, vector_t largest,
    vector_t factor, vector_t sums[2], char *weights, bool bf16) {
    char *const place = attention_weights(scores, weights, stride, key, bf16);
    size_t const next = key + vector_lanes_k, rest = count > vector_lanes_k ? count - vector_lanes_k : 0;
    vector_t low = attention_weight(scores, stride, key, largest, factor, bf16);
    vector_t high = attention_weight(scores, stride, next, largest, factor, bf16);
    if (count < block_columns_k) {
        low = vector_select(vector_first(count), low, vector_zero());
        high = vector_select(vector_first(rest), high, vector_zero());
    }
    sums[0] = vector_add(sums[0], low), sums[1] = vector_add(sums[1], high);
    if (bf16) vector_store_bf16(place, low, high);
    else vector_store(place, low), vector_store(attention_weights(scores, weights, stride, next, bf16), high);
}

/// The same in bf16 throughout, scores being scaled as `vector_exp2_bf16` wants them: `offset` is the largest one's.
UFORM_INLINED void attention_soften_pairs(char *scores, size_t stride, size_t key, size_t count, vector_t offset,
    vector_t factor, vector_t *sums, char *weights) {
    vector_t const low = vector_load(attention_scores(scores, stride, key));
    vector_t const high = vector_load(attention_scores(scores, stride, key + vector_lanes_k));
    vector_t pairs = vector_exp2_bf16(low, high, factor, offset);
    if (count < block_columns_k) pairs = vector_first_bf16(pairs, count);
    // Pairs of ones.
    static uint32_t const ones = 0x3F803F80u;
    *sums = vector_dot_bf16(pairs, vector_set_from(&ones), *sums);
    vector_store(attention_weights(scores, weights, stride, key, true), pairs);
}

/// Turns one row of `length` scores into weights that are still to be divided by their sum, whose inverse is returned;
/// further weights up to `visible` are zero. A score that is not finite makes the inverse, or a weight, NaN, except that
/// where bf16 is native a key of NaNs is not seen.
UFORM_INLINED float attention_soften(
    char *scores, size_t stride, size_t length, size_t visible, float scale, char *weights, bool bf16) {
    vector_t const largest = attention_largest(scores, stride, length);
    vector_t sums[2] = {vector_zero(), vector_zero()};
    size_t const whole = length / block_columns_k * block_columns_k;
    size_t key = 0;
    float defect = 0.0f;
    if (bf16 && vector_multiplies_bf16_k) {
        vector_t const factor = vector_set(scale * 1.44269504f * 128.0f), offset = vector_multiply(largest, factor);
        for (; key < whole; key += block_columns_k)
            attention_soften_pairs(scores, stride, key, block_columns_k, offset, factor, &sums[0], weights);
        if (key < length) attention_soften_pairs(scores, stride, key, length - key, offset, factor, &sums[0], weights);
        defect = vector_sum(vector_subtract(offset, offset));
    } else {
        vector_t const factor = vector_set(scale * 1.44269504f);
        for (; key < whole; key += block_columns_k)
            attention_soften_block(scores, stride, key, block_columns_k, largest, factor, sums, weights, bf16);
        if (key < length)
            attention_soften_block(scores, stride, key, length - key, largest, factor, sums, weights, bf16);
    }
    for (key = whole + (length > whole ? block_columns_k : 0); key < visible; key += block_columns_k) {
        char *const place = attention_weights(scores, weights, stride, key, bf16);
        if (bf16) vector_store_bf16(place, vector_zero(), vector_zero());
        else {
            vector_store(place, vector_zero());
            vector_store(attention_weights(scores, weights, stride, key + vector_lanes_k, bf16), vector_zero());
        }
    }
    return 1.0f / vector_sum(vector_add(sums[0], sums[1])) + defect;
}

/// Divides `rows` rows of a block of sums by their weights' sums and stores them.
UFORM_INLINED void attention_store(
    float const *sums, float const *factors, size_t rows, char *outputs, size_t stride, bool bf16) {
    for (size_t row = 0; row < rows; ++row) {
        float const *const from = sums + row * vector_line_k;
        vector_t const factor = vector_set(factors[row]);
        bool const one_line = vector_lanes_k < vector_line_k;
        vector_t const low = vector_multiply(vector_load(from), factor);
        vector_t const high =
            vector_multiply(vector_load(from + (one_line ? vector_lanes_k : rows * vector_line_k)), factor);
        if (bf16) vector_store_bf16(outputs + row * 64, low, high);
        else {
            vector_store(outputs + row * 64, low);
            vector_store(outputs + row * 64 + (one_line ? vector_lanes_k * sizeof(float) : stride), high);
        }
    }
}

/// Weights x values for `rows` queries, one block of columns after another.
UFORM_INLINED void attention_multiply_values(attention_plan_t const *plan, size_t head, size_t query, size_t rows,
    size_t visible, float const *factors, bool bf16) {
    uform_attention_call_t const *const call = plan->call;
    float sums[vector_block_rows_k * block_columns_k] __attribute__((aligned(64)));
    static float const zeros[block_columns_k] __attribute__((aligned(64))) = {0};
    block_t block = {
        .inputs = bf16 ? plan->weights : plan->scores,
        .inputs_stride = rows * 64,
        .weights_next = vector_lanes_k * sizeof(float),
        .weights_step = bf16 ? attention_step_bytes_k : 64,
        .steps = bf16 ? (visible + 1) / 2 : visible,
        .outputs = (char *)sums,
        .outputs_stride = rows * 64,
        .bias = zeros,
    };
    if (!bf16 && vector_lanes_k == vector_line_k) block.weights_next = call->values.stride_bytes;
    size_t const lane = bf16 ? 2 * vector_line_k : vector_line_k;
    size_t const number_bytes = bf16 ? sizeof(uint16_t) : sizeof(float);
    for (size_t column = 0; column < call->head_width; column += block_columns_k) {
        size_t const first = head * call->head_width + column;
        block.weights = bf16 ? plan->packed_values + column / block_columns_k * plan->pairs * attention_step_bytes_k
                             : attention_lines(plan, &call->values, first / lane) + first % lane * number_bytes;
        block.prefetch = block.weights;
        plan->blocks[rows - 1](&block);
        char *const outputs =
            attention_lines(plan, &call->outputs, first / lane) + query * 64 + first % lane * number_bytes;
        attention_store(sums, factors, rows, outputs, call->outputs.stride_bytes, bf16);
    }
}

/// One head's queries [query, query + rows). Causal ones see keys up to their own, so none sees more than the last.
UFORM_INLINED void attention_block(attention_plan_t const *plan, size_t head, size_t query, size_t rows, bool bf16) {
    uform_attention_call_t const *const call = plan->call;
    size_t const visible = call->causal ? query + rows : call->length;
    attention_multiply_scores(plan, head, query, rows, visible);
    float factors[vector_block_rows_k];
    for (size_t row = 0; row < rows; ++row) {
        size_t const length = call->causal ? query + row + 1 : call->length;
        if (call->bias) {
            float const *const bias = call->bias + head * call->bias_stride - (query + row);
            attention_add_bias(plan->scores + row * 64, rows * 64, visible, bias);
        }
        factors[row] = attention_soften(
            plan->scores + row * 64, rows * 64, length, visible, call->scale, plan->weights + row * 64, bf16);
    }
    attention_multiply_values(plan, head, query, rows, visible, factors, bf16);
}

UFORM_INLINED void attention(
    uform_attention_call_t const *call, block_function_t const (*blocks)[vector_block_rows_k], bool bf16) {
    attention_plan_t const plan = attention_plan(call, blocks, bf16);
    size_t const query_end = call->query_count ? call->query_begin + call->query_count : call->length;
    for (size_t head = 0; head < call->heads; ++head) {
        attention_pack_keys(&plan, head);
        if (bf16) attention_pack_values(&plan, head);
        for (size_t query = call->query_begin, rows; query < query_end; query += rows) {
            rows = block_rows(query_end - query);
            attention_block(&plan, head, query, rows, bf16);
        }
    }
}

#endif
