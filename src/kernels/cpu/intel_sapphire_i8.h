/**
 *  Products of integers of 8 bits of class `intel_sapphire`: the blocks of bf16 with TDPBSSD, which takes both operands with their
 *  signs, and so twice the depth in a tile.
 *
 *  Packed weights: [columns] f32 scales, then [columns / 32][depth / 64][2] tiles of 1 KB; depth is rounded up to
 *  `uform_rotation_k`. A tile holds 16 columns x 64 depths: row p, column n: the four depths 4p to 4p + 3 of column n.
 *
 *  Sums are exact, so the whole of what rounds is done where a block is finished, within the multiplications of the next one: integers
 *  become floats, are scaled by their row and by their column, and meet the bias, or what the outputs hold. These are the operations of
 *  the classes without tiles, one for one: results are those of `amd_genoa`, bit for bit.
 *
 *  A part of intel_sapphire.c, over its tiles and its walk.
 */
#ifndef UFORM_KERNELS_CPU_INTEL_SAPPHIRE_I8_H
#define UFORM_KERNELS_CPU_INTEL_SAPPHIRE_I8_H

#define UFORM_BYTES_VNNI
#include "kernels/generic/bytes_avx512.h"
#include "kernels/generic/quantize.h"

static size_t gemm_packed_bytes_i8(size_t columns, size_t depth) {
    return columns * (sizeof(float) + uform_rotated_depth_(depth));
}

static void gemm_pack_i8(float const *weights, size_t stride, size_t column_begin, size_t column_count, size_t columns,
    size_t depth, void *packed) {
    float *const scales = packed;
    size_t const steps = uform_rotated_depth_(depth) / tile_depth_i8_k;
    for (size_t column = 0; column < column_count; ++column, weights += stride) {
        size_t const target = column_begin + column;
        char *tiles = (char *)(scales + columns) + target / block_columns_k * steps * 2 * tile_bytes_k +
                      target % block_columns_k / 16 * tile_bytes_k + target % 16 * 4;
        float factor;
        scales[target] = quantize_scale(weights, depth, &factor);
        for (size_t step = 0; step < steps; ++step, tiles += 2 * tile_bytes_k) {
            int32_t integers[uform_rotation_k];
            char line[64] __attribute__((aligned(64)));
            quantize_weights(weights, depth, step * tile_depth_i8_k, factor, integers);
            UFORM_UNROLLED
            for (size_t i = 0; i < 64; i += 16)
                _mm_store_si128((__m128i *)(line + i), _mm512_cvtepi32_epi8(_mm512_loadu_si512(integers + i)));
            scatter_column(tiles, _mm512_load_si512(line));
        }
    }
}

STORING_ALL_(i8)
STORING_(i8, add)

static void gemm_multiply_i8(uform_gemm_call_t const *call) {
    multiply_function_t const storing = storing_functions_i8[call->activation];
    configure_tiles();
    if (call->accumulate) multiply_storing_i8_add(call);
    else if (storing) storing(call);
    else multiply_storing_i8_function(call);
    _tile_release();
}

static double gemm_limit_i8(size_t rounds) {
    return limit_tiles(rounds, number_i8_k);
}

static uform_gemm_t const gemm_i8 = {
    .column_step = block_columns_k,
    .depth_step = uform_rotation_k,
    .scratch_bytes = (2 + sums_blocks_k) * sums_bytes_k,
    .packed_bytes = gemm_packed_bytes_i8,
    .pack = gemm_pack_i8,
    .multiply = gemm_multiply_i8,
    .quantize = quantize,
    .input_lane = bytes_line_k,
    .limit = gemm_limit_i8,
};

#endif
