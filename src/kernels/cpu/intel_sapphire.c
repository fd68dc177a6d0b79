/**
 *  Sapphire Rapids: matrix multiplication of bf16 and of integers of 8 bits, and attention, on AMX tiles. Everything else is
 *  inherited.
 *
 *  Instructions: TDPBF16PS and TDPBSSD on eight tiles of 16 rows x 64 bytes, AVX-512 for the epilogues, VCVTNE2PS2BF16 to round.
 *
 *  Packed weights: [columns / 32][depth / 32][2] tiles of 1 KB. A tile holds 16 columns x 32 depths as the
 *  instruction wants them: row p, column n: the pair (depth 2p, depth 2p + 1) of column n.
 *
 *  A block of 32 columns x 384 depths is 24 KB: it stays in the first-level cache while all rows of the call stream
 *  past it by the non-temporal form of the tile load, which keeps them from evicting it. The previous block's
 *  activation and rounding are done within the multiplications of the next, since tiles and vectors use different
 *  units. Meanwhile the next block's weights are fetched into the second-level cache, and the results the next rows
 *  add to into the first.
 *
 *  Greater depths go in parts of about that size, all rows past one before the next: sums that aren't final wait in
 *  the results, or in scratch, which costs a sixth of what reading all weights again for every 32 rows would.
 *
 *  Every element is one chain of TDPBF16PS over its depth, whatever the number of rows and of parts.
 *
 *  Integers take the same blocks, walk and parts: tiles of as many bytes hold twice the depth. Where theirs differ stands in
 *  intel_sapphire_i8.h.
 */
#include "kernels/kernels.h"
#include "kernels/target.h"

extern uform_kernels_t const uform_kernels_intel_sapphire_table_;

#if UFORM_TARGET_AMX_BF16

#include <immintrin.h>
#include <math.h>
#include <string.h>

UFORM_TARGET_BEGIN("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512bf16,"
                   "amx-tile,amx-bf16,amx-int8")

#define UFORM_VECTOR_NATIVE_BF16
#include "kernels/generic/vector_avx512.h"

#include "kernels/generic/functions.h"

enum {
    tile_bytes_k = 1024,             // 16 rows x 64 bytes
    tile_depth_k = 32,               // bf16 elements a tile row holds
    tile_depth_i8_k = 64,            // integers of 8 bits it holds
    block_columns_k = 32,            // two tiles side by side
    block_rows_k = 32,               // two tiles one below the other
    epilogue_rows_k = 4,             // rows of the previous block finished per depth step
    result_lines_k = 3,              // lines of the next rows' results fetched per depth step, in each of two panels
    part_steps_k = 12,               // depth steps of a part, about
    whole_steps_k = 16,              // depth steps that are not parted: their weights still fit
    sums_blocks_k = 16,              // blocks whose unfinished sums are kept at once
    sums_bytes_k = 4 * tile_bytes_k, // of a block
};

typedef struct tile_configuration_t {
    uint8_t palette, start_row, reserved[14];
    uint16_t column_bytes[16];
    uint8_t rows[16];
} tile_configuration_t;

static void configure_tiles(void) {
    static tile_configuration_t const full = {
        .palette = 1,
        .column_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, 16, 16},
    };
    _tile_loadconfig(&full);
}

// What is multiplied.
typedef enum number_t { number_bf16_k, number_i8_k } number_t;

#define MULTIPLY_TILES_(number, sums, left, right)                                                                     \
    do {                                                                                                               \
        if ((number) == number_i8_k) _tile_dpbssd(sums, left, right);                                                  \
        else _tile_dpbf16ps(sums, left, right);                                                                        \
    } while (0)

// Sixteen times 32 bits of a column, one tile row apart.
static inline __attribute__((always_inline)) void scatter_column(char *tile, __m512i numbers) {
    __m512i const rows = _mm512_mullo_epi32(
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(64));
    _mm512_i32scatter_epi32(tile, rows, numbers, 1);
}

static size_t gemm_packed_bytes(size_t columns, size_t depth) {
    return columns * depth * sizeof(uint16_t);
}

static void gemm_pack(float const *weights, size_t stride, size_t column_begin, size_t column_count, size_t columns,
    size_t depth, void *packed) {
    (void)columns;
    for (size_t column = 0; column < column_count; ++column) {
        size_t const target = column_begin + column;
        char *tiles = (char *)packed + target / block_columns_k * (depth / tile_depth_k) * 2 * tile_bytes_k +
                      target % block_columns_k / 16 * tile_bytes_k + target % 16 * 4;
        float const *source = weights + column * stride;
        for (size_t step = 0; step < depth / tile_depth_k; ++step, source += tile_depth_k, tiles += 2 * tile_bytes_k) {
            // Sixteen pairs of neighbouring depths.
            scatter_column(tiles, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(source + 16), _mm512_loadu_ps(source)));
        }
    }
}

typedef enum epilogue_t {
    epilogue_none_k,
    epilogue_add_k, // of integers: to what the outputs hold
    epilogue_round_k,
    epilogue_function_k, // applied to the whole block before it is left pending
    // Functions done within the next block:
    epilogue_gelu_k,
    epilogue_gelu_tanh_k,
    epilogue_quick_gelu_k,
    epilogue_silu_k
} epilogue_t;

static inline __attribute__((always_inline)) __m512 finish(__m512 x, epilogue_t epilogue) {
    if (epilogue == epilogue_gelu_k) return vector_gelu_erf_fast(x);
    if (epilogue == epilogue_gelu_tanh_k) return vector_gelu_tanh_fast(x);
    if (epilogue == epilogue_quick_gelu_k) return vector_quick_gelu_fast(x);
    if (epilogue == epilogue_silu_k) return vector_silu_fast(x);
    return x;
}

// What has no epilogue of its own.
static activate_function_t const functions[uform_activation_count_k] = {UFORM_ACTIVATE_SHARED_ROWS_};

// A finished block whose activation and rounding are still to be done: [2 row tiles][2 column tiles] in scratch.
typedef struct pending_t {
    char *tiles;
    char *output; // 32 columns of bf16 are one line
    size_t rows;
    // Of integers:
    size_t output_stride;                   // 32 columns of f32 are two lines, so far apart
    uform_quantized_row_t const *quantized; // of the block's rows
    float const *scales, *bias;             // of its columns
} pending_t;

static inline __attribute__((always_inline)) void finish_rows(
    pending_t const *pending, size_t begin, epilogue_t epilogue) {
#pragma GCC unroll 4
    for (size_t row = begin; row < begin + epilogue_rows_k; ++row) {
        char const *tiles = pending->tiles + (row & 16) * 2 * 64 + row % 16 * 64;
        __m512 const low = finish(_mm512_load_ps(tiles), epilogue);
        __m512 const high = finish(_mm512_load_ps(tiles + tile_bytes_k), epilogue);
        _mm512_store_si512(pending->output + row * 64, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
}

// What the columns of a pending block of integers are multiplied with, and what is added then.
typedef struct scaling_t {
    __m512 scales[2], bias[2];
} scaling_t;

static inline __attribute__((always_inline)) scaling_t load_scaling(pending_t const *pending, epilogue_t epilogue) {
    float const *const scales = pending->scales, *const bias = pending->bias;
    __m512 const low = epilogue == epilogue_add_k ? _mm512_setzero_ps() : _mm512_load_ps(bias);
    __m512 const high = epilogue == epilogue_add_k ? _mm512_setzero_ps() : _mm512_load_ps(bias + 16);
    return (scaling_t){{_mm512_load_ps(scales), _mm512_load_ps(scales + 16)}, {low, high}};
}

// What sums of integers stand for: the operations of the other classes, in their order.
static inline __attribute__((always_inline)) __m512 scale_sums(
    pending_t const *pending, scaling_t const *scaling, size_t row, size_t v, epilogue_t epilogue) {
    char const *const sums = pending->tiles + (row & 16) * 2 * 64 + row % 16 * 64 + v * tile_bytes_k;
    __m512 const product =
        _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums)), _mm512_set1_ps(pending->quantized[row].scale));
    __m512 const term = epilogue == epilogue_add_k
                            ? _mm512_load_ps(pending->output + v * pending->output_stride + row * 64)
                            : scaling->bias[v];
    return _mm512_fmadd_ps(product, scaling->scales[v], term);
}

// Two rows of integers.
static inline __attribute__((always_inline)) void finish_scaled(
    pending_t const *pending, scaling_t const *scaling, size_t begin, epilogue_t epilogue) {
#pragma GCC unroll 2
    for (size_t row = begin; row < begin + 2; ++row) {
        __m512 const low = finish(scale_sums(pending, scaling, row, 0, epilogue), epilogue);
        __m512 const high = finish(scale_sums(pending, scaling, row, 1, epilogue), epilogue);
        char *const output = pending->output + row * 64;
        if (epilogue == epilogue_add_k) {
            _mm512_store_ps(output, low);
            _mm512_store_ps(output + pending->output_stride, high);
        } else _mm512_store_si512(output, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
}

// Scales a block of integers in place, for what is done with the whole of it.
static void scale_block(pending_t const *pending) {
    scaling_t const scaling = load_scaling(pending, epilogue_function_k);
    for (size_t row = 0; row < pending->rows; ++row) {
        char *const tiles = pending->tiles + (row & 16) * 2 * 64 + row % 16 * 64;
        __m512 const low = scale_sums(pending, &scaling, row, 0, epilogue_function_k);
        _mm512_store_ps(tiles + tile_bytes_k, scale_sums(pending, &scaling, row, 1, epilogue_function_k));
        _mm512_store_ps(tiles, low);
    }
}

// Integers that aren't scaled yet; else a pending block is finished as one of bf16 is.
static inline __attribute__((always_inline)) bool pends_scaling(number_t number, epilogue_t epilogue) {
    return number == number_i8_k && epilogue != epilogue_function_k;
}

// Finishes as many pending rows from `row` on as one step of the next block does, and answers which is next.
static inline __attribute__((always_inline)) size_t finish_step(pending_t const *pending, scaling_t const *scaling,
    size_t row, size_t count, number_t number, epilogue_t epilogue) {
    if (!pends_scaling(number, epilogue)) {
        if (row >= pending->rows) return row;
        finish_rows(pending, row, epilogue);
        return row + epilogue_rows_k;
    }
    for (size_t const end = row + count; row < end && row < pending->rows; row += 2)
        finish_scaled(pending, scaling, row, epilogue);
    return row;
}

static inline __attribute__((always_inline)) void finish_from(
    pending_t const *pending, scaling_t const *scaling, size_t row, number_t number, epilogue_t epilogue) {
    while (row < pending->rows) row = finish_step(pending, scaling, row, block_rows_k, number, epilogue);
}

typedef struct block_t {
    char const *inputs; // first row, first depth panel
    size_t input_stride;
    char const *weights; // [steps][2] tiles
    size_t steps;
    char const *next_weights; // fetched ahead, some lines a step
    size_t next_lines;
    // Accumulators begin with [2 row tiles][2 column tiles] found here: a bias line has row stride zero.
    char const *initial;
    size_t initial_stride, initial_column, initial_row;
    char *results;
    size_t result_column, result_row;
    char const *ahead[2]; // what the next rows begin with, or end with, fetched some lines a step from two places
    size_t ahead_lines;
    size_t finish_rows; // rows of the previous block that are finished in a step
} block_t;

// Four tiles of sums, or the upper two of them.
static inline __attribute__((always_inline)) void load_sums(block_t const *block, bool two_rows) {
    _tile_loadd(0, block->initial, block->initial_stride);
    _tile_loadd(1, block->initial + block->initial_column, block->initial_stride);
    if (two_rows) {
        _tile_loadd(2, block->initial + block->initial_row, block->initial_stride);
        _tile_loadd(3, block->initial + block->initial_row + block->initial_column, block->initial_stride);
    }
}

static inline __attribute__((always_inline)) void clear_sums(bool two_rows) {
    _tile_zero(0);
    _tile_zero(1);
    if (two_rows) {
        _tile_zero(2);
        _tile_zero(3);
    }
}

static inline __attribute__((always_inline)) void store_sums(block_t const *block, bool two_rows) {
    _tile_stored(0, block->results, 64);
    _tile_stored(1, block->results + block->result_column, 64);
    if (two_rows) {
        _tile_stored(2, block->results + block->result_row, 64);
        _tile_stored(3, block->results + block->result_row + block->result_column, 64);
    }
}

static inline __attribute__((always_inline)) void multiply_block(
    block_t const *block, bool two_rows, pending_t const *pending, number_t number, epilogue_t epilogue) {
    char const *inputs = block->inputs, *weights = block->weights, *next_weights = block->next_weights;
    scaling_t scaling;
    if (pends_scaling(number, epilogue)) scaling = load_scaling(pending, epilogue);
    if (number == number_i8_k && !block->initial) clear_sums(two_rows);
    else load_sums(block, two_rows);
    size_t row = 0, ahead = 0;
    for (size_t step = 0; step < block->steps; ++step, inputs += block->input_stride, weights += 2 * tile_bytes_k) {
        _tile_stream_loadd(4, inputs, 64);
        _tile_loadd(6, weights, 64);
        MULTIPLY_TILES_(number, 0, 4, 6);
        _tile_loadd(7, weights + tile_bytes_k, 64);
        MULTIPLY_TILES_(number, 1, 4, 7);
        if (two_rows) {
            _tile_stream_loadd(5, inputs + tile_bytes_k, 64);
            MULTIPLY_TILES_(number, 2, 5, 6);
            MULTIPLY_TILES_(number, 3, 5, 7);
        }
        for (size_t i = 0; i < block->next_lines; ++i, next_weights += 64) _mm_prefetch(next_weights, _MM_HINT_T1);
        for (size_t i = 0; i < block->ahead_lines; ++i, ahead += 64) {
            _mm_prefetch(block->ahead[0] + ahead, _MM_HINT_T0);
            _mm_prefetch(block->ahead[1] + ahead, _MM_HINT_T0);
        }
        if (epilogue != epilogue_none_k)
            row = finish_step(pending, &scaling, row, block->finish_rows, number, epilogue);
    }
    if (epilogue != epilogue_none_k) finish_from(pending, &scaling, row, number, epilogue);
    store_sums(block, two_rows);
}

// A stretch of a call's rows, and how its depth is parted: one block of columns after another, one part of the depth
// after another, all rows past it.
typedef struct walk_t {
    uform_gemm_call_t const *call;
    char const *weights;       // tiles of the matrix's first columns
    size_t depth_tiles, panel; // of the whole depth; where the call's begins, in tiles and in panels of inputs
    size_t row_begin, row_end;
    size_t steps, part_steps; // of the call's depth; of a part
    size_t column, step;      // where it is
} walk_t;

// As equal as can be. Few rows read all weights once anyway.
static size_t part_steps(size_t steps, size_t rows) {
    if (steps <= whole_steps_k || rows <= 2 * block_rows_k) return steps;
    size_t const parts = (steps + part_steps_k - 1) / part_steps_k;
    return (steps + parts - 1) / parts;
}

static walk_t begin_walk(uform_gemm_call_t const *call, number_t number) {
    bool const integers = number == number_i8_k;
    size_t const tile_depth = integers ? tile_depth_i8_k : tile_depth_k;
    walk_t walk = {
        .call = call,
        .weights = (char const *)call->weights + (integers ? call->columns * sizeof(float) : 0),
        .depth_tiles = (call->depth + tile_depth - 1) / tile_depth,
        .panel = call->depth_begin / tile_depth,
        .row_end = call->rows,
        .column = call->column_begin,
    };
    walk.steps = (call->depth_end + tile_depth - 1) / tile_depth - walk.panel;
    walk.part_steps = part_steps(walk.steps, call->rows);
    return walk;
}

// On to the next part of the depth, or the next columns; false at the end of the stretch.
static bool advance(walk_t *walk) {
    walk->step += walk->part_steps;
    if (walk->step < walk->steps) return true;
    walk->step = 0;
    walk->column += block_columns_k;
    return walk->column < walk->call->column_end;
}

static char const *weights_at(walk_t const *walk) {
    size_t const tiles = walk->column / block_columns_k * walk->depth_tiles + walk->panel + walk->step;
    return walk->weights + tiles * 2 * tile_bytes_k;
}

// Everything of a block that does not depend on its row.
static void begin_part(walk_t const *walk, block_t *block) {
    size_t const row_blocks = (walk->row_end - walk->row_begin + block_rows_k - 1) / block_rows_k;
    size_t const rest = walk->steps - walk->step;
    block->input_stride = walk->call->inputs.stride_bytes;
    block->steps = rest < walk->part_steps ? rest : walk->part_steps;
    block->weights = weights_at(walk);
    walk_t next = *walk;
    block->next_weights = advance(&next) ? weights_at(&next) : block->weights;
    // A call of one block reads weights as fast as it can anyway.
    block->next_lines = row_blocks > 1 ? (2 * tile_bytes_k / 64 + row_blocks - 1) / row_blocks : 0;
    // In twos, spread over all steps.
    block->finish_rows = (block_rows_k / 2 + block->steps - 1) / block->steps * 2;
}

static void begin_rows(walk_t const *walk, size_t row, block_t *block) {
    uform_panels_t const *const inputs = &walk->call->inputs;
    block->inputs = (char const *)inputs->data + (walk->panel + walk->step) * inputs->stride_bytes + row * 64;
    if (row > walk->row_begin) block->next_weights += block->steps * block->next_lines * 64;
}

// Where a block's accumulators begin, and where they go: to a place of the walk's own if more parts follow. Those of integers
// begin with zeros.
static void place_sums(walk_t const *walk, size_t row, char *finished, block_t *block, number_t number) {
    char *const sums = (char *)walk->call->scratch + 2 * sums_bytes_k +
                       (row - walk->row_begin) / block_rows_k % sums_blocks_k * sums_bytes_k;
    bool const first = !walk->step, last = walk->step + block->steps == walk->steps;
    char const *const begin = number == number_i8_k ? NULL : (char const *)(walk->call->bias + walk->column);
    block->initial = first ? begin : sums;
    block->initial_stride = first ? 0 : 64;
    block->initial_column = first ? 64 : tile_bytes_k;
    block->initial_row = first ? 0 : 2 * tile_bytes_k;
    block->results = last ? finished : sums;
    block->ahead[0] = sums + sums_bytes_k, block->ahead[1] = sums + sums_bytes_k + sums_bytes_k / 2;
    block->ahead_lines = first ? 0 : (sums_bytes_k / 128 + block->steps - 1) / block->steps;
}

// A block of integers in `finished`, to be scaled.
static inline __attribute__((always_inline)) pending_t pend_integers(
    walk_t const *walk, char *finished, size_t row, size_t rows, epilogue_t epilogue) {
    uform_gemm_call_t const *const call = walk->call;
    bool const adds = epilogue == epilogue_add_k;
    size_t const panel = walk->column / (adds ? block_columns_k / 2 : block_columns_k);
    return (pending_t){
        .tiles = finished,
        .output = (char *)call->outputs.data + panel * call->outputs.stride_bytes + row * 64,
        .rows = rows,
        .output_stride = call->outputs.stride_bytes,
        .quantized = call->quantized + row,
        .scales = (float const *)call->weights + walk->column,
        .bias = adds ? NULL : call->bias + walk->column,
    };
}

// One part for all rows of the walk's stretch. Two places take turns for finished blocks, the last one of which is left
// pending.
static inline __attribute__((always_inline)) void multiply_part(
    walk_t const *walk, block_t *block, pending_t *pending, number_t number, epilogue_t epilogue) {
    uform_gemm_call_t const *const call = walk->call;
    char *const output = (char *)call->outputs.data + walk->column / block_columns_k * call->outputs.stride_bytes;
    for (size_t row = walk->row_begin; row < walk->row_end; row += block_rows_k) {
        char *const finished = (char *)call->scratch + (pending->tiles == call->scratch ? sums_bytes_k : 0);
        begin_rows(walk, row, block);
        place_sums(walk, row, finished, block, number);
        bool const two_rows = walk->row_end - row > 16, last = block->results == finished;
        pending_t next = {.tiles = finished, .output = output + row * 64, .rows = two_rows ? 32 : 16};
        if (number == number_i8_k) next = pend_integers(walk, finished, row, next.rows, epilogue);
        if (epilogue == epilogue_add_k && last) {
            block->ahead[0] = next.output, block->ahead[1] = next.output + next.output_stride;
            block->ahead_lines = (block_rows_k + block->steps - 1) / block->steps;
        }
        if (two_rows) multiply_block(block, true, pending, number, epilogue);
        else multiply_block(block, false, pending, number, epilogue);
        pending->rows = 0;
        if (!last) continue;
        *pending = next;
        if (epilogue != epilogue_function_k) continue;
        if (number == number_i8_k) scale_block(pending);
        activate(functions, call->activation, (float *)finished, pending->rows * block_columns_k);
    }
}

static inline __attribute__((always_inline)) void multiply_storing(
    uform_gemm_call_t const *call, number_t number, epilogue_t epilogue) {
    block_t block = {.result_column = tile_bytes_k, .result_row = 2 * tile_bytes_k};
    walk_t walk = begin_walk(call, number);
    pending_t pending = {.rows = 0};
    if (number == number_i8_k) pending = pend_integers(&walk, NULL, 0, 0, epilogue);
    size_t const stretch = walk.part_steps < walk.steps ? sums_blocks_k * block_rows_k : call->rows;
    for (; walk.row_begin < call->rows; walk.row_begin += stretch) {
        walk.row_end = walk.row_begin + stretch < call->rows ? walk.row_begin + stretch : call->rows;
        walk.column = call->column_begin;
        do {
            begin_part(&walk, &block);
            multiply_part(&walk, &block, &pending, number, epilogue);
        } while (advance(&walk));
    }
    scaling_t scaling;
    if (pends_scaling(number, epilogue)) scaling = load_scaling(&pending, epilogue);
    finish_from(&pending, &scaling, 0, number, epilogue);
}

static void multiply_accumulating(uform_gemm_call_t const *call) {
    block_t block = {.initial_stride = 64, .ahead_lines = result_lines_k};
    block.initial_column = block.result_column = call->outputs.stride_bytes;
    block.initial_row = block.result_row = tile_bytes_k;
    walk_t walk = begin_walk(call, number_bf16_k);
    do {
        begin_part(&walk, &block);
        for (size_t row = 0; row < call->rows; row += block_rows_k) {
            begin_rows(&walk, row, &block);
            block.results = (char *)call->outputs.data + walk.column / 16 * call->outputs.stride_bytes + row * 64;
            block.initial = block.results;
            // The next rows' lines follow this block's in both of its panels.
            block.ahead[0] = block.results + 2 * tile_bytes_k;
            block.ahead[1] = block.ahead[0] + block.result_column;
            if (call->rows - row > 16) multiply_block(&block, true, NULL, number_bf16_k, epilogue_none_k);
            else multiply_block(&block, false, NULL, number_bf16_k, epilogue_none_k);
        }
    } while (advance(&walk));
}

typedef void (*multiply_function_t)(uform_gemm_call_t const *call);

#define STORING_(number, name)                                                                                         \
    static void multiply_storing_##number##_##name(uform_gemm_call_t const *call) {                                    \
        multiply_storing(call, number_##number##_k, epilogue_##name##_k);                                              \
    }

// All of a number's, and which serves an activation: NULL for what has no epilogue of its own.
#define STORING_ALL_(number)                                                                                           \
    STORING_(number, round)                                                                                            \
    STORING_(number, function)                                                                                         \
    STORING_(number, gelu)                                                                                             \
    STORING_(number, gelu_tanh)                                                                                        \
    STORING_(number, quick_gelu)                                                                                       \
    STORING_(number, silu)                                                                                             \
    static multiply_function_t const storing_functions_##number[uform_activation_count_k] = {                          \
        [uform_activation_identity_k] = multiply_storing_##number##_round,                                             \
        [uform_activation_gelu_k] = multiply_storing_##number##_gelu,                                                  \
        [uform_activation_gelu_tanh_k] = multiply_storing_##number##_gelu_tanh,                                        \
        [uform_activation_quick_gelu_k] = multiply_storing_##number##_quick_gelu,                                      \
        [uform_activation_silu_k] = multiply_storing_##number##_silu,                                                  \
    };

STORING_ALL_(bf16)

static void gemm_multiply(uform_gemm_call_t const *call) {
    multiply_function_t const storing = storing_functions_bf16[call->activation];
    configure_tiles();
    if (call->accumulate) multiply_accumulating(call);
    else if (storing) storing(call);
    else multiply_storing_bf16_function(call);
    _tile_release();
}

static inline __attribute__((always_inline)) double limit_tiles(size_t rounds, number_t number) {
    static char operands[4][8 * tile_bytes_k] __attribute__((aligned(64)));
    configure_tiles();
    size_t const blocks = 1000;
    for (size_t i = 0; i < rounds * blocks; ++i) {
        size_t const offset = i % 8 * tile_bytes_k;
        _tile_loadd(4, operands[0] + offset, 64);
        _tile_loadd(5, operands[1] + offset, 64);
        _tile_loadd(6, operands[2] + offset, 64);
        _tile_loadd(7, operands[3] + offset, 64);
        MULTIPLY_TILES_(number, 0, 4, 6);
        MULTIPLY_TILES_(number, 1, 4, 7);
        MULTIPLY_TILES_(number, 2, 5, 6);
        MULTIPLY_TILES_(number, 3, 5, 7);
    }
    _tile_release();
    size_t const depth = number == number_i8_k ? tile_depth_i8_k : tile_depth_k;
    return (double)rounds * (double)blocks * 4 * 2 * 16 * 16 * (double)depth;
}

static double gemm_limit(size_t rounds) {
    return limit_tiles(rounds, number_bf16_k);
}

#include "kernels/cpu/intel_sapphire_attention.h"
#include "kernels/cpu/intel_sapphire_i8.h"

static uform_gemm_t const gemm = {
    .column_step = block_columns_k,
    .depth_step = tile_depth_k,
    .scratch_bytes = (2 + sums_blocks_k) * sums_bytes_k,
    .packed_bytes = gemm_packed_bytes,
    .pack = gemm_pack,
    .multiply = gemm_multiply,
    .input_lane = 32,
    .limit = gemm_limit,
};

static uform_attention_t const attention = {.scratch_bytes = attention_scratch_bytes, .attend = attend};

uform_kernels_t const uform_kernels_intel_sapphire_table_ = {
    .compiled = true,
    .gemm_bf16 = &gemm,
    .gemm_i8 = &gemm_i8,
    .attention_bf16 = &attention,
};

UFORM_TARGET_END

#else

uform_kernels_t const uform_kernels_intel_sapphire_table_ = {.compiled = false};

#endif
