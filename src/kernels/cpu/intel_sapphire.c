/**
 *  Sapphire Rapids: bf16 matrix multiplication and attention on AMX tiles. Everything else is inherited.
 *
 *  Instructions: TDPBF16PS on eight tiles of 16 rows x 64 bytes, AVX-512 for the epilogues, VCVTNE2PS2BF16 to round.
 *
 *  Packed weights: [columns / 32][depth / 32][2] tiles of 1 KB. A tile holds 16 columns x 32 depths as the instruction wants them:
 *  row p, column n: the pair (depth 2p, depth 2p + 1) of column n.
 *
 *  A block of 32 columns x 384 depths is 24 KB: it stays in the first-level cache while all rows of the call stream past it by the
 *  non-temporal form of the tile load, which keeps them from evicting it. The previous block's activation and rounding are done
 *  within the multiplications of the next, since tiles and vectors use different units.
 *
 *  Every element is one chain of TDPBF16PS over its depth, whatever the number of rows.
 */
#include "kernels/kernels.h"

#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 14 : __GNUC__ >= 12)
#define UFORM_COMPILED 1
#else
#define UFORM_COMPILED 0
#endif

#if UFORM_COMPILED

#if defined(__clang__)
#pragma clang attribute push(                                                                                          \
    __attribute__((target("avx2,fma,f16c,bmi2,avx512f,avx512cd,avx512vl,avx512dq,avx512bw,avx512vnni,avx512vbmi,"      \
                          "avx512vbmi2,avx512bitalg,avx512vpopcntdq,avx512ifma,avx512bf16,amx-tile,amx-bf16"))),       \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi2,avx512f,avx512cd,avx512vl,avx512dq,avx512bw,avx512vnni,avx512vbmi,"             \
                   "avx512vbmi2,avx512bitalg,avx512vpopcntdq,avx512ifma,avx512bf16,amx-tile,amx-bf16")
#endif

#include <immintrin.h>
#include <string.h>

enum {
    tile_bytes_k = 1024,            // 16 rows x 64 bytes
    tile_depth_k = 32,              // bf16 elements a tile row holds
    block_columns_k = 32,           // two tiles side by side
    block_rows_k = 32,              // two tiles one below the other
    epilogue_rows_k = 4,            // rows of the previous block finished per depth step
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

static size_t gemm_packed_bytes(size_t columns, size_t depth) { return columns * depth * sizeof(uint16_t); }

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

// x * Phi(x) = max(x, 0) - |x| * Phi(-|x|), and the second term is a polynomial without constant term of min(|x|, 3.9), for the erf form
// and the tanh form alike. Largest error 1.9e-4, a twentieth of what rounding to bf16 costs at that size.
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

typedef enum epilogue_t { epilogue_none_k, epilogue_round_k, epilogue_gelu_k, epilogue_gelu_tanh_k } epilogue_t;

// A finished block whose activation and rounding are still to be done: [2 row tiles][2 column tiles] in scratch.
typedef struct pending_t {
    char const *tiles;
    char *output;       // 32 columns of bf16 are one line
    size_t rows;
} pending_t;

static inline __attribute__((always_inline)) void finish_rows(pending_t const *pending, size_t begin, epilogue_t epilogue) {
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

static inline __attribute__((always_inline)) void finish_from(pending_t const *pending, size_t row, epilogue_t epilogue) {
    for (; row < pending->rows; row += epilogue_rows_k) finish_rows(pending, row, epilogue);
}

typedef struct block_t {
    char const *inputs;         // first row, first depth panel
    size_t input_stride;
    char const *weights;        // [steps][2] tiles
    size_t steps;
    char const *initial;        // accumulators begin with [2 row tiles][2 column tiles] found here: a bias line has row stride zero
    size_t initial_stride, initial_column, initial_row;
    char *results;
    size_t result_column, result_row;
} block_t;

static inline __attribute__((always_inline)) void multiply_block(
    block_t const *block, bool two_rows, pending_t const *pending, epilogue_t epilogue) {
    char const *inputs = block->inputs, *weights = block->weights;
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
        if (epilogue != epilogue_none_k && row < pending->rows) {
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

static inline __attribute__((always_inline)) void multiply_storing(uform_gemm_call_t const *call, epilogue_t epilogue) {
    size_t const depth_tiles = call->depth / tile_depth_k;
    block_t block = {
        .input_stride = call->inputs.stride_bytes,
        .steps = (call->depth_end - call->depth_begin) / tile_depth_k,
        .initial_column = 64,
        .result_column = tile_bytes_k,
        .result_row = 2 * tile_bytes_k,
    };
    pending_t pending = {.rows = 0};
    size_t parity = 0;
    for (size_t column = call->column_begin; column < call->column_end; column += block_columns_k) {
        block.weights = (char const *)call->weights +
                        (column / block_columns_k * depth_tiles + call->depth_begin / tile_depth_k) * 2 * tile_bytes_k;
        block.initial = (char const *)(call->bias + column);
        char *output = (char *)call->outputs.data + column / block_columns_k * call->outputs.stride_bytes;
        for (size_t row = 0; row < call->rows; row += block_rows_k, parity ^= 1) {
            bool const two_rows = call->rows - row > 16;
            block.inputs = (char const *)call->inputs.data + call->depth_begin / tile_depth_k * block.input_stride + row * 64;
            block.results = (char *)call->scratch + parity * 4 * tile_bytes_k;
            if (two_rows) multiply_block(&block, true, &pending, epilogue);
            else multiply_block(&block, false, &pending, epilogue);
            pending = (pending_t){block.results, output + row * 64, two_rows ? 32 : 16};
        }
    }
    finish_from(&pending, 0, epilogue);
}

static void multiply_accumulating(uform_gemm_call_t const *call) {
    size_t const depth_tiles = call->depth / tile_depth_k, stride = call->outputs.stride_bytes;
    block_t block = {
        .input_stride = call->inputs.stride_bytes,
        .steps = (call->depth_end - call->depth_begin) / tile_depth_k,
        .initial_stride = 64,
        .initial_column = stride,
        .initial_row = tile_bytes_k,
        .result_column = stride,
        .result_row = tile_bytes_k,
    };
    for (size_t column = call->column_begin; column < call->column_end; column += block_columns_k) {
        block.weights = (char const *)call->weights +
                        (column / block_columns_k * depth_tiles + call->depth_begin / tile_depth_k) * 2 * tile_bytes_k;
        for (size_t row = 0; row < call->rows; row += block_rows_k) {
            block.inputs = (char const *)call->inputs.data + call->depth_begin / tile_depth_k * block.input_stride + row * 64;
            block.results = (char *)call->outputs.data + column / 16 * stride + row * 64;
            block.initial = block.results;
            if (call->rows - row > 16) multiply_block(&block, true, NULL, epilogue_none_k);
            else multiply_block(&block, false, NULL, epilogue_none_k);
        }
    }
}

// Functions without a polynomial of their own go through the scalar reference, block by block.
static void activate_panels(uform_gemm_call_t const *call) {
    for (size_t panel = call->column_begin / 32; panel < call->column_end / 32; ++panel) {
        uint16_t *line = (uint16_t *)((char *)call->outputs.data + panel * call->outputs.stride_bytes);
        for (size_t i = 0; i < call->rows * 32; ++i)
            line[i] = uform_f32_to_bf16_(uform_activate_(call->activation, uform_bf16_to_f32_(line[i])));
    }
}

static void gemm_multiply(uform_gemm_call_t const *call) {
    configure_tiles();
    if (call->accumulate) multiply_accumulating(call);
    else if (call->activation == uform_activation_gelu_k) multiply_storing(call, epilogue_gelu_k);
    else if (call->activation == uform_activation_gelu_tanh_k) multiply_storing(call, epilogue_gelu_tanh_k);
    else multiply_storing(call, epilogue_round_k);
    _tile_release();
    if (!call->accumulate && call->activation > uform_activation_gelu_tanh_k) activate_panels(call);
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
 *  Attention, 16 queries at a time and transposed: scores[key][query] = K Q^T, so that the softmax runs down the keys with sixteen
 *  queries side by side: no horizontal sums, no masks. Its weights are packed in pairs of keys, transposed to [query][key] tiles, and
 *  multiplied with V.
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

static inline size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

// Scratch: queries^T [head_width / 32] tiles, values [keys / 32][head_width / 16] tiles, scores [keys][16] f32, weight pairs [keys / 2][16],
// weight tiles [keys / 32], outputs [2] tiles.
static size_t attention_scratch_bytes(size_t length, size_t head_width) {
    size_t const keys = round_up(length, 32);
    return head_width / 32 * tile_bytes_k + keys / 32 * (head_width / 16) * tile_bytes_k + keys * 64 + keys / 2 * 64 +
           keys / 32 * tile_bytes_k + 2 * tile_bytes_k + 64;
}

// Interleaves pairs of keys, as the right operand of weights x values wants them; rows past the text are zeros.
static void pack_values(char const *values, size_t stride, size_t length, size_t panels, char *packed) {
    __m512i const low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37, 5,
        36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
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

// 2^x for x <= 0, with a relative error of 7.5e-5: the weights are rounded to bf16 afterwards.
static inline __attribute__((always_inline)) __m512 exp2_fast(__m512 x) {
    __m512 const fraction = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512 sum = _mm512_fmadd_ps(_mm512_set1_ps(0.0780243566f), fraction, _mm512_set1_ps(0.226067736f));
    sum = _mm512_fmadd_ps(sum, fraction, _mm512_set1_ps(0.695833132f));
    sum = _mm512_fmadd_ps(sum, fraction, _mm512_set1_ps(0.99992528f));
    return _mm512_scalef_ps(sum, x);
}

// Softmax down the keys of scores [length][16]; writes pairs of keys [keys / 2][16] and returns one over the sums.
static inline __attribute__((always_inline)) __m512 softmax_keys(float const *scores, size_t length, float scale, char *pairs) {
    __m512 largest = _mm512_load_ps(scores), second = largest;
    size_t key = 1;
    for (; key + 2 <= length; key += 2) {
        largest = _mm512_max_ps(_mm512_load_ps(scores + key * 16), largest);
        second = _mm512_max_ps(_mm512_load_ps(scores + key * 16 + 16), second);
    }
    if (key < length) largest = _mm512_max_ps(_mm512_load_ps(scores + key * 16), largest);
    __m512 const factor = _mm512_set1_ps(scale * 1.44269504f);
    __m512 const offset = _mm512_mul_ps(_mm512_max_ps(largest, second), factor);
    __m512i const interleave = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
        21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512 even_sum = _mm512_setzero_ps(), odd_sum = _mm512_setzero_ps();
    size_t const pair_count = round_up(length, 32) / 2;
    for (size_t pair = 0; pair < length / 2; ++pair) {
        __m512 const even = exp2_fast(_mm512_fmsub_ps(_mm512_load_ps(scores + pair * 32), factor, offset));
        __m512 const odd = exp2_fast(_mm512_fmsub_ps(_mm512_load_ps(scores + pair * 32 + 16), factor, offset));
        even_sum = _mm512_add_ps(even_sum, even);
        odd_sum = _mm512_add_ps(odd_sum, odd);
        __m512i const packed = (__m512i)_mm512_cvtne2ps_pbh(odd, even);
        _mm512_store_si512(pairs + pair * 64, _mm512_permutexvar_epi16(interleave, packed));
    }
    size_t pair = length / 2;
    if (length % 2) {
        __m512 const even = exp2_fast(_mm512_fmsub_ps(_mm512_load_ps(scores + pair * 32), factor, offset));
        even_sum = _mm512_add_ps(even_sum, even);
        __m512i const packed = (__m512i)_mm512_cvtne2ps_pbh(_mm512_setzero_ps(), even);
        _mm512_store_si512(pairs + pair++ * 64, _mm512_permutexvar_epi16(interleave, packed));
    }
    for (; pair < pair_count; ++pair) _mm512_store_si512(pairs + pair * 64, _mm512_setzero_si512());
    return _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_add_ps(even_sum, odd_sum));
}

typedef struct attention_scratch_t {
    char *queries, *values, *scores, *pairs, *weights, *outputs, *factors;
} attention_scratch_t;

static attention_scratch_t divide_scratch(uform_attention_call_t const *call) {
    size_t const keys = round_up(call->length, 32);
    attention_scratch_t scratch;
    scratch.queries = call->scratch;
    scratch.values = scratch.queries + call->head_width / 32 * tile_bytes_k;
    scratch.scores = scratch.values + keys / 32 * (call->head_width / 16) * tile_bytes_k;
    scratch.pairs = scratch.scores + keys * 64;
    scratch.weights = scratch.pairs + keys / 2 * 64;
    scratch.outputs = scratch.weights + keys / 32 * tile_bytes_k;
    scratch.factors = scratch.outputs + 2 * tile_bytes_k;
    return scratch;
}

// scores[key][query] of 16 queries: keys are the left operand as they lie, queries the right one, transposed.
static inline void multiply_scores(
    char const *keys, size_t stride, size_t length, size_t panels, attention_scratch_t const *scratch) {
    size_t key = 0;
    for (; key + 32 <= round_up(length, 16); key += 32) {
        _tile_zero(0);
        _tile_zero(1);
        for (size_t panel = 0; panel < panels; ++panel) {
            _tile_loadd(6, scratch->queries + panel * tile_bytes_k, 64);
            _tile_loadd(4, keys + panel * stride + key * 64, 64);
            _tile_loadd(5, keys + panel * stride + key * 64 + tile_bytes_k, 64);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 5, 6);
        }
        _tile_stored(0, scratch->scores + key * 64, 64);
        _tile_stored(1, scratch->scores + key * 64 + tile_bytes_k, 64);
    }
    if (key < length) {
        _tile_zero(0);
        for (size_t panel = 0; panel < panels; ++panel) {
            _tile_loadd(6, scratch->queries + panel * tile_bytes_k, 64);
            _tile_loadd(4, keys + panel * stride + key * 64, 64);
            _tile_dpbf16ps(0, 4, 6);
        }
        _tile_stored(0, scratch->scores + key * 64, 64);
    }
}

// outputs[query][32 dimensions] = weights x values, divided by the sums of the weights.
static inline void multiply_values(attention_scratch_t const *scratch, size_t length, size_t panel, size_t panels,
    char *output, size_t rows) {
    _tile_zero(0);
    _tile_zero(1);
    for (size_t step = 0; step < round_up(length, 32) / 32; ++step) {
        char const *values = scratch->values + (step * panels + panel) * 2 * tile_bytes_k;
        _tile_loadd(4, scratch->weights + step * tile_bytes_k, 64);
        _tile_loadd(6, values, 64);
        _tile_loadd(7, values + tile_bytes_k, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
    }
    _tile_stored(0, scratch->outputs, 64);
    _tile_stored(1, scratch->outputs + tile_bytes_k, 64);
    for (size_t row = 0; row < rows; ++row) {
        __m512 const factor = _mm512_set1_ps(((float const *)scratch->factors)[row]);
        __m512 const low = _mm512_mul_ps(_mm512_load_ps(scratch->outputs + row * 64), factor);
        __m512 const high = _mm512_mul_ps(_mm512_load_ps(scratch->outputs + tile_bytes_k + row * 64), factor);
        _mm512_store_si512(output + row * 64, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
}

static void attend(uform_attention_call_t const *call) {
    size_t const panels = call->head_width / 32, length = call->length;
    attention_scratch_t const scratch = divide_scratch(call);
    configure_tiles();
    for (size_t head = 0; head < call->heads; ++head) {
        size_t const panel = head * panels, first = call->row_begin * 64;
        char const *queries = (char const *)call->queries.data + panel * call->queries.stride_bytes + first;
        char const *keys = (char const *)call->keys.data + panel * call->keys.stride_bytes + first;
        char const *values = (char const *)call->values.data + panel * call->values.stride_bytes + first;
        char *outputs = (char *)call->outputs.data + panel * call->outputs.stride_bytes + first;
        pack_values(values, call->values.stride_bytes, length, panels, scratch.values);
        for (size_t row = 0; row < length; row += 16) {
            for (size_t part = 0; part < panels; ++part)
                transpose_16x16(queries + part * call->queries.stride_bytes + row * 64, 64, scratch.queries + part * tile_bytes_k);
            multiply_scores(keys, call->keys.stride_bytes, length, panels, &scratch);
            __m512 const factors = softmax_keys((float const *)scratch.scores, length, call->scale, scratch.pairs);
            _mm512_store_ps(scratch.factors, factors);
            for (size_t step = 0; step < round_up(length, 32) / 32; ++step)
                transpose_16x16(scratch.pairs + step * tile_bytes_k, 64, scratch.weights + step * tile_bytes_k);
            for (size_t part = 0; part < panels; ++part)
                multiply_values(&scratch, length, part, panels, outputs + part * call->outputs.stride_bytes + row * 64,
                    length - row < 16 ? length - row : 16);
        }
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

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else

uform_kernels_t const uform_kernels_intel_sapphire_table_ = {.compiled = false};

#endif
