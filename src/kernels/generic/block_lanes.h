/**
 *  The block kernel where multiply-adds take an input from a lane: the same chains of operations as in block.h, which includes
 *  this. A few steps of each row's inputs are loaded at once and stay in a register while the weights of these steps pass by.
 *
 *  Needs a vocabulary with lanes (vector_neon.h).
 */
#ifndef UFORM_KERNELS_GENERIC_BLOCK_LANES_H
#define UFORM_KERNELS_GENERIC_BLOCK_LANES_H

/// A block on its way through the depth.
typedef struct block_walk_t {
    char const *weights, *inputs, *prefetch;
    size_t step;
} block_walk_t;

UFORM_INLINED block_walk_t block_begin(block_t const *block) {
    return (block_walk_t){.weights = block->weights, .inputs = block->inputs, .prefetch = block->prefetch};
}

/// Towards the weights of the next block, once a step.
UFORM_INLINED void block_prefetch(block_walk_t *walk, block_t const *block) {
    vector_prefetch(walk->prefetch);
    vector_prefetch(walk->prefetch + block->prefetch_next);
    walk->prefetch += block->prefetch_step;
}

/// A few steps further. Inputs of the next panel are needed all at once, so each step fetches a line of them.
UFORM_INLINED void block_advance(block_walk_t *walk, block_t const *block, size_t steps) {
    char const *const line = walk->inputs - walk->step % vector_line_k * sizeof(float) + block->inputs_stride;
    UFORM_UNROLLED
    for (size_t i = 0; i < steps; ++i) vector_prefetch_near(line + (walk->step + i) % vector_line_k * 64);
    walk->weights += steps * block->weights_step;
    walk->inputs += steps * sizeof(float);
    walk->step += steps;
    if (walk->step % vector_line_k == 0) walk->inputs += block->inputs_stride - 64;
}

/// One step, with inputs in all lanes.
UFORM_INLINED void block_step(
    block_walk_t const *walk, block_t const *block, size_t rows, size_t vectors, vector_t sums[][2], bool dot) {
    vector_t columns[2];
    UFORM_UNROLLED
    for (size_t v = 0; v < vectors; ++v) columns[v] = vector_load(walk->weights + v * block->weights_next);
    UFORM_UNROLLED
    for (size_t row = 0; row < rows; ++row) {
        vector_t const input = vector_set_from(walk->inputs + row * 64);
        UFORM_UNROLLED
        for (size_t v = 0; v < vectors; ++v)
            sums[row][v] =
                dot ? vector_dot_bf16(input, columns[v], sums[row][v]) : vector_fma(input, columns[v], sums[row][v]);
    }
}

/// Sums of f32 products, or of `dot` products of pairs.
UFORM_INLINED void block_multiply(size_t rows, size_t vectors, block_t const *block, bool dot) {
    vector_t sums[vector_block_rows_k][2];
    UFORM_UNROLLED
    for (size_t row = 0; row < rows; ++row) sums[row][0] = sums[row][1] = vector_zero();
    block_walk_t walk = block_begin(block);
    while (walk.step + vector_inputs_k <= block->steps) {
        vector_inputs_t inputs[vector_block_rows_k];
        UFORM_UNROLLED
        for (size_t row = 0; row < rows; ++row) inputs[row] = vector_load_inputs(walk.inputs + row * 64);
        char const *weights = walk.weights;
        UFORM_UNROLLED
        for (size_t lane = 0; lane < vector_inputs_k; ++lane, weights += block->weights_step) {
            block_prefetch(&walk, block);
            UFORM_UNROLLED
            for (size_t v = 0; v < vectors; ++v) {
                vector_t const columns = vector_load(weights + v * block->weights_next);
                UFORM_UNROLLED
                for (size_t row = 0; row < rows; ++row)
                    sums[row][v] = dot ? vector_dot_lane_bf16(inputs[row], lane, columns, sums[row][v])
                                       : vector_fma_lane(inputs[row], lane, columns, sums[row][v]);
            }
        }
        block_advance(&walk, block, vector_inputs_k);
    }
    while (walk.step < block->steps) {
        block_step(&walk, block, rows, vectors, sums, dot);
        block_advance(&walk, block, 1);
    }
    block_store(block, rows, vectors, sums);
}

/// One step of pairs that are widened, whose inputs are lanes `lane` and the next.
UFORM_INLINED void block_widen_step(char const *weights, size_t weights_next, size_t rows, size_t vectors,
    vector_inputs_t const inputs[], size_t lane, vector_t sums[][2]) {
    UFORM_UNROLLED
    for (size_t v = 0; v < vectors; ++v) {
        vector_t const pairs = vector_load(weights + v * weights_next);
        UFORM_UNROLLED
        for (size_t odd = 0; odd < 2; ++odd) {
            vector_t const columns = odd ? vector_odd_bf16(pairs) : vector_even_bf16(pairs);
            UFORM_UNROLLED
            for (size_t row = 0; row < rows; ++row)
                sums[row][v] = vector_fma_lane(inputs[row], lane + odd, columns, sums[row][v]);
        }
    }
}

/// Sums of products of pairs that are widened to f32 first: the first numbers' product is added first.
UFORM_INLINED void block_multiply_widened(size_t rows, size_t vectors, block_t const *block) {
    vector_t sums[vector_block_rows_k][2];
    UFORM_UNROLLED
    for (size_t row = 0; row < rows; ++row) sums[row][0] = sums[row][1] = vector_zero();
    block_walk_t walk = block_begin(block);
    // Two steps at a time; the inputs behind a last single one are there, and not used.
    while (walk.step < block->steps) {
        vector_inputs_t inputs[vector_block_rows_k];
        UFORM_UNROLLED
        for (size_t row = 0; row < rows; ++row) inputs[row] = vector_load_inputs_bf16(walk.inputs + row * 64);
        block_prefetch(&walk, block);
        block_widen_step(walk.weights, block->weights_next, rows, vectors, inputs, 0, sums);
        if (walk.step + 1 == block->steps) break;
        block_prefetch(&walk, block);
        block_widen_step(
            walk.weights + block->weights_step, block->weights_next, rows, vectors, inputs, vector_inputs_k / 2, sums);
        block_advance(&walk, block, 2);
    }
    block_store(block, rows, vectors, sums);
}

#endif
