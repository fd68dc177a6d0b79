/**
 *  The sums of a block of integers where multiply-adds take an input from a lane: see block_lanes.h.
 *
 *  Needs vocabularies with lanes (vector_neon.h, bytes_neon.h).
 */
#ifndef UFORM_KERNELS_GENERIC_BLOCK_LANES_I8_H
#define UFORM_KERNELS_GENERIC_BLOCK_LANES_I8_H

#include "kernels/generic/block.h"

/// Adds the products of a block to the sums. Depths are whole lines.
UFORM_INLINED void block_sum_i8(size_t rows, block_t const *block, bytes_t sums[vector_block_rows_k][2]) {
    block_walk_t walk = block_begin(block);
    while (walk.step < block->steps) {
        bytes_inputs_t inputs[vector_block_rows_k];
        UFORM_UNROLLED
        for (size_t row = 0; row < rows; ++row) inputs[row] = bytes_load_inputs(walk.inputs + row * 64);
        UFORM_UNROLLED
        for (size_t lane = 0; lane < vector_inputs_k; ++lane) {
            block_prefetch(&walk, block);
            UFORM_UNROLLED
            for (size_t v = 0; v < 2; ++v) {
                bytes_t const columns = bytes_load_weights(walk.weights + (2 * lane + v) * bytes_step_bytes_k);
                UFORM_UNROLLED
                for (size_t row = 0; row < rows; ++row)
                    sums[row][v] = bytes_dot_lane(sums[row][v], columns, inputs[row], lane);
            }
        }
        block_advance(&walk, block, vector_inputs_k);
    }
}

#endif
