/**
 *  Sapphire Rapids: bf16 matrix multiplication and attention on AMX tiles. Everything else is inherited.
 *
 *  Instructions: TDPBF16PS on eight tiles of 16 rows x 64 bytes, AVX-512 for the epilogues, VCVTNE2PS2BF16 to round.
 *
 *  Packed weights: [columns / 32][depth / 32][2] tiles of 1 KB. A tile holds 16 columns x 32 depths as the
 *  instruction wants them: row p, column n: the pair (depth 2p, depth 2p + 1) of column n.
 *
 *  A block of 32 columns x 384 depths is 24 KB: it stays in the first-level cache while all rows of the call stream
 *  past it by the non-temporal form of the tile load, which keeps them from evicting it. The previous block's
 *  activation and rounding are done within the multiplications of the next, since tiles and vectors use different
 *  units. Meanwhile the next columns' weights are fetched into the second-level cache, and the results the next block
 *  adds to into the first.
 *
 *  Every element is one chain of TDPBF16PS over its depth, whatever the number of rows.
 */
#include "kernels/kernels.h"
#include "kernels/target.h"

extern uform_kernels_t const uform_kernels_intel_sapphire_table_;

#if UFORM_TARGET_AMX_BF16

#include <immintrin.h>
#include <math.h>
#include <string.h>

UFORM_TARGET_BEGIN("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bf16,amx-tile,amx-bf16")

#define UFORM_VECTOR_NATIVE_BF16
#include "kernels/generic/vector_avx512.h"

#include "kernels/generic/functions.h"

enum {
    tile_bytes_k = 1024,  // 16 rows x 64 bytes
    tile_depth_k = 32,    // bf16 elements a tile row holds
    block_columns_k = 32, // two tiles side by side
    block_rows_k = 32,    // two tiles one below the other
    epilogue_rows_k = 4,  // rows of the previous block finished per depth step
    result_lines_k = 3,   // lines of the next rows' results fetched per depth step, in each of two panels
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
            // Sixteen pairs of neighbouring depths, one tile row apart.
            __m512i const pairs = (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(source + 16), _mm512_loadu_ps(source));
            __m512i const rows = _mm512_mullo_epi32(
                _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(64));
            _mm512_i32scatter_epi32(tiles, rows, pairs, 1);
        }
    }
}

// x * Phi(x) = max(x, 0) - |x| * Phi(-|x|), and the second term is a polynomial without constant term of min(|x|, 3.9),
// for the erf form and the tanh form alike. Largest error 1.9e-4, a twentieth of what rounding to bf16 costs at that
// size.
static float const gelu_terms[2][7] = {
    {-0.499330028f, 0.385197846f, 0.0521792488f, -0.147271819f, 0.0604657648f, -0.0104902212f, 0.000686534604f},
    {-0.499674882f, 0.387595786f, 0.0469246911f, -0.142763015f, 0.0586815f, -0.0101591204f, 0.000663094717f},
};

static inline __attribute__((always_inline)) __m512 gelu(__m512 x, float const *terms) {
    // Operand order matters: minimum and maximum answer their second operand when one is a NaN.
    __m512 const size = _mm512_min_ps(_mm512_set1_ps(3.9f), _mm512_abs_ps(x));
    __m512 sum = _mm512_set1_ps(terms[6]);
    for (int term = 5; term >= 0; --term) sum = _mm512_fmadd_ps(sum, size, _mm512_set1_ps(terms[term]));
    return _mm512_fmadd_ps(sum, size, _mm512_max_ps(_mm512_setzero_ps(), x));
}

typedef enum epilogue_t {
    epilogue_none_k,
    epilogue_round_k,
    epilogue_function_k, // applied to the whole block before it is left pending
    epilogue_gelu_k,
    epilogue_gelu_tanh_k
} epilogue_t;

// What has no epilogue of its own.
static activate_function_t const functions[uform_activation_count_k] = {UFORM_ACTIVATE_SHARED_ROWS_};

// A finished block whose activation and rounding are still to be done: [2 row tiles][2 column tiles] in scratch.
typedef struct pending_t {
    char const *tiles;
    char *output; // 32 columns of bf16 are one line
    size_t rows;
} pending_t;

static inline __attribute__((always_inline)) void finish_rows(
    pending_t const *pending, size_t begin, epilogue_t epilogue) {
#pragma GCC unroll 4
    for (size_t row = begin; row < begin + epilogue_rows_k; ++row) {
        char const *tiles = pending->tiles + (row & 16) * 2 * 64 + row % 16 * 64;
        __m512 low = _mm512_load_ps(tiles), high = _mm512_load_ps(tiles + tile_bytes_k);
        if (epilogue >= epilogue_gelu_k) {
            float const *terms = gelu_terms[epilogue == epilogue_gelu_tanh_k];
            low = gelu(low, terms), high = gelu(high, terms);
        }
        _mm512_store_si512(pending->output + row * 64, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
}

static inline __attribute__((always_inline)) void finish_from(
    pending_t const *pending, size_t row, epilogue_t epilogue) {
    for (; row < pending->rows; row += epilogue_rows_k) finish_rows(pending, row, epilogue);
}

typedef struct block_t {
    char const *inputs; // first row, first depth panel
    size_t input_stride;
    char const *weights; // [steps][2] tiles
    size_t steps;
    char const *next_weights; // fetched ahead, some lines a step
    size_t next_lines;
    char const
        *initial; // accumulators begin with [2 row tiles][2 column tiles] found here: a bias line has row stride zero
    size_t initial_stride, initial_column, initial_row;
    char *results;
    size_t result_column, result_row;
} block_t;

// Fetches what the next rows will add to: their lines follow this block's in both of its panels.
static inline __attribute__((always_inline)) void fetch_results(block_t const *block, size_t step) {
    char const *line = block->results + 2 * tile_bytes_k + step * result_lines_k * 64;
    for (size_t i = 0; i < result_lines_k; ++i) {
        _mm_prefetch(line + i * 64, _MM_HINT_T0);
        _mm_prefetch(line + i * 64 + block->result_column, _MM_HINT_T0);
    }
}

static inline __attribute__((always_inline)) void multiply_block(
    block_t const *block, bool two_rows, pending_t const *pending, epilogue_t epilogue) {
    char const *inputs = block->inputs, *weights = block->weights, *next_weights = block->next_weights;
    _tile_loadd(0, block->initial, block->initial_stride);
    _tile_loadd(1, block->initial + block->initial_column, block->initial_stride);
    if (two_rows) {
        _tile_loadd(2, block->initial + block->initial_row, block->initial_stride);
        _tile_loadd(3, block->initial + block->initial_row + block->initial_column, block->initial_stride);
    }
    size_t row = 0;
    for (size_t step = 0; step < block->steps; ++step, inputs += block->input_stride, weights += 2 * tile_bytes_k) {
        _tile_stream_loadd(4, inputs, 64);
        _tile_loadd(6, weights, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, weights + tile_bytes_k, 64);
        _tile_dpbf16ps(1, 4, 7);
        if (two_rows) {
            _tile_stream_loadd(5, inputs + tile_bytes_k, 64);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
        for (size_t i = 0; i < block->next_lines; ++i, next_weights += 64) _mm_prefetch(next_weights, _MM_HINT_T1);
        if (epilogue == epilogue_none_k) fetch_results(block, step);
        else if (row < pending->rows) {
            finish_rows(pending, row, epilogue);
            row += epilogue_rows_k;
        }
    }
    if (epilogue != epilogue_none_k) finish_from(pending, row, epilogue);
    _tile_stored(0, block->results, 64);
    _tile_stored(1, block->results + block->result_column, 64);
    if (two_rows) {
        _tile_stored(2, block->results + block->result_row, 64);
        _tile_stored(3, block->results + block->result_row + block->result_column, 64);
    }
}

// What all blocks of a call share.
static block_t begin_blocks(uform_gemm_call_t const *call) {
    size_t const row_blocks = (call->rows + block_rows_k - 1) / block_rows_k;
    return (block_t){
        .input_stride = call->inputs.stride_bytes,
        .steps = (call->depth_end - call->depth_begin) / tile_depth_k,
        // A call of one block reads weights as fast as it can anyway.
        .next_lines = row_blocks > 1 ? (2 * tile_bytes_k / 64 + row_blocks - 1) / row_blocks : 0,
    };
}

static void begin_columns(uform_gemm_call_t const *call, size_t column, block_t *block) {
    size_t const depth_tiles = call->depth / tile_depth_k;
    block->weights = (char const *)call->weights +
                     (column / block_columns_k * depth_tiles + call->depth_begin / tile_depth_k) * 2 * tile_bytes_k;
    block->next_weights = block->weights + depth_tiles * 2 * tile_bytes_k;
}

static void begin_rows(uform_gemm_call_t const *call, size_t row, block_t *block) {
    block->inputs = (char const *)call->inputs.data + call->depth_begin / tile_depth_k * block->input_stride + row * 64;
    if (row) block->next_weights += block->steps * block->next_lines * 64;
}

static inline __attribute__((always_inline)) void multiply_storing(uform_gemm_call_t const *call, epilogue_t epilogue) {
    block_t block = begin_blocks(call);
    block.initial_column = 64;
    block.result_column = tile_bytes_k;
    block.result_row = 2 * tile_bytes_k;
    pending_t pending = {.rows = 0};
    size_t parity = 0;
    for (size_t column = call->column_begin; column < call->column_end; column += block_columns_k) {
        begin_columns(call, column, &block);
        block.initial = (char const *)(call->bias + column);
        char *output = (char *)call->outputs.data + column / block_columns_k * call->outputs.stride_bytes;
        for (size_t row = 0; row < call->rows; row += block_rows_k, parity ^= 1) {
            begin_rows(call, row, &block);
            block.results = (char *)call->scratch + parity * 4 * tile_bytes_k;
            bool const two_rows = call->rows - row > 16;
            if (two_rows) multiply_block(&block, true, &pending, epilogue);
            else multiply_block(&block, false, &pending, epilogue);
            if (epilogue == epilogue_function_k)
                activate(functions, call->activation, (float *)block.results,
                    (two_rows ? 4 : 2) * tile_bytes_k / sizeof(float));
            pending = (pending_t){block.results, output + row * 64, two_rows ? 32 : 16};
        }
    }
    finish_from(&pending, 0, epilogue);
}

static void multiply_accumulating(uform_gemm_call_t const *call) {
    block_t block = begin_blocks(call);
    block.initial_stride = 64;
    block.initial_column = block.result_column = call->outputs.stride_bytes;
    block.initial_row = block.result_row = tile_bytes_k;
    for (size_t column = call->column_begin; column < call->column_end; column += block_columns_k) {
        begin_columns(call, column, &block);
        for (size_t row = 0; row < call->rows; row += block_rows_k) {
            begin_rows(call, row, &block);
            block.results = (char *)call->outputs.data + column / 16 * call->outputs.stride_bytes + row * 64;
            block.initial = block.results;
            if (call->rows - row > 16) multiply_block(&block, true, NULL, epilogue_none_k);
            else multiply_block(&block, false, NULL, epilogue_none_k);
        }
    }
}

static void gemm_multiply(uform_gemm_call_t const *call) {
    configure_tiles();
    if (call->accumulate) multiply_accumulating(call);
    else if (call->activation == uform_activation_gelu_k) multiply_storing(call, epilogue_gelu_k);
    else if (call->activation == uform_activation_gelu_tanh_k) multiply_storing(call, epilogue_gelu_tanh_k);
    else if (call->activation == uform_activation_identity_k) multiply_storing(call, epilogue_round_k);
    else multiply_storing(call, epilogue_function_k);
    _tile_release();
}

static double gemm_limit(size_t rounds) {
    static char operands[4][8 * tile_bytes_k] __attribute__((aligned(64)));
    configure_tiles();
    size_t const blocks = 1000;
    for (size_t i = 0; i < rounds * blocks; ++i) {
        size_t const offset = i % 8 * tile_bytes_k;
        _tile_loadd(4, operands[0] + offset, 64);
        _tile_loadd(5, operands[1] + offset, 64);
        _tile_loadd(6, operands[2] + offset, 64);
        _tile_loadd(7, operands[3] + offset, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
    return (double)rounds * (double)blocks * 4 * 2 * 16 * 16 * 32;
}

/*
 *  Attention, 16 queries at a time and transposed: scores[key][query] = K Q^T, so that the softmax runs down the keys
 * with sixteen queries side by side: no horizontal sums, no masks. Its weights are packed in pairs of keys, transposed
 * to [query][key] tiles, and multiplied with V.
 */

// Transposes 16 x 16 numbers of 32 bits; `source` rows are `stride` bytes apart, `target` rows 64.
static inline __attribute__((always_inline)) void transpose_16x16(char const *source, size_t stride, char *target) {
    __m512i rows[16], halves[16];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
        for (int part = 0; part < 4; ++part) {
            // Quarter `part` of the rows i, i + 4, i + 8, i + 12.
            char const *first = source + (size_t)i * stride + part * 16;
            __m512i row = _mm512_castsi128_si512(_mm_loadu_si128((__m128i const *)first));
            row = _mm512_inserti32x4(row, _mm_loadu_si128((__m128i const *)(first + 4 * stride)), 1);
            row = _mm512_inserti32x4(row, _mm_loadu_si128((__m128i const *)(first + 8 * stride)), 2);
            rows[part * 4 + i] = _mm512_inserti32x4(row, _mm_loadu_si128((__m128i const *)(first + 12 * stride)), 3);
        }
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
        __m512i const *r = rows + part * 4;
        halves[part * 4 + 0] = _mm512_unpacklo_epi32(r[0], r[1]);
        halves[part * 4 + 1] = _mm512_unpackhi_epi32(r[0], r[1]);
        halves[part * 4 + 2] = _mm512_unpacklo_epi32(r[2], r[3]);
        halves[part * 4 + 3] = _mm512_unpackhi_epi32(r[2], r[3]);
        __m512i const *h = halves + part * 4;
        _mm512_store_si512(target + (part * 4 + 0) * 64, _mm512_unpacklo_epi64(h[0], h[2]));
        _mm512_store_si512(target + (part * 4 + 1) * 64, _mm512_unpackhi_epi64(h[0], h[2]));
        _mm512_store_si512(target + (part * 4 + 2) * 64, _mm512_unpacklo_epi64(h[1], h[3]));
        _mm512_store_si512(target + (part * 4 + 3) * 64, _mm512_unpackhi_epi64(h[1], h[3]));
    }
}

static inline size_t round_up(size_t value, size_t step) {
    return (value + step - 1) / step * step;
}

// Queries are taken two tiles at a time, each step for both: what one step stores has left the store buffer before the
// next one loads it.
enum { group_tiles_k = 2 };

// One tile of sixteen queries on its way: queries^T [head_width / 32] tiles, scores [keys][16] f32, whose place the
// weights [keys / 32] tiles take as they are made, outputs [head_width / 16] tiles, pairs of 32 keys [16][16], one over
// the sums of weights [16].
typedef struct query_tile_t {
    char *queries, *scores, *outputs, *pairs;
    float *factors;
} query_tile_t;

static size_t query_tile_bytes(size_t keys, size_t head_width) {
    return head_width / 32 * tile_bytes_k + keys * 64 + head_width / 16 * tile_bytes_k + tile_bytes_k + 64;
}

static query_tile_t divide_tile(char *memory, size_t keys, size_t head_width) {
    query_tile_t tile = {.queries = memory};
    tile.scores = tile.queries + head_width / 32 * tile_bytes_k;
    tile.outputs = tile.scores + keys * 64;
    tile.pairs = tile.outputs + head_width / 16 * tile_bytes_k;
    tile.factors = (float *)(tile.pairs + tile_bytes_k);
    return tile;
}

// Scratch: values [keys / 32][head_width / 16] tiles, then the group.
static size_t attention_scratch_bytes(size_t length, size_t head_width) {
    size_t const keys = round_up(length, 32);
    return keys / 32 * (head_width / 16) * tile_bytes_k + group_tiles_k * query_tile_bytes(keys, head_width);
}

// Interleaves pairs of keys, as the right operand of weights x values wants them; rows past the text are zeros.
static void pack_values(char const *values, size_t stride, size_t length, size_t panels, char *packed) {
    __m512i const low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37,
        5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    __m512i const high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
    for (size_t pair = 0; pair < round_up(length, 32) / 2; ++pair)
        for (size_t panel = 0; panel < panels; ++panel) {
            char const *line = values + panel * stride + pair * 128;
            char *tile = packed + (pair / 16 * panels + panel) * 2 * tile_bytes_k + pair % 16 * 64;
            __m512i const even = 2 * pair < length ? _mm512_load_si512(line) : _mm512_setzero_si512();
            __m512i const odd = 2 * pair + 1 < length ? _mm512_load_si512(line + 64) : _mm512_setzero_si512();
            _mm512_store_si512(tile, _mm512_permutex2var_epi16(even, low, odd));
            _mm512_store_si512(tile + tile_bytes_k, _mm512_permutex2var_epi16(even, high, odd));
        }
}

// The score of what a query must not see: its weight is the smallest there is, 2^-126.
static float const hidden_score = -3.0e38f;

// Largest score of each query. A NaN may get lost here, but not in the softmax.
static inline __attribute__((always_inline)) __m512 largest_scores(float const *scores, size_t length) {
    __m512 even = _mm512_load_ps(scores), odd = even;
    for (size_t key = 0; key + 2 <= length; key += 2) {
        even = _mm512_max_ps(_mm512_load_ps(scores + key * 16), even);
        odd = _mm512_max_ps(_mm512_load_ps(scores + key * 16 + 16), odd);
    }
    if (length % 2) even = _mm512_max_ps(_mm512_load_ps(scores + length * 16 - 16), even);
    return _mm512_max_ps(even, odd);
}

// Two to the power of (score x factor - offset) / 128 for two keys of sixteen queries, as interleaved pairs of bf16.
static inline __attribute__((always_inline)) __m512i raise_pair(
    float const *scores, __m512 factor, __m512 offset, __m512i low, __m512i high) {
    __m512i const interleave =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    __m512i const even = _mm512_cvtps_epi32(_mm512_fmsub_ps(_mm512_load_ps(scores), factor, offset));
    __m512i const odd = _mm512_cvtps_epi32(_mm512_fmsub_ps(_mm512_load_ps(scores + 16), factor, offset));
    return vector_raise_bf16(_mm512_shuffle_epi8(_mm512_packs_epi32(even, odd), interleave), low, high);
}

// Softmax down the keys, without the division: weights take the place of scores, 32 keys at a time; keeps one over
// their sums, or NaN where a score was not finite.
static inline __attribute__((always_inline)) void softmax_keys(query_tile_t const *tile, size_t length, float scale) {
    __m512i const low = vector_power_terms(0), high = vector_power_terms(1);
    __m512bh const ones = (__m512bh)_mm512_set1_epi16(0x3F80);
    float *scores = (float *)tile->scores;
    __m512 const factor = _mm512_set1_ps(scale * 1.44269504f * 128.0f);
    __m512 const offset = _mm512_mul_ps(largest_scores(scores, length), factor);
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
    if (length % 2)
        _mm512_store_ps(scores + length * 16, _mm512_set1_ps(hidden_score)); // the key that the last pair lacks
    for (size_t key = 0; key < length; key += 32, scores += 32 * 16) {
        size_t const pair_count = length - key < 32 ? (length - key + 1) / 2 : 16;
        size_t pair = 0;
        for (; pair + 4 <= pair_count; pair += 4)
#pragma GCC unroll 4
            for (size_t i = 0; i < 4; ++i) {
                __m512i const powers = raise_pair(scores + (pair + i) * 32, factor, offset, low, high);
                sums[i] = _mm512_dpbf16_ps(sums[i], (__m512bh)powers, ones);
                _mm512_store_si512(tile->pairs + (pair + i) * 64, powers);
            }
        for (; pair < pair_count; ++pair) {
            __m512i const powers = raise_pair(scores + pair * 32, factor, offset, low, high);
            sums[0] = _mm512_dpbf16_ps(sums[0], (__m512bh)powers, ones);
            _mm512_store_si512(tile->pairs + pair * 64, powers);
        }
        for (; pair < 16; ++pair) _mm512_store_si512(tile->pairs + pair * 64, _mm512_setzero_si512());
        transpose_16x16(tile->pairs, 64, tile->scores + key / 32 * tile_bytes_k);
    }
    __m512 const sum = _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3]));
    __m512 const defect = _mm512_sub_ps(offset, offset);
    _mm512_store_ps(tile->factors, _mm512_add_ps(_mm512_div_ps(_mm512_set1_ps(1.0f), sum), defect));
}

// scores[key][query] of two tiles of queries: keys are the left operand as they lie, queries the right one, transposed.
static inline void multiply_scores(
    char const *keys, size_t stride, size_t length, size_t panels, query_tile_t const *tiles) {
    for (size_t key = 0; key < length; key += 16) {
        _tile_zero(0);
        _tile_zero(1);
        for (size_t panel = 0; panel < panels; ++panel) {
            _tile_loadd(4, keys + panel * stride + key * 64, 64);
            _tile_loadd(6, tiles[0].queries + panel * tile_bytes_k, 64);
            _tile_loadd(7, tiles[1].queries + panel * tile_bytes_k, 64);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
        }
        _tile_stored(0, tiles[0].scores + key * 64, 64);
        _tile_stored(1, tiles[1].scores + key * 64, 64);
    }
}

// outputs[query][dimension] = weights x values.
static inline void multiply_values(query_tile_t const *tile, char const *values, size_t steps, size_t panels) {
    for (size_t panel = 0; panel < panels; ++panel) {
        _tile_zero(0);
        _tile_zero(1);
        for (size_t step = 0; step < steps; ++step) {
            char const *right = values + (step * panels + panel) * 2 * tile_bytes_k;
            _tile_loadd(4, tile->scores + step * tile_bytes_k, 64);
            _tile_loadd(6, right, 64);
            _tile_loadd(7, right + tile_bytes_k, 64);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
        }
        _tile_stored(0, tile->outputs + panel * 2 * tile_bytes_k, 64);
        _tile_stored(1, tile->outputs + panel * 2 * tile_bytes_k + tile_bytes_k, 64);
    }
}

// Divides by the sums of the weights and rounds.
static inline void write_outputs(query_tile_t const *tile, size_t panels, char *outputs, size_t stride, size_t rows) {
    for (size_t panel = 0; panel < panels; ++panel)
        for (size_t row = 0; row < rows; ++row) {
            char const *line = tile->outputs + panel * 2 * tile_bytes_k + row * 64;
            __m512 const factor = _mm512_set1_ps(tile->factors[row]);
            __m512 const low = _mm512_mul_ps(_mm512_load_ps(line), factor);
            __m512 const high = _mm512_mul_ps(_mm512_load_ps(line + tile_bytes_k), factor);
            _mm512_store_si512(outputs + panel * stride + row * 64, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        }
}

// One head of one text: all pointers are at the text's first row of the head's first panel.
typedef struct head_t {
    char const *queries, *keys, *values;
    char *outputs;
} head_t;

// Queries of a tile that begins at query `begin` don't see the keys that come after them.
static inline void hide_keys(query_tile_t const *tile, size_t begin, size_t visible) {
    float *scores = (float *)tile->scores + begin * 16;
    for (size_t key = begin; key < visible; ++key, scores += 16)
        _mm512_mask_store_ps(scores, (__mmask16)((1u << (key - begin)) - 1u), _mm512_set1_ps(hidden_score));
}

static void attend_head(uform_attention_call_t const *call, head_t head) {
    size_t const query_count = call->query_count ? call->query_count : call->length;
    size_t const panels = call->head_width / 32, length = call->length, keys = round_up(length, 32);
    char *const values = call->scratch, *const tile_memory = values + keys / 32 * panels * 2 * tile_bytes_k;
    query_tile_t tiles[group_tiles_k];
    for (size_t i = 0; i < group_tiles_k; ++i)
        tiles[i] = divide_tile(tile_memory + i * query_tile_bytes(keys, call->head_width), keys, call->head_width);
    pack_values(head.values, call->values.stride_bytes, length, panels, values);
    for (size_t begin = 0; begin < query_count; begin += 16 * group_tiles_k) {
        size_t const tile_count = query_count - begin > 16 ? 2 : 1;
        size_t visible[group_tiles_k]; // keys each tile sees
        for (size_t i = 0; i < group_tiles_k; ++i) {
            size_t const end = begin + (i + 1) * 16;
            visible[i] = call->causal && end < length ? end : length;
        }
        for (size_t i = 0; i < tile_count; ++i)
            for (size_t panel = 0; panel < panels; ++panel)
                transpose_16x16(head.queries + panel * call->queries.stride_bytes + (begin + i * 16) * 64, 64,
                    tiles[i].queries + panel * tile_bytes_k);
        multiply_scores(head.keys, call->keys.stride_bytes, visible[tile_count - 1], panels, tiles);
        for (size_t i = 0; i < tile_count; ++i) {
            if (call->causal) hide_keys(&tiles[i], begin + i * 16, visible[i]);
            softmax_keys(&tiles[i], visible[i], call->scale);
        }
        for (size_t i = 0; i < tile_count; ++i)
            multiply_values(&tiles[i], values, round_up(visible[i], 32) / 32, panels);
        for (size_t i = 0; i < tile_count; ++i) {
            size_t const row = begin + i * 16, rows = query_count - row < 16 ? query_count - row : 16;
            write_outputs(&tiles[i], panels, head.outputs + row * 64, call->outputs.stride_bytes, rows);
        }
    }
}

static void attend(uform_attention_call_t const *call) {
    size_t const panels = call->head_width / 32, first = call->row_begin * 64;
    configure_tiles();
    for (size_t index = 0; index < call->heads; ++index) {
        size_t const panel = index * panels;
        head_t const head = {
            .queries = (char const *)call->queries.data + panel * call->queries.stride_bytes + first,
            .keys = (char const *)call->keys.data + panel * call->keys.stride_bytes + first,
            .values = (char const *)call->values.data + panel * call->values.stride_bytes + first,
            .outputs = (char *)call->outputs.data + panel * call->outputs.stride_bytes + first,
        };
        attend_head(call, head);
    }
    _tile_release();
}

static uform_gemm_t const gemm = {
    .column_step = block_columns_k,
    .depth_step = tile_depth_k,
    .scratch_bytes = 8 * tile_bytes_k,
    .packed_bytes = gemm_packed_bytes,
    .pack = gemm_pack,
    .multiply = gemm_multiply,
    .limit = gemm_limit,
};

static uform_attention_t const attention = {.scratch_bytes = attention_scratch_bytes, .attend = attend};

uform_kernels_t const uform_kernels_intel_sapphire_table_ = {
    .compiled = true,
    .gemm_bf16 = &gemm,
    .attention_bf16 = &attention,
};

UFORM_TARGET_END

#else

uform_kernels_t const uform_kernels_intel_sapphire_table_ = {.compiled = false};

#endif
