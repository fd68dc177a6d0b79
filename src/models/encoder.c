/**
 *  The pass of a ragged batch through all layers: a panel of tokens whose activations stay in the core's own cache.
 *
 *  Scratch, every buffer in panels of `capacity` rows (see kernels.h):
 *
 *      residual     f32     [rows, width]                    the stream every layer adds to
 *      hidden       scalar  [rows, width]                    the same, normalised and rounded: what is multiplied
 *      projections  scalar  [rows, 3 * heads * head_width]   queries, keys, values; before the layers, patches' numbers
 *      attended     scalar  [rows, heads * head_width]
 *      inner        scalar  [rows, chunk]                    a chunk of the feed-forward layer
 *      gates        scalar  [rows, chunk]                    likewise, where there is a gate
 *
 *  The feed-forward layer goes chunk by chunk: up, activation, down into the residual, so that its wide middle never
 *  leaves the second-level cache. Both multiplications into the residual start from what it holds, so adding costs
 *  nothing; their biases are added by the norm before.
 */
#include "models/encoder.h"

#include <string.h>

#include "models/encoder_positions.h"

enum { chunk_columns_k = 384 };

typedef struct pass_t {
    uform_encoder_t const *encoder;
    uform_batch_t const *batch;
    uform_gemm_t const *gemm;
    uform_attention_t const *attention;
    uform_rows_t const *kernels;
    size_t rows;     // that are passed on: one a text behind attention pooling
    size_t capacity; // rows a panel has room for
    size_t lane;     // elements of the scalar in a line
    uform_panels_t residual, hidden, projections, attended, inner, gates;
    float *cosines, *sines; // [rows, head_width / 2] of images on unusual grids
    void *scratch;          // of multiplications and attention
} pass_t;

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

static uform_attention_t const *attention_of(uform_encoder_t const *encoder, uform_kernels_t const *kernels) {
    return encoder->precision == uform_scalar_f32_k ? kernels->attention_f32 : kernels->attention_bf16;
}

static bool is_rotated(uform_encoder_t const *encoder) {
    return encoder->architecture->positions_kind == uform_positions_rotary_k;
}

// Panels over one row's worth of every buffer.
static size_t panel_count(uform_encoder_t const *encoder) {
    size_t const lane = lane_of(encoder), heads_width = encoder->sizes.heads * encoder->head_width;
    size_t const chunks = encoder->sizes.gated ? 2 : 1;
    return encoder->width / 16 + (encoder->width + 4 * heads_width + chunks * chunk_columns(encoder)) / lane;
}

static size_t kernel_scratch_bytes(uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t longest) {
    size_t const bytes = larger(
        encoder->gemm->scratch_bytes, attention_of(encoder, kernels)->scratch_bytes(longest, encoder->head_width));
    return (bytes + 63) / 64 * 64;
}

// Of cosines, and of sines.
static size_t angle_bytes(uform_encoder_t const *encoder, size_t rows) {
    return is_rotated(encoder) ? rows * encoder->head_width / 2 * sizeof(float) : 0;
}

size_t uform_encoder_scratch_bytes_(
    uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t rows, size_t longest) {
    return kernel_scratch_bytes(encoder, kernels, longest) + 2 * angle_bytes(encoder, rows) +
           panel_count(encoder) * row_capacity(rows) * 64;
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

static size_t longest_text(uform_batch_t const *batch) {
    size_t longest = 1;
    for (size_t text = 0; text < batch->text_count; ++text)
        longest = larger(longest, batch->text_begins[text + 1] - batch->text_begins[text]);
    return longest;
}

static pass_t begin_pass(
    uform_encoder_t const *encoder, uform_kernels_t const *kernels, uform_batch_t const *batch, void *scratch) {
    size_t const heads_width = encoder->sizes.heads * encoder->head_width, longest = longest_text(batch);
    pass_t pass = {
        .encoder = encoder,
        .batch = batch,
        .gemm = encoder->gemm,
        .attention = attention_of(encoder, kernels),
        .kernels = encoder->precision == uform_scalar_f32_k ? kernels->rows_f32 : kernels->rows_bf16,
        .rows = batch->row_count,
        .capacity = row_capacity(batch->row_count),
        .lane = lane_of(encoder),
        .scratch = scratch,
    };
    char *free_memory = (char *)scratch + kernel_scratch_bytes(encoder, kernels, longest);
    pass.cosines = (float *)free_memory;
    pass.sines = (float *)(free_memory + angle_bytes(encoder, batch->row_count));
    free_memory += 2 * angle_bytes(encoder, batch->row_count);
    pass.residual = take_panels(&pass, &free_memory, encoder->width / 16);
    pass.hidden = take_panels(&pass, &free_memory, encoder->width / pass.lane);
    pass.projections = take_panels(&pass, &free_memory, 3 * heads_width / pass.lane);
    pass.attended = take_panels(&pass, &free_memory, heads_width / pass.lane);
    pass.inner = take_panels(&pass, &free_memory, chunk_columns(encoder) / pass.lane);
    if (encoder->sizes.gated) pass.gates = take_panels(&pass, &free_memory, chunk_columns(encoder) / pass.lane);
    return pass;
}

static void look_up(pass_t const *pass) {
    uform_lookup_call_t const call = {
        .words = pass->encoder->words,
        .positions = pass->encoder->positions,
        .types = pass->encoder->types,
        .ids = pass->batch->ids,
        .position_ids = pass->batch->position_ids,
        .type_ids = pass->batch->type_ids,
        .rows = pass->rows,
        .width = pass->encoder->sizes.width,
        .residual = pass->residual,
    };
    pass->kernels->lookup(&call);
}

static void normalize(pass_t const *pass, uform_norm_t const *norm, float const *next_bias, bool keep) {
    uform_normalize_call_t const call = {
        .residual = pass->residual,
        .outputs = pass->hidden,
        .rows = pass->rows,
        .width = pass->encoder->sizes.width,
        .epsilon = pass->encoder->sizes.norm_epsilon,
        .gain = norm->gain,
        .shift = norm->shift,
        .next_bias = next_bias,
        .keep = keep,
    };
    pass->kernels->normalize(&call);
}

static uform_gemm_call_t whole_product(pass_t const *pass, uform_linear_t const *linear, uform_panels_t inputs) {
    return (uform_gemm_call_t){
        .inputs = inputs,
        .weights = linear->weights,
        .columns = linear->columns,
        .depth = linear->depth,
        .column_end = linear->columns,
        .depth_end = linear->depth,
        .rows = pass->rows,
        .bias = linear->bias,
        .activation = uform_activation_identity_k,
        .scratch = pass->scratch,
    };
}

static void add_product(pass_t const *pass, uform_gemm_call_t *call) {
    call->accumulate = true;
    call->outputs = pass->residual;
    pass->gemm->multiply(call);
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

// Where the tokens of every image are, before what they show is added.
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
    for (size_t image = 0; image < batch->text_count; ++image)
        for (size_t row = batch->text_begins[image]; row < batch->text_begins[image + 1]; ++row)
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

// Turns images into tokens: what their patches show is added to where they are, a part of the numbers at a time.
static void embed_patches(pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_linear_t const *linear = &encoder->patches.linear;
    size_t const room =
        3 * encoder->sizes.heads * encoder->head_width / pass->gemm->depth_step * pass->gemm->depth_step;
    place_patches(pass);
    for (size_t begin = 0, end; begin < linear->depth; begin = end) {
        end = begin + room < linear->depth ? begin + room : linear->depth;
        fill_patches(pass, begin, end, pass->projections);
        uform_gemm_call_t call = whole_product(pass, linear, numbered_from(pass, pass->projections, begin));
        call.depth_begin = begin, call.depth_end = end;
        add_product(pass, &call);
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

// Rotates queries and keys by their patches' places.
static void rotate(pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_patches_t const *patches = &encoder->patches;
    uform_rotate_call_t call = {
        .panels = pass->projections,
        .heads = 2 * encoder->sizes.heads, // keys stand behind the queries
        .head_width = encoder->head_width,
    };
    for (size_t image = 0; image < pass->batch->text_count; ++image) {
        size_t const begin = pass->batch->text_begins[image], first = begin * encoder->head_width / 2;
        call.cosines = is_usual(pass, image) ? patches->cosines : pass->cosines + first;
        call.sines = is_usual(pass, image) ? patches->sines : pass->sines + first;
        call.row_begin = begin;
        call.rows = pass->batch->text_begins[image + 1] - begin;
        pass->kernels->rotate(&call);
    }
}

// Attention of every text over its own tokens, or of its first ones if `query_count` says so.
static void attend_texts(pass_t const *pass, size_t query_count) {
    size_t const heads_panels = pass->encoder->sizes.heads * pass->encoder->head_width / pass->lane;
    uform_attention_call_t call = {
        .queries = pass->projections,
        .keys = panels_from(pass->projections, heads_panels),
        .values = panels_from(pass->projections, 2 * heads_panels),
        .outputs = pass->attended,
        .heads = pass->encoder->sizes.heads,
        .head_width = pass->encoder->head_width,
        .scale = pass->encoder->attention_scale,
        .scratch = pass->scratch,
        .causal = pass->encoder->architecture->causal,
        .query_count = query_count,
    };
    for (size_t text = 0; text < pass->batch->text_count; ++text) {
        call.row_begin = pass->batch->text_begins[text];
        call.length = pass->batch->text_begins[text + 1] - call.row_begin;
        if (call.length) pass->attention->attend(&call);
    }
}

static void attend(pass_t const *pass, uform_layer_t const *layer) {
    uform_gemm_call_t project = whole_product(pass, &layer->projections, pass->hidden);
    project.outputs = pass->projections;
    pass->gemm->multiply(&project);
    if (is_rotated(pass->encoder)) rotate(pass);
    attend_texts(pass, 0);
    uform_gemm_call_t output = whole_product(pass, &layer->attention_output, pass->attended);
    add_product(pass, &output);
}

// One chunk of an upward product.
static void multiply_up(pass_t const *pass, uform_linear_t const *linear, size_t begin, size_t end,
    uform_activation_t activation, uform_panels_t outputs) {
    uform_gemm_call_t up = whole_product(pass, linear, pass->hidden);
    up.column_begin = begin, up.column_end = end;
    up.activation = activation;
    up.outputs = outputs;
    pass->gemm->multiply(&up);
}

static void feed_forward(pass_t const *pass, uform_feed_forward_t const *layer) {
    size_t const chunk = chunk_columns(pass->encoder), width = pass->encoder->feed_forward_width;
    bool const gated = layer->gate.weights != NULL;
    uform_activation_t const activation = pass->encoder->activation;
    for (size_t begin = 0; begin < width; begin += chunk) {
        size_t const end = begin + chunk < width ? begin + chunk : width;
        uform_panels_t const inner = numbered_from(pass, pass->inner, begin);
        multiply_up(pass, &layer->up, begin, end, gated ? uform_activation_identity_k : activation, inner);
        if (gated) {
            multiply_up(pass, &layer->gate, begin, end, activation, numbered_from(pass, pass->gates, begin));
            uform_gate_call_t const call = {pass->inner, pass->gates, pass->rows, end - begin};
            pass->kernels->gate(&call);
        }
        uform_gemm_call_t down = whole_product(pass, &layer->down, inner);
        down.depth_begin = begin, down.depth_end = end;
        add_product(pass, &down);
    }
}

// Norms behind the sums: each takes the residual's place.
static void run_layers_norm_last(pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    size_t const layers = encoder->sizes.layers;
    normalize(pass, &encoder->embedding_norm, layers ? encoder->layers[0].attention_output.bias : NULL, false);
    for (size_t i = 0; i < layers; ++i) {
        uform_layer_t const *layer = &encoder->layers[i];
        attend(pass, layer);
        normalize(pass, &layer->attention_norm, layer->feed_forward.down.bias, false);
        feed_forward(pass, &layer->feed_forward);
        normalize(pass, &layer->feed_forward_norm, i + 1 < layers ? layer[1].attention_output.bias : NULL, false);
    }
}

// Norms before the branches: the residual itself is normalised at the end only.
static void run_layers_norm_first(pass_t const *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    if (encoder->embedding_norm.gain) normalize(pass, &encoder->embedding_norm, NULL, false);
    for (size_t i = 0; i < encoder->sizes.layers; ++i) {
        uform_layer_t const *layer = &encoder->layers[i];
        normalize(pass, &layer->attention_norm, layer->attention_output.bias, true);
        attend(pass, layer);
        normalize(pass, &layer->feed_forward_norm, layer->feed_forward.down.bias, true);
        feed_forward(pass, &layer->feed_forward);
    }
    normalize(pass, &encoder->final_norm, NULL, false);
}

// Attention pooling: the tokens, normalised, are looked at once by the query that all images share.
static void pool_by_attention(pass_t *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_attention_head_t const *head = &encoder->head;
    size_t const heads_panels = encoder->sizes.heads * encoder->head_width / pass->lane;
    size_t const texts = pass->batch->text_count;
    uform_gemm_call_t project = whole_product(pass, &head->projections, pass->hidden);
    project.outputs = panels_from(pass->projections, heads_panels);
    pass->gemm->multiply(&project);
    for (size_t text = 0; text < texts; ++text)
        for (size_t panel = 0; panel < heads_panels; ++panel)
            memcpy(line_at(pass->projections, panel, pass->batch->text_begins[text]),
                (char const *)head->query + panel * 64, 64);
    attend_texts(pass, 1);
    // From here on a row is a text.
    for (size_t text = 0; text < texts; ++text) {
        for (size_t panel = 0; panel < heads_panels; ++panel)
            memcpy(line_at(pass->projections, panel, text),
                line_at(pass->attended, panel, pass->batch->text_begins[text]), 64);
        set_residual(pass, text, 1, head->output.bias);
    }
    pass->rows = texts;
    uform_gemm_call_t output = whole_product(pass, &head->output, pass->projections);
    add_product(pass, &output);
    normalize(pass, &head->norm, head->feed_forward.down.bias, true);
    feed_forward(pass, &head->feed_forward);
}

uform_panels_t uform_encoder_run_(
    uform_encoder_t const *encoder, uform_kernels_t const *kernels, uform_batch_t const *batch, void *scratch) {
    pass_t pass = begin_pass(encoder, kernels, batch, scratch);
    if (encoder->architecture->patches) embed_patches(&pass);
    else look_up(&pass);
    if (is_rotated(encoder)) prepare_angles(&pass);
    if (encoder->architecture->norm_first) run_layers_norm_first(&pass);
    else run_layers_norm_last(&pass);
    if (encoder->has_head) pool_by_attention(&pass);
    return pass.residual;
}
