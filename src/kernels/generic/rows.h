/**
 *  Row normalisation and embedding look-up over the vector vocabulary, for either scalar.
 *
 *  Rows are taken four at a time: their lines are neighbours in every panel, and their sums don't wait for each
 *  other.
 */
#ifndef UFORM_KERNELS_GENERIC_ROWS_H
#define UFORM_KERNELS_GENERIC_ROWS_H

#include <math.h>

#include "kernels/kernels.h"

enum {
    rows_at_once_k = 4,
    rows_unit_k = 32, ///< columns of a unit
    rows_unit_vectors_k = rows_unit_k / vector_lanes_k,
};

UFORM_INLINED char *rows_f32_at(uform_panels_t const *panels, size_t row, size_t column) {
    return (char *)panels->data + column / vector_line_k * panels->stride_bytes + row * 64 +
           column % vector_line_k * sizeof(float);
}

UFORM_INLINED char *rows_bf16_at(uform_panels_t const *panels, size_t row, size_t column) {
    size_t const lane = 2 * vector_line_k;
    return (char *)panels->data + column / lane * panels->stride_bytes + row * 64 + column % lane * sizeof(uint16_t);
}

/// A few rows being normalised, and how far: units of two panels, which make one line of bf16.
typedef struct rows_walk_t {
    uform_normalize_call_t const *call;
    size_t row;
    char *unit;    ///< the first row's line in the unit's first panel
    size_t column; ///< first one of the unit
    vector_t sums[rows_at_once_k], means[rows_at_once_k], squares[rows_at_once_k], factors[rows_at_once_k];
} rows_walk_t;

/// One pass over one unit; in the last one only the first `width` columns may count.
typedef void (*rows_pass_t)(rows_walk_t *walk, size_t count, bool masked, bool bf16);

/// Vector `v` of a unit in the walk's row `r`.
UFORM_INLINED char *rows_unit_at(rows_walk_t const *walk, size_t v, size_t r) {
    return walk->unit + v * vector_lanes_k / vector_line_k * walk->call->residual.stride_bytes +
           v * vector_lanes_k % vector_line_k * sizeof(float) + r * 64;
}

/// `x`, or zeros beyond the real width.
UFORM_INLINED vector_t rows_within(rows_walk_t const *walk, size_t v, vector_t x, bool masked) {
    size_t const column = walk->column + v * vector_lanes_k, width = walk->call->width;
    return masked ? vector_select(vector_first(column < width ? width - column : 0), x, vector_zero()) : x;
}

UFORM_INLINED void rows_pass_sums(rows_walk_t *walk, size_t count, bool masked, bool bf16) {
    (void)bf16;
    UFORM_UNROLLED
    for (size_t v = 0; v < rows_unit_vectors_k; ++v) {
        UFORM_UNROLLED
        for (size_t r = 0; r < count; ++r)
            walk->sums[r] =
                vector_add(walk->sums[r], rows_within(walk, v, vector_load(rows_unit_at(walk, v, r)), masked));
    }
}

UFORM_INLINED void rows_pass_squares(rows_walk_t *walk, size_t count, bool masked, bool bf16) {
    (void)bf16;
    UFORM_UNROLLED
    for (size_t v = 0; v < rows_unit_vectors_k; ++v) {
        UFORM_UNROLLED
        for (size_t r = 0; r < count; ++r) {
            vector_t const x = vector_load(rows_unit_at(walk, v, r));
            vector_t const difference = rows_within(walk, v, vector_subtract(x, walk->means[r]), masked);
            walk->squares[r] = vector_fma(difference, difference, walk->squares[r]);
        }
    }
}

/// Normalises, rounds, stores; the padding becomes zeros even in a row of NaNs.
UFORM_INLINED void rows_pass_store(rows_walk_t *walk, size_t count, bool masked, bool bf16) {
    uform_normalize_call_t const *const call = walk->call;
    UFORM_UNROLLED
    for (size_t v = 0; v < rows_unit_vectors_k; v += 2) {
        size_t const column = walk->column + v * vector_lanes_k;
        vector_t gain[2], shift[2], bias[2], y[2];
        UFORM_UNROLLED
        for (size_t i = 0; i < 2; ++i) {
            size_t const first = column + i * vector_lanes_k;
            gain[i] = vector_load(call->gain + first), shift[i] = vector_load(call->shift + first);
            bias[i] = call->next_bias ? vector_load(call->next_bias + first) : vector_zero();
        }
        UFORM_UNROLLED
        for (size_t r = 0; r < count; ++r) {
            UFORM_UNROLLED
            for (size_t i = 0; i < 2; ++i) {
                char *const place = rows_unit_at(walk, v + i, r);
                vector_t const x = vector_load(place), centred = vector_subtract(x, walk->means[r]);
                y[i] = rows_within(
                    walk, v + i, vector_fma(vector_multiply(centred, walk->factors[r]), gain[i], shift[i]), masked);
                vector_t const kept = call->keep ? rows_within(walk, v + i, x, masked) : y[i];
                vector_store(place, vector_add(kept, bias[i]));
                vector_prefetch_near(place + count * 64);
                if (!bf16) vector_store(rows_f32_at(&call->outputs, walk->row + r, column + i * vector_lanes_k), y[i]);
            }
            if (bf16) vector_store_bf16(rows_bf16_at(&call->outputs, walk->row + r, column), y[0], y[1]);
        }
    }
}

UFORM_INLINED void rows_pass(rows_walk_t *walk, size_t count, bool bf16, rows_pass_t pass) {
    uform_panels_t const *const residual = &walk->call->residual;
    size_t const width = walk->call->width;
    walk->unit = (char *)residual->data + walk->row * 64;
    for (walk->column = 0; walk->column + rows_unit_k <= width; walk->column += rows_unit_k) {
        pass(walk, count, false, bf16);
        walk->unit += rows_unit_k / vector_line_k * residual->stride_bytes;
    }
    if (walk->column < width) pass(walk, count, true, bf16);
}

UFORM_INLINED void rows_normalize_few(uform_normalize_call_t const *call, size_t row, size_t count, bool bf16) {
    rows_walk_t walk = {.call = call, .row = row};
    float const width = (float)call->width;
    UFORM_UNROLLED
    for (size_t r = 0; r < count; ++r) walk.sums[r] = walk.squares[r] = vector_zero();
    if (!call->root_mean_square) rows_pass(&walk, count, bf16, rows_pass_sums);
    UFORM_UNROLLED
    for (size_t r = 0; r < count; ++r) walk.means[r] = vector_set(vector_sum(walk.sums[r]) / width);
    rows_pass(&walk, count, bf16, rows_pass_squares);
    UFORM_UNROLLED
    for (size_t r = 0; r < count; ++r)
        walk.factors[r] = vector_set(1.0f / sqrtf(vector_sum(walk.squares[r]) / width + call->epsilon));
    rows_pass(&walk, count, bf16, rows_pass_store);
}

UFORM_INLINED void rows_normalize(uform_normalize_call_t const *call, bool bf16) {
    size_t row = 0;
    for (; row + rows_at_once_k <= call->rows; row += rows_at_once_k)
        rows_normalize_few(call, row, rows_at_once_k, bf16);
    for (; row < call->rows; ++row) rows_normalize_few(call, row, 1, bf16);
}

UFORM_INLINED vector_t rows_table_load(char const *row, size_t column, bool bf16) {
    return bf16 ? vector_load_bf16(row + column * sizeof(uint16_t)) : vector_load(row + column * sizeof(float));
}

UFORM_INLINED void rows_lookup(uform_lookup_call_t const *call, bool bf16) {
    size_t const padded = (call->width + uform_width_step_k - 1) / uform_width_step_k * uform_width_step_k;
    size_t const stride = padded * (bf16 ? sizeof(uint16_t) : sizeof(float));
    for (size_t row = 0; row < call->rows; ++row) {
        char const *const words = (char const *)call->words + call->ids[row] * stride;
        char const *const types = call->types ? (char const *)call->types + call->type_ids[row] * stride : NULL;
        char const *const positions =
            call->positions ? (char const *)call->positions + call->position_ids[row] * stride : NULL;
        for (size_t column = 0; column < padded; column += vector_lanes_k) {
            vector_t sum = rows_table_load(words, column, bf16);
            if (types) sum = vector_add(sum, rows_table_load(types, column, bf16));
            if (positions) sum = vector_add(sum, rows_table_load(positions, column, bf16));
            size_t const left = column < call->width ? call->width - column : 0;
            vector_store(
                rows_f32_at(&call->residual, row, column), vector_select(vector_first(left), sum, vector_zero()));
        }
    }
}

/// A line of the group's scalar: 64 bytes of one row, as vectors.
enum { rows_line_vectors_k = 2 * vector_line_k / vector_lanes_k };

UFORM_INLINED void rows_line_load(char const *line, vector_t *vectors, bool bf16) {
    size_t const count = bf16 ? rows_line_vectors_k : rows_line_vectors_k / 2;
    UFORM_UNROLLED
    for (size_t v = 0; v < count; ++v) vectors[v] = rows_table_load(line, v * vector_lanes_k, bf16);
}

UFORM_INLINED void rows_line_store(char *line, vector_t const *vectors, bool bf16) {
    if (bf16) {
        UFORM_UNROLLED
        for (size_t v = 0; v < rows_line_vectors_k; v += 2)
            vector_store_bf16(line + v * vector_lanes_k * sizeof(uint16_t), vectors[v], vectors[v + 1]);
    } else {
        UFORM_UNROLLED
        for (size_t v = 0; v < rows_line_vectors_k / 2; ++v)
            vector_store(line + v * vector_lanes_k * sizeof(float), vectors[v]);
    }
}

UFORM_INLINED void rows_gate(uform_gate_call_t const *call, bool bf16) {
    size_t const panels = call->width / (bf16 ? 2 * vector_line_k : vector_line_k);
    size_t const count = bf16 ? rows_line_vectors_k : rows_line_vectors_k / 2;
    for (size_t panel = 0; panel < panels; ++panel) {
        char *inner = (char *)call->inner.data + panel * call->inner.stride_bytes;
        char const *gates = (char const *)call->gates.data + panel * call->gates.stride_bytes;
        for (size_t row = 0; row < call->rows; ++row, inner += 64, gates += 64) {
            vector_t a[rows_line_vectors_k], b[rows_line_vectors_k];
            rows_line_load(inner, a, bf16), rows_line_load(gates, b, bf16);
            UFORM_UNROLLED
            for (size_t v = 0; v < count; ++v) a[v] = vector_multiply(a[v], b[v]);
            rows_line_store(inner, a, bf16);
        }
    }
}

/// Normalises one row's head, whose panels are `stride` bytes apart.
UFORM_INLINED void rows_normalize_head(uform_normalize_heads_call_t const *call, char *lines, bool bf16) {
    size_t const count = bf16 ? rows_line_vectors_k : rows_line_vectors_k / 2, lane = count * vector_lanes_k;
    size_t const stride = call->panels.stride_bytes;
    vector_t x[rows_line_vectors_k], squares = vector_zero();
    for (size_t i = 0; i < call->head_width / lane; ++i) {
        rows_line_load(lines + i * stride, x, bf16);
        UFORM_UNROLLED
        for (size_t v = 0; v < count; ++v) squares = vector_fma(x[v], x[v], squares);
    }
    vector_t const factor = vector_set(1.0f / sqrtf(vector_sum(squares) / (float)call->width + call->epsilon));
    for (size_t i = 0; i < call->head_width / lane; ++i) {
        rows_line_load(lines + i * stride, x, bf16);
        UFORM_UNROLLED
        for (size_t v = 0; v < count; ++v) {
            vector_t const gain = vector_load(call->gain + i * lane + v * vector_lanes_k);
            x[v] = vector_multiply(vector_multiply(x[v], factor), gain);
        }
        rows_line_store(lines + i * stride, x, bf16);
    }
}

UFORM_INLINED void rows_normalize_heads(uform_normalize_heads_call_t const *call, bool bf16) {
    size_t const head_panels = call->head_width / (bf16 ? 2 * vector_line_k : vector_line_k);
    for (size_t head = 0; head < call->heads; ++head) {
        char *const lines = (char *)call->panels.data + head * head_panels * call->panels.stride_bytes;
        for (size_t row = 0; row < call->rows; ++row) rows_normalize_head(call, lines + row * 64, bf16);
    }
}

/// Turns the pairs of one line of a head's first half and the same line of its second one.
UFORM_INLINED void rows_rotate_line(char *first, char *second, float const *cosines, float const *sines, bool bf16) {
    size_t const count = bf16 ? rows_line_vectors_k : rows_line_vectors_k / 2;
    vector_t a[rows_line_vectors_k], b[rows_line_vectors_k];
    rows_line_load(first, a, bf16), rows_line_load(second, b, bf16);
    UFORM_UNROLLED
    for (size_t v = 0; v < count; ++v) {
        vector_t const cosine = vector_load(cosines + v * vector_lanes_k),
                       sine = vector_load(sines + v * vector_lanes_k);
        vector_t const turned = vector_subtract(vector_multiply(a[v], cosine), vector_multiply(b[v], sine));
        b[v] = vector_fma(b[v], cosine, vector_multiply(a[v], sine));
        a[v] = turned;
    }
    rows_line_store(first, a, bf16), rows_line_store(second, b, bf16);
}

UFORM_INLINED void rows_rotate(uform_rotate_call_t const *call, bool bf16) {
    size_t const lane = bf16 ? 2 * vector_line_k : vector_line_k, half = call->head_width / 2;
    size_t const stride = call->panels.stride_bytes;
    for (size_t head = 0; head < call->heads; ++head)
        for (size_t column = 0; column < half; column += lane) {
            char *first =
                (char *)call->panels.data + (head * call->head_width + column) / lane * stride + call->row_begin * 64;
            for (size_t row = 0; row < call->rows; ++row, first += 64)
                rows_rotate_line(first, first + half / lane * stride, call->cosines + row * half + column,
                    call->sines + row * half + column, bf16);
        }
}

#endif
