/**
 *  The pass of a ragged batch through all layers: a panel of tokens whose activations stay in the core's own cache.
 *
 *  Scratch, every buffer in panels of `capacity` rows (see kernels.h):
 *
 *      residual     f32     [rows, width]                    the stream every layer adds to
 *      hidden       scalar  [rows, width]                    the same, normalised and rounded: what is multiplied
 *      projections  scalar  [rows, 3 * heads * head_width]   queries, keys, values; before the layers, patches' numbers
 *      attended     scalar  [rows, heads * head_width]
 *      inner        scalar  [rows, stretch]                  a stretch of the feed-forward layer
 *      gates        scalar  [rows, stretch]                  likewise, where there is a gate
 *
 *  The feed-forward layer goes stretch by stretch: up, activation, down into the residual, so that its wide middle never
 *  leaves the second-level cache. Both multiplications into the residual start from what it holds, so adding costs
 *  nothing; their biases are added by the norm before.
 *
 *  Several threads may run a batch together. Every one goes through all steps, takes its own share of each - columns of
 *  multiplications, heads of texts, rows of what is left - and meets the others behind it. There is one stretch then,
 *  the whole layer, so that they meet twice in it. Shares never change the order in which an element is summed: `down` goes
 *  by the same chunks of depth whoever computes it.
 *
 *  Where the pooling takes a single token, the last layer computes keys and values of all of them and the rest of that one.
 */
#include "models/encoder.h"

#include <string.h>

#include "models/encoder_positions.h"

enum { chunk_columns_k = 384 };

typedef struct pass_t {
    uform_encoder_t const *encoder;
    uform_batch_t const *batch;
    uform_member_t const *member;
    uform_gemm_t const *gemm;
    uform_attention_t const *attention;
    uform_rows_t const *kernels;
    size_t rows;     // that are passed on: one a text once no others count
    size_t capacity; // rows a panel has room for
    size_t lane;     // elements of the scalar in a line
    uform_panels_t residual, hidden, projections, attended, inner, gates;
    float *cosines, *sines; // [rows, head_width / 2] of images on unusual grids
} pass_t;

// What a member does of a step: elements [begin, end) of something.
typedef struct share_t {
    size_t begin, end;
} share_t;

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

// One step more than needed, since attention reads past the last text; an odd number of steps, since the panels of
// one row would else compete for the same lines of the cache.
static size_t row_capacity(size_t rows) {
    size_t const steps = (rows + uform_row_step_k - 1) / uform_row_step_k + 1;
    return (steps | 1) * uform_row_step_k;
}

static size_t chunk_columns(uform_encoder_t const *encoder) {
    return encoder->feed_forward_width < chunk_columns_k ? encoder->feed_forward_width : chunk_columns_k;
}

static size_t lane_of(uform_encoder_t const *encoder) {
    return encoder->precision == uform_scalar_f32_k ? 16 : 32;
}

// Columns of the feed-forward layer that are there at once.
static size_t stretch_columns(uform_encoder_t const *encoder, size_t members) {
    return members > 1 ? encoder->feed_forward_width : chunk_columns(encoder);
}

static uform_attention_t const *attention_of(uform_encoder_t const *encoder, uform_kernels_t const *kernels) {
    return encoder->precision == uform_scalar_f32_k ? kernels->attention_f32 : kernels->attention_bf16;
}

static bool is_rotated(uform_encoder_t const *encoder) {
    return encoder->architecture->positions_kind == uform_positions_rotary_k;
}

// Panels over one row's worth of every buffer.
static size_t panel_count(uform_encoder_t const *encoder, size_t members) {
    size_t const lane = lane_of(encoder), heads_width = encoder->sizes.heads * encoder->head_width;
    size_t const stretches = encoder->sizes.gated ? 2 : 1;
    return encoder->width / 16 +
           (encoder->width + 4 * heads_width + stretches * stretch_columns(encoder, members)) / lane;
}

// Of cosines, and of sines.
static size_t angle_bytes(uform_encoder_t const *encoder, size_t rows) {
    return is_rotated(encoder) ? rows * encoder->head_width / 2 * sizeof(float) : 0;
}

size_t uform_encoder_member_bytes_(uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t longest) {
    size_t const bytes = larger(
        encoder->gemm->scratch_bytes, attention_of(encoder, kernels)->scratch_bytes(longest, encoder->head_width));
    return (bytes + 63) / 64 * 64;
}

size_t uform_encoder_scratch_bytes_(uform_encoder_t const *encoder, size_t rows, size_t members) {
    return 2 * angle_bytes(encoder, rows) + panel_count(encoder, members) * row_capacity(rows) * 64;
}

// The member's part of [begin, end), cut at multiples of `step`.
static share_t share_of(pass_t const *pass, size_t begin, size_t end, size_t step) {
    size_t const steps = (end - begin + step - 1) / step, count = pass->member->team->count;
    size_t const first = begin + steps * pass->member->index / count * step;
    size_t const last = begin + steps * (pass->member->index + 1) / count * step;
    return (share_t){first < end ? first : end, last < end ? last : end};
}

// Whether the member does what isn't worth dividing.
static bool leads(pass_t const *pass) {
    return pass->member->index == 0;
}

static void meet(pass_t const *pass) {
    uform_team_meet_(pass->member->team);
}

static uform_panels_t take_panels(pass_t const *pass, char **free_memory, size_t panels) {
    uform_panels_t const result = {*free_memory, pass->capacity * 64};
    *free_memory += panels * result.stride_bytes;
    return result;
}

static uform_panels_t panels_from(uform_panels_t panels, size_t first) {
    return (uform_panels_t){(char *)panels.data + first * panels.stride_bytes, panels.stride_bytes};
}

static char *line_at(uform_panels_t panels, size_t panel, size_t row) {
    return (char *)panels.data + panel * panels.stride_bytes + row * 64;
}

// The same matrix without its first rows.
static uform_panels_t rows_from(uform_panels_t panels, size_t first) {
    return (uform_panels_t){(char *)panels.data + first * 64, panels.stride_bytes};
}

static pass_t begin_pass(uform_encoder_t const *encoder, uform_kernels_t const *kernels, uform_batch_t const *batch,
    uform_member_t const *member, void *scratch) {
    size_t const heads_width = encoder->sizes.heads * encoder->head_width;
    size_t const stretch = stretch_columns(encoder, member->team->count);
    pass_t pass = {
        .encoder = encoder,
        .batch = batch,
        .member = member,
        .gemm = encoder->gemm,
        .attention = attention_of(encoder, kernels),
        .kernels = encoder->precision == uform_scalar_f32_k ? kernels->rows_f32 : kernels->rows_bf16,
        .rows = batch->row_count,
        .capacity = row_capacity(batch->row_count),
        .lane = lane_of(encoder),
    };
    char *free_memory = scratch;
    pass.cosines = (float *)free_memory;
    pass.sines = (float *)(free_memory + angle_bytes(encoder, batch->row_count));
    free_memory += 2 * angle_bytes(encoder, batch->row_count);
    pass.residual = take_panels(&pass, &free_memory, encoder->width / 16);
    pass.hidden = take_panels(&pass, &free_memory, encoder->width / pass.lane);
    pass.projections = take_panels(&pass, &free_memory, 3 * heads_width / pass.lane);
    pass.attended = take_panels(&pass, &free_memory, heads_width / pass.lane);
    pass.inner = take_panels(&pass, &free_memory, stretch / pass.lane);
    if (encoder->sizes.gated) pass.gates = take_panels(&pass, &free_memory, stretch / pass.lane);
    return pass;
}

static void look_up(pass_t const *pass) {
    share_t const share = share_of(pass, 0, pass->rows, uform_row_step_k);
    uform_lookup_call_t const call = {
        .words = pass->encoder->words,
        .positions = pass->encoder->positions,
        .types = pass->encoder->types,
        .ids = pass->batch->ids + share.begin,
        .position_ids = pass->batch->position_ids + share.begin,
        .type_ids = pass->batch->type_ids + share.begin,
        .rows = share.end - share.begin,
        .width = pass->encoder->sizes.width,
        .residual = rows_from(pass->residual, share.begin),
    };
    if (call.rows) pass->kernels->lookup(&call);
    meet(pass);
}

static void normalize(pass_t const *pass, uform_norm_t const *norm, float const *next_bias, bool keep) {
    share_t const share = share_of(pass, 0, pass->rows, uform_row_step_k);
    uform_normalize_call_t const call = {
        .residual = rows_from(pass->residual, share.begin),
        .outputs = rows_from(pass->hidden, share.begin),
        .rows = share.end - share.begin,
        .width = pass->encoder->sizes.width,
        .epsilon = pass->encoder->sizes.norm_epsilon,
        .gain = norm->gain,
        .shift = norm->shift,
        .next_bias = next_bias,
        .keep = keep,
    };
    if (call.rows) pass->kernels->normalize(&call);
    meet(pass);
}

// The member's columns of a product over the whole depth.
static uform_gemm_call_t shared_product(
    pass_t const *pass, uform_linear_t const *linear, share_t share, uform_panels_t inputs) {
    return (uform_gemm_call_t){
        .inputs = inputs,
        .weights = linear->weights,
        .columns = linear->columns,
        .depth = linear->depth,
        .column_begin = share.begin,
        .column_end = share.end,
        .depth_end = linear->depth,
        .rows = pass->rows,
        .bias = linear->bias,
        .activation = uform_activation_identity_k,
        .scratch = pass->member->scratch,
    };
}

static share_t share_of_columns(pass_t const *pass, size_t begin, size_t end) {
    return share_of(pass, begin, end, larger(pass->gemm->column_step, uform_width_step_k));
}

static void multiply(pass_t const *pass, uform_gemm_call_t const *call) {
    if (call->column_begin < call->column_end) pass->gemm->multiply(call);
}

// Columns [begin, end) of a product with the hidden state.
static void project(
    pass_t const *pass, uform_linear_t const *linear, size_t begin, size_t end, uform_panels_t outputs) {
    uform_gemm_call_t call = shared_product(pass, linear, share_of_columns(pass, begin, end), pass->hidden);
    call.outputs = outputs;
    multiply(pass, &call);
    meet(pass);
}

// Adds the product over a part of the depth to the residual, whose columns are the same member's in all parts.
static void add_product(
    pass_t const *pass, uform_linear_t const *linear, size_t depth_begin, size_t depth_end, uform_panels_t inputs) {
    share_t const share = share_of_columns(pass, 0, linear->columns);
    uform_gemm_call_t call = shared_product(pass, linear, share, inputs);
    call.depth_begin = depth_begin, call.depth_end = depth_end;
    call.accumulate = true;
    call.outputs = pass->residual;
    multiply(pass, &call);
}

// Panels of a part of a matrix that are numbered as those of the whole one, which is never there.
static uform_panels_t numbered_from(pass_t const *pass, uform_panels_t panels, size_t column) {
    return (uform_panels_t){
        (char *)((uintptr_t)panels.data - column / pass->lane * panels.stride_bytes), panels.stride_bytes};
}

// Copies rows of floats, [rows, width], into the residual.
static void set_residual(pass_t const *pass, size_t row_begin, size_t rows, float const *floats) {
    size_t const width = pass->encoder->width;
    for (size_t panel = 0; panel < width / 16; ++panel)
        for (size_t row = 0; row < rows; ++row)
            memcpy(line_at(pass->residual, panel, row_begin + row), floats + row * width + panel * 16, 64);
}

// Where the tokens of every image are, before what they show is added: copies, next to nothing of the time.
static void place_patches(pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_patches_t const *patches = &encoder->patches;
    for (size_t image = 0; image < pass->batch->text_count; ++image) {
        size_t const begin = pass->batch->text_begins[image], first = begin + patches->prefix_count;
        uform_grid_t const grid = pass->batch->grids[image];
        set_residual(pass, begin, patches->prefix_count, patches->prefix);
        if (grid.height == patches->usual_grid.height && grid.width == patches->usual_grid.width) {
            set_residual(pass, first, grid.height * grid.width, patches->usual);
            continue;
        }
        // Row by row through the memory of the projections, which nothing else needs yet.
        float *const positions = pass->projections.data;
        for (size_t row = 0; row < grid.height; ++row) {
            uform_resample_row_(encoder->architecture->positions_kind, patches->table, patches->table_grid, grid, row,
                encoder->width, positions);
            set_residual(pass, first + row * grid.width, grid.width, positions);
        }
    }
}

// One line of a patch's numbers out of its bytes, `count` of them from `begin` on, zeros behind them. Every third one is of
// the same channel.
#define FILL_LINE(name, scalar)                                                                                        \
    static void name(scalar const *values, uint8_t const *bytes, size_t begin, size_t count, scalar *line) {           \
        scalar const *const a = values + begin % 3 * 256, *const b = values + (begin + 1) % 3 * 256,                   \
                            *const c = values + (begin + 2) % 3 * 256;                                                 \
        size_t i = 0;                                                                                                  \
        for (; i + 3 <= count; i += 3) {                                                                               \
            line[i] = a[bytes[i]];                                                                                     \
            line[i + 1] = b[bytes[i + 1]];                                                                             \
            line[i + 2] = c[bytes[i + 2]];                                                                             \
        }                                                                                                              \
        if (i < count) line[i] = a[bytes[i]];                                                                          \
        if (i + 1 < count) line[i + 1] = b[bytes[i + 1]];                                                              \
        for (i = count; i < 64 / sizeof(scalar); ++i) line[i] = 0;                                                     \
    }
FILL_LINE(fill_line_f32, float)
FILL_LINE(fill_line_bf16, uint16_t)

// The same out of numbers.
static void fill_line_from_numbers(float const *numbers, size_t count, bool bf16, void *line) {
    memset(line, 0, 64);
    for (size_t i = 0; i < count; ++i)
        if (bf16) ((uint16_t *)line)[i] = uform_f32_to_bf16_(numbers[i]);
        else ((float *)line)[i] = numbers[i];
}

// Numbers [begin, end) of the patches of all images into panels; zeros where no patch is.
static void fill_patches(pass_t const *pass, size_t begin, size_t end, uform_panels_t panels) {
    uform_patches_t const *patches = &pass->encoder->patches;
    uform_batch_t const *batch = pass->batch;
    bool const bf16 = pass->encoder->precision != uform_scalar_f32_k;
    share_t const share = share_of(pass, 0, pass->rows, 1);
    for (size_t image = 0; image < batch->text_count; ++image) {
        size_t const first = larger(batch->text_begins[image], share.begin);
        for (size_t row = first; row < batch->text_begins[image + 1] && row < share.end; ++row)
            for (size_t place = begin; place < end; place += pass->lane) {
                void *const line = line_at(panels, (place - begin) / pass->lane, row);
                size_t const left = place < patches->depth ? patches->depth - place : 0;
                size_t const count = row < batch->text_begins[image] + patches->prefix_count ? 0
                                     : left < pass->lane                                     ? left
                                                                                             : pass->lane;
                size_t const offset = row * patches->depth + place;
                if (batch->numbers) fill_line_from_numbers(batch->numbers + offset, count, bf16, line);
                else if (bf16) fill_line_bf16(patches->values, batch->pixels + offset, place, count, line);
                else fill_line_f32(patches->values, batch->pixels + offset, place, count, line);
            }
    }
}

// Turns images into tokens: what their patches show is added to where they are, a part of the numbers at a time.
static void embed_patches(pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_linear_t const *linear = &encoder->patches.linear;
    size_t const room =
        3 * encoder->sizes.heads * encoder->head_width / pass->gemm->depth_step * pass->gemm->depth_step;
    if (leads(pass)) place_patches(pass);
    meet(pass);
    for (size_t begin = 0, end; begin < linear->depth; begin = end) {
        end = begin + room < linear->depth ? begin + room : linear->depth;
        fill_patches(pass, begin, end, pass->projections);
        meet(pass);
        add_product(pass, linear, begin, end, numbered_from(pass, pass->projections, begin));
        meet(pass);
    }
}

static bool is_usual(pass_t const *pass, size_t image) {
    uform_grid_t const grid = pass->batch->grids[image], usual = pass->encoder->patches.usual_grid;
    return grid.height == usual.height && grid.width == usual.width;
}

// Angles of images on unusual grids, once for all layers.
static void prepare_angles(pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    size_t const half = encoder->head_width / 2;
    for (size_t image = 0; image < pass->batch->text_count; ++image) {
        size_t const first = pass->batch->text_begins[image] * half;
        if (!is_usual(pass, image))
            uform_rotary_angles_(encoder->sizes.rotary_base, encoder->patches.prefix_count, pass->batch->grids[image],
                encoder->sizes.width / encoder->sizes.heads, half, pass->cosines + first, pass->sines + first);
    }
}

// The row of a text that counts in the end.
static size_t pooled_row(pass_t const *pass, size_t text) {
    size_t const *begins = pass->batch->text_begins + text;
    return pass->batch->pooled == uform_pooled_rows_last_k ? begins[1] - 1 : begins[0];
}

// Rotates heads [begin, end) of the queries, with the keys behind them, by their patches' places. With `pooled`, each image's
// first row alone is there, with what belongs to the one that counts.
static void rotate(pass_t const *pass, size_t head_begin, size_t head_end, bool pooled) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_patches_t const *patches = &encoder->patches;
    share_t const heads = share_of(pass, head_begin, head_end, 1);
    size_t const half = encoder->head_width / 2;
    uform_rotate_call_t call = {
        .panels = panels_from(pass->projections, heads.begin * encoder->head_width / pass->lane),
        .heads = heads.end - heads.begin,
        .head_width = encoder->head_width,
    };
    for (size_t image = 0; image < pass->batch->text_count && call.heads; ++image) {
        size_t const begin = pass->batch->text_begins[image], skip = pooled ? pooled_row(pass, image) - begin : 0;
        bool const usual = is_usual(pass, image);
        call.cosines = (usual ? patches->cosines : pass->cosines + begin * half) + skip * half;
        call.sines = (usual ? patches->sines : pass->sines + begin * half) + skip * half;
        call.row_begin = begin;
        call.rows = pooled ? 1 : pass->batch->text_begins[image + 1] - begin;
        pass->kernels->rotate(&call);
    }
    meet(pass);
}

// Attention of every text over its own tokens; of one that stands in its first row's place and sees all of them, if `pooled`.
// Members share the heads of all texts.
static void attend_texts(pass_t const *pass, bool pooled) {
    size_t const heads = pass->encoder->sizes.heads, head_panels = pass->encoder->head_width / pass->lane;
    share_t const share = share_of(pass, 0, pass->batch->text_count * heads, 1);
    uform_attention_call_t call = {
        .head_width = pass->encoder->head_width,
        .scale = pass->encoder->attention_scale,
        .scratch = pass->member->scratch,
        .causal = pass->encoder->architecture->causal && !(pooled && pass->batch->pooled == uform_pooled_rows_last_k),
        .query_count = pooled ? 1 : 0,
    };
    for (size_t next = share.begin, end; next < share.end; next = end) {
        size_t const text = next / heads, first = next % heads;
        end = share.end < (text + 1) * heads ? share.end : (text + 1) * heads;
        call.heads = end - next;
        call.queries = panels_from(pass->projections, first * head_panels);
        call.keys = panels_from(call.queries, heads * head_panels);
        call.values = panels_from(call.keys, heads * head_panels);
        call.outputs = panels_from(pass->attended, first * head_panels);
        call.row_begin = pass->batch->text_begins[text];
        call.length = pass->batch->text_begins[text + 1] - call.row_begin;
        if (call.length) pass->attention->attend(&call);
    }
    meet(pass);
}

static void attend(pass_t const *pass, uform_layer_t const *layer) {
    project(pass, &layer->projections, 0, layer->projections.columns, pass->projections);
    if (is_rotated(pass->encoder)) rotate(pass, 0, 2 * pass->encoder->sizes.heads, false);
    attend_texts(pass, false);
    add_product(pass, &layer->attention_output, 0, layer->attention_output.depth, pass->attended);
    meet(pass);
}

// Brings the row of each text that counts, or its first one, to the row that is the text's number, which is never behind it.
static void gather_rows(pass_t const *pass, uform_panels_t panels, size_t count, bool first) {
    share_t const share = share_of(pass, 0, count, 1);
    for (size_t panel = share.begin; panel < share.end; ++panel)
        for (size_t text = 0; text < pass->batch->text_count; ++text) {
            size_t const row = first ? pass->batch->text_begins[text] : pooled_row(pass, text);
            memmove(line_at(panels, panel, text), line_at(panels, panel, row), 64);
        }
    meet(pass);
}

// Brings queries, a row a text, to where the texts' first ones belong.
static void place_queries(pass_t const *pass, uform_panels_t queries, size_t count) {
    share_t const share = share_of(pass, 0, count, 1);
    for (size_t panel = share.begin; panel < share.end; ++panel)
        for (size_t text = 0; text < pass->batch->text_count; ++text)
            memcpy(
                line_at(pass->projections, panel, pass->batch->text_begins[text]), line_at(queries, panel, text), 64);
    meet(pass);
}

// The last layer's attention where one row a text counts: keys and values of all rows, queries of those. From here on a row is
// a text.
static void attend_pooled(pass_t *pass, uform_layer_t const *layer) {
    uform_encoder_t const *encoder = pass->encoder;
    size_t const heads = encoder->sizes.heads, queries = heads * encoder->head_width, panels = queries / pass->lane;
    project(pass, &layer->projections, queries, layer->projections.columns, pass->projections);
    gather_rows(pass, pass->hidden, encoder->width / pass->lane, false);
    gather_rows(pass, pass->residual, encoder->width / 16, false);
    pass->rows = pass->batch->text_count;
    project(pass, &layer->projections, 0, queries, pass->attended);
    place_queries(pass, pass->attended, panels);
    if (is_rotated(encoder)) {
        rotate(pass, 0, heads, true);
        rotate(pass, heads, 2 * heads, false);
    }
    attend_texts(pass, true);
    gather_rows(pass, pass->attended, panels, true);
    add_product(pass, &layer->attention_output, 0, layer->attention_output.depth, pass->attended);
    meet(pass);
}

// Layer `i`'s attention.
static void attend_at(pass_t *pass, size_t i) {
    bool const last = i + 1 == pass->encoder->sizes.layers;
    bool const pooled = last && !pass->encoder->has_head && pass->batch->pooled != uform_pooled_rows_all_k;
    if (pooled) attend_pooled(pass, &pass->encoder->layers[i]);
    else attend(pass, &pass->encoder->layers[i]);
}

// The member's columns of an upward product.
static void multiply_up(pass_t const *pass, uform_linear_t const *linear, share_t share, uform_activation_t activation,
    uform_panels_t outputs) {
    uform_gemm_call_t up = shared_product(pass, linear, share, pass->hidden);
    up.activation = activation;
    up.outputs = outputs;
    multiply(pass, &up);
}

// Columns [begin, end) of the wide middle; a member's gates are of its own columns.
static void widen(pass_t const *pass, uform_feed_forward_t const *layer, size_t begin, size_t end) {
    share_t const share = share_of_columns(pass, begin, end);
    uform_panels_t const inner = numbered_from(pass, pass->inner, begin);
    uform_activation_t const activation = pass->encoder->activation;
    if (!layer->gate.weights) {
        multiply_up(pass, &layer->up, share, activation, inner);
        return;
    }
    uform_panels_t const gates = numbered_from(pass, pass->gates, begin);
    multiply_up(pass, &layer->up, share, uform_activation_identity_k, inner);
    multiply_up(pass, &layer->gate, share, activation, gates);
    uform_gate_call_t const call = {
        .inner = panels_from(inner, share.begin / pass->lane),
        .gates = panels_from(gates, share.begin / pass->lane),
        .rows = pass->rows,
        .width = share.end - share.begin,
    };
    if (call.width) pass->kernels->gate(&call);
}

static void feed_forward(pass_t const *pass, uform_feed_forward_t const *layer) {
    size_t const width = pass->encoder->feed_forward_width, chunk = chunk_columns(pass->encoder);
    size_t const stretch = stretch_columns(pass->encoder, pass->member->team->count);
    for (size_t begin = 0, end; begin < width; begin = end) {
        end = begin + stretch < width ? begin + stretch : width;
        widen(pass, layer, begin, end);
        meet(pass);
        for (size_t part = begin, part_end; part < end; part = part_end) {
            part_end = part + chunk < end ? part + chunk : end;
            add_product(pass, &layer->down, part, part_end, numbered_from(pass, pass->inner, begin));
        }
        meet(pass);
    }
}

// Norms behind the sums: each takes the residual's place.
static void run_layers_norm_last(pass_t *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    size_t const layers = encoder->sizes.layers;
    normalize(pass, &encoder->embedding_norm, layers ? encoder->layers[0].attention_output.bias : NULL, false);
    for (size_t i = 0; i < layers; ++i) {
        uform_layer_t const *layer = &encoder->layers[i];
        attend_at(pass, i);
        normalize(pass, &layer->attention_norm, layer->feed_forward.down.bias, false);
        feed_forward(pass, &layer->feed_forward);
        normalize(pass, &layer->feed_forward_norm, i + 1 < layers ? layer[1].attention_output.bias : NULL, false);
    }
}

// Norms before the branches: the residual itself is normalised at the end only.
static void run_layers_norm_first(pass_t *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    if (encoder->embedding_norm.gain) normalize(pass, &encoder->embedding_norm, NULL, false);
    for (size_t i = 0; i < encoder->sizes.layers; ++i) {
        uform_layer_t const *layer = &encoder->layers[i];
        normalize(pass, &layer->attention_norm, layer->attention_output.bias, true);
        attend_at(pass, i);
        normalize(pass, &layer->feed_forward_norm, layer->feed_forward.down.bias, true);
        feed_forward(pass, &layer->feed_forward);
    }
    normalize(pass, &encoder->final_norm, NULL, false);
}

// The query that all images share takes the place of each one's first token's.
static void place_query(pass_t const *pass) {
    size_t const heads_panels = pass->encoder->sizes.heads * pass->encoder->head_width / pass->lane;
    for (size_t text = 0; text < pass->batch->text_count; ++text)
        for (size_t panel = 0; panel < heads_panels; ++panel)
            memcpy(line_at(pass->projections, panel, pass->batch->text_begins[text]),
                (char const *)pass->encoder->head.query + panel * 64, 64);
}

// Attention pooling: the tokens, normalised, are looked at once by one query.
static void pool_by_attention(pass_t *pass) {
    uform_attention_head_t const *head = &pass->encoder->head;
    size_t const heads_panels = pass->encoder->sizes.heads * pass->encoder->head_width / pass->lane;
    project(pass, &head->projections, 0, head->projections.columns, panels_from(pass->projections, heads_panels));
    if (leads(pass)) place_query(pass);
    meet(pass);
    attend_texts(pass, true);
    gather_rows(pass, pass->attended, heads_panels, true);
    pass->rows = pass->batch->text_count; // from here on a row is a text
    for (size_t text = 0; text < pass->rows && leads(pass); ++text) set_residual(pass, text, 1, head->output.bias);
    meet(pass);
    add_product(pass, &head->output, 0, head->output.depth, pass->attended);
    meet(pass);
    normalize(pass, &head->norm, head->feed_forward.down.bias, true);
    feed_forward(pass, &head->feed_forward);
}

bool uform_encoder_ends_in_texts_(uform_encoder_t const *encoder, uform_pooled_rows_t pooled) {
    return encoder->has_head || (encoder->sizes.layers && pooled != uform_pooled_rows_all_k);
}

uform_panels_t uform_encoder_run_(uform_encoder_t const *encoder, uform_kernels_t const *kernels,
    uform_batch_t const *batch, uform_member_t const *member, void *scratch) {
    pass_t pass = begin_pass(encoder, kernels, batch, member, scratch);
    if (encoder->architecture->patches) embed_patches(&pass);
    else look_up(&pass);
    if (is_rotated(encoder) && leads(&pass)) prepare_angles(&pass);
    if (encoder->architecture->norm_first) run_layers_norm_first(&pass);
    else run_layers_norm_last(&pass);
    if (encoder->has_head) pool_by_attention(&pass);
    return pass.residual;
}
