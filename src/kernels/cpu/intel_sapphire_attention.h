/**
 *  Attention of class `intel_sapphire`, 16 queries at a time and transposed: scores[key][query] = K Q^T, so that the softmax
 *  runs down the keys with sixteen queries side by side: no horizontal sums, no masks. Its weights are packed in pairs
 *  of keys, transposed to [query][key] tiles, and multiplied with V.
 *
 *  A part of intel_sapphire.c, over its tiles and its vocabulary.
 */
#ifndef UFORM_KERNELS_CPU_INTEL_SAPPHIRE_ATTENTION_H
#define UFORM_KERNELS_CPU_INTEL_SAPPHIRE_ATTENTION_H

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

// Both multiplications keep four sums going, two tiles by two, where there are as many: one needs the last one's result
// only after three others, and each tile that is loaded is multiplied twice.

// scores[key][query] of two tiles of queries and one or two of keys: keys are the left operand as they lie, queries the
// right one, transposed.
static inline __attribute__((always_inline)) void multiply_scores_at(
    char const *keys, size_t stride, size_t panels, query_tile_t const *tiles, size_t key, bool two_keys) {
    _tile_zero(0);
    _tile_zero(1);
    if (two_keys) _tile_zero(2);
    if (two_keys) _tile_zero(3);
    for (size_t panel = 0; panel < panels; ++panel) {
        char const *const left = keys + panel * stride + key * 64;
        _tile_loadd(4, left, 64);
        _tile_loadd(6, tiles[0].queries + panel * tile_bytes_k, 64);
        _tile_loadd(7, tiles[1].queries + panel * tile_bytes_k, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        if (two_keys) {
            _tile_loadd(5, left + tile_bytes_k, 64);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, tiles[0].scores + key * 64, 64);
    _tile_stored(1, tiles[1].scores + key * 64, 64);
    if (two_keys) {
        _tile_stored(2, tiles[0].scores + key * 64 + tile_bytes_k, 64);
        _tile_stored(3, tiles[1].scores + key * 64 + tile_bytes_k, 64);
    }
}

static void multiply_scores(char const *keys, size_t stride, size_t length, size_t panels, query_tile_t const *tiles) {
    size_t key = 0;
    for (; key + 16 < length; key += 32) multiply_scores_at(keys, stride, panels, tiles, key, true);
    if (key < length) multiply_scores_at(keys, stride, panels, tiles, key, false);
}

// outputs[query][dimension] = weights x values, of one or two tiles of queries.
static inline __attribute__((always_inline)) void multiply_values(
    query_tile_t const *tiles, bool two_tiles, char const *values, size_t steps, size_t panels) {
    for (size_t panel = 0; panel < panels; ++panel) {
        _tile_zero(0);
        _tile_zero(1);
        if (two_tiles) _tile_zero(2);
        if (two_tiles) _tile_zero(3);
        for (size_t step = 0; step < steps; ++step) {
            char const *right = values + (step * panels + panel) * 2 * tile_bytes_k;
            _tile_loadd(4, tiles[0].scores + step * tile_bytes_k, 64);
            _tile_loadd(6, right, 64);
            _tile_dpbf16ps(0, 4, 6);
            _tile_loadd(7, right + tile_bytes_k, 64);
            _tile_dpbf16ps(1, 4, 7);
            if (two_tiles) {
                _tile_loadd(5, tiles[1].scores + step * tile_bytes_k, 64);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
        }
        size_t const place = panel * 2 * tile_bytes_k;
        _tile_stored(0, tiles[0].outputs + place, 64);
        _tile_stored(1, tiles[0].outputs + place + tile_bytes_k, 64);
        if (two_tiles) {
            _tile_stored(2, tiles[1].outputs + place, 64);
            _tile_stored(3, tiles[1].outputs + place + tile_bytes_k, 64);
        }
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
    float const *bias; // of no distance; NULL for none
} head_t;

// Queries of a tile that begins at query `begin` don't see the keys that come after them.
static inline void hide_keys(query_tile_t const *tile, size_t begin, size_t visible) {
    float *scores = (float *)tile->scores + begin * 16;
    for (size_t key = begin; key < visible; ++key, scores += 16)
        _mm512_mask_store_ps(scores, (__mmask16)((1u << (key - begin)) - 1u), _mm512_set1_ps(hidden_score));
}

// Adds what distances of a tile's queries, the first of which is query `begin`, to the first `visible` keys add to the scores;
// `bias` is that of no distance.
static inline void add_bias(query_tile_t const *tile, size_t begin, size_t visible, float const *bias) {
    __m512i const reversed = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    float *scores = (float *)tile->scores;
    float const *last = bias - begin - 15; // of the tile's last query
    for (size_t key = 0; key < visible; ++key, scores += 16, ++last)
        _mm512_store_ps(
            scores, _mm512_add_ps(_mm512_load_ps(scores), _mm512_permutexvar_ps(reversed, _mm512_loadu_ps(last))));
}

// Up to two tiles of queries, from the text's query `begin` on.
static void attend_group(uform_attention_call_t const *call, head_t const *head, char const *values,
    query_tile_t const *tiles, size_t begin, size_t query_end) {
    size_t const panels = call->head_width / 32, length = call->length;
    size_t const tile_count = query_end - begin > 16 ? 2 : 1;
    size_t visible[group_tiles_k]; // keys each tile sees
    for (size_t i = 0; i < group_tiles_k; ++i) {
        size_t const end = begin + (i + 1) * 16;
        visible[i] = call->causal && end < length ? end : length;
    }
    for (size_t i = 0; i < tile_count; ++i)
        for (size_t panel = 0; panel < panels; ++panel)
            transpose_16x16(head->queries + panel * call->queries.stride_bytes + (begin + i * 16) * 64, 64,
                tiles[i].queries + panel * tile_bytes_k);
    multiply_scores(head->keys, call->keys.stride_bytes, visible[tile_count - 1], panels, tiles);
    size_t const steps = round_up(visible[tile_count - 1], 32) / 32;
    for (size_t i = 0; i < tile_count; ++i) {
        if (head->bias) add_bias(&tiles[i], begin + i * 16, visible[i], head->bias);
        if (call->causal) hide_keys(&tiles[i], begin + i * 16, visible[i]);
        softmax_keys(&tiles[i], visible[i], call->scale);
        // What the second tile alone sees has no weight for the first.
        size_t const seen = round_up(visible[i], 32) / 32;
        memset(tiles[i].scores + seen * tile_bytes_k, 0, (steps - seen) * tile_bytes_k);
    }
    if (tile_count > 1) multiply_values(tiles, true, values, steps, panels);
    else multiply_values(tiles, false, values, steps, panels);
    for (size_t i = 0; i < tile_count; ++i) {
        size_t const row = begin + i * 16, rows = query_end - row < 16 ? query_end - row : 16;
        write_outputs(&tiles[i], panels, head->outputs + row * 64, call->outputs.stride_bytes, rows);
    }
}

static void attend_head(uform_attention_call_t const *call, head_t const *head) {
    size_t const query_end = call->query_count ? call->query_begin + call->query_count : call->length;
    size_t const panels = call->head_width / 32, keys = round_up(call->length, 32);
    char *const values = call->scratch, *const tile_memory = values + keys / 32 * panels * 2 * tile_bytes_k;
    query_tile_t tiles[group_tiles_k];
    for (size_t i = 0; i < group_tiles_k; ++i)
        tiles[i] = divide_tile(tile_memory + i * query_tile_bytes(keys, call->head_width), keys, call->head_width);
    pack_values(head->values, call->values.stride_bytes, call->length, panels, values);
    for (size_t begin = call->query_begin; begin < query_end; begin += 16 * group_tiles_k)
        attend_group(call, head, values, tiles, begin, query_end);
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
            .bias = call->bias ? call->bias + index * call->bias_stride : NULL,
        };
        attend_head(call, &head);
    }
    _tile_release();
}

#endif
