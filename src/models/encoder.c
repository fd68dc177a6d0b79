/**
 *  The pass of a ragged batch through all layers: a panel of tokens whose activations stay in the core's own cache.
 *
 *  Scratch, every buffer in panels of `capacity` rows (see kernels.h):
 *
 *      residual     f32     [rows, width]                    the stream every layer adds to
 *      hidden       scalar  [rows, width]                    the same, normalised and rounded: what is multiplied
 *      projections  scalar  [rows, 3 * heads * head_width]   queries, keys, values
 *      attended     scalar  [rows, heads * head_width]
 *      inner        scalar  [rows, chunk]                    a chunk of the feed-forward layer
 *
 *  The feed-forward layer goes chunk by chunk: up, activation, down into the residual, so that its wide middle never
 *  leaves the second-level cache. Both multiplications into the residual start from what it holds, so adding costs
 *  nothing; their biases are added by the norm before.
 */
#include "models/encoder.h"

enum { chunk_columns_k = 384 };

typedef struct pass_t {
    uform_encoder_t const *encoder;
    uform_batch_t const *batch;
    uform_gemm_t const *gemm;
    uform_attention_t const *attention;
    uform_rows_t const *rows;
    size_t capacity; // rows a panel has room for
    size_t lane;     // elements of the scalar in a line
    uform_panels_t residual, hidden, projections, attended, inner;
    void *scratch; // of multiplications and attention
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

// Panels over one row's worth of every buffer.
static size_t panel_count(uform_encoder_t const *encoder) {
    size_t const lane = lane_of(encoder), heads_width = encoder->sizes.heads * encoder->head_width;
    return encoder->width / 16 + (encoder->width + 4 * heads_width + chunk_columns(encoder)) / lane;
}

static size_t kernel_scratch_bytes(uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t longest) {
    size_t const bytes = larger(
        encoder->gemm->scratch_bytes, attention_of(encoder, kernels)->scratch_bytes(longest, encoder->head_width));
    return (bytes + 63) / 64 * 64;
}

size_t uform_encoder_scratch_bytes_(
    uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t rows, size_t longest) {
    return kernel_scratch_bytes(encoder, kernels, longest) + panel_count(encoder) * row_capacity(rows) * 64;
}

static uform_panels_t take_panels(pass_t const *pass, char **free_memory, size_t panels) {
    uform_panels_t const result = {*free_memory, pass->capacity * 64};
    *free_memory += panels * result.stride_bytes;
    return result;
}

static uform_panels_t panels_from(uform_panels_t panels, size_t first) {
    return (uform_panels_t){(char *)panels.data + first * panels.stride_bytes, panels.stride_bytes};
}

static size_t longest_text(uform_batch_t const *batch) {
    size_t longest = 1;
    for (size_t text = 0; text < batch->text_count; ++text)
        longest = larger(longest, batch->text_begins[text + 1] - batch->text_begins[text]);
    return longest;
}

static pass_t begin_pass(
    uform_encoder_t const *encoder, uform_kernels_t const *kernels, uform_batch_t const *batch, void *scratch) {
    size_t const heads_width = encoder->sizes.heads * encoder->head_width;
    pass_t pass = {
        .encoder = encoder,
        .batch = batch,
        .gemm = encoder->gemm,
        .attention = attention_of(encoder, kernels),
        .rows = encoder->precision == uform_scalar_f32_k ? kernels->rows_f32 : kernels->rows_bf16,
        .capacity = row_capacity(batch->row_count),
        .lane = lane_of(encoder),
        .scratch = scratch,
    };
    char *free_memory = (char *)scratch + kernel_scratch_bytes(encoder, kernels, longest_text(batch));
    pass.residual = take_panels(&pass, &free_memory, encoder->width / 16);
    pass.hidden = take_panels(&pass, &free_memory, encoder->width / pass.lane);
    pass.projections = take_panels(&pass, &free_memory, 3 * heads_width / pass.lane);
    pass.attended = take_panels(&pass, &free_memory, heads_width / pass.lane);
    pass.inner = take_panels(&pass, &free_memory, chunk_columns(encoder) / pass.lane);
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
        .rows = pass->batch->row_count,
        .width = pass->encoder->sizes.width,
        .residual = pass->residual,
    };
    pass->rows->lookup(&call);
}

static void normalize(pass_t const *pass, uform_norm_t const *norm, float const *next_bias) {
    uform_normalize_call_t const call = {
        .residual = pass->residual,
        .outputs = pass->hidden,
        .rows = pass->batch->row_count,
        .width = pass->encoder->sizes.width,
        .epsilon = pass->encoder->sizes.norm_epsilon,
        .gain = norm->gain,
        .shift = norm->shift,
        .next_bias = next_bias,
    };
    pass->rows->normalize(&call);
}

static uform_gemm_call_t whole_product(pass_t const *pass, uform_linear_t const *linear, uform_panels_t inputs) {
    return (uform_gemm_call_t){
        .inputs = inputs,
        .weights = linear->weights,
        .columns = linear->columns,
        .depth = linear->depth,
        .column_end = linear->columns,
        .depth_end = linear->depth,
        .rows = pass->batch->row_count,
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

static void attend(pass_t const *pass, uform_layer_t const *layer) {
    size_t const heads_panels = pass->encoder->sizes.heads * pass->encoder->head_width / pass->lane;
    uform_gemm_call_t project = whole_product(pass, &layer->projections, pass->hidden);
    project.outputs = pass->projections;
    pass->gemm->multiply(&project);

    uform_attention_call_t call = {
        .queries = pass->projections,
        .keys = panels_from(pass->projections, heads_panels),
        .values = panels_from(pass->projections, 2 * heads_panels),
        .outputs = pass->attended,
        .heads = pass->encoder->sizes.heads,
        .head_width = pass->encoder->head_width,
        .scale = pass->encoder->attention_scale,
        .scratch = pass->scratch,
    };
    for (size_t text = 0; text < pass->batch->text_count; ++text) {
        call.row_begin = pass->batch->text_begins[text];
        call.length = pass->batch->text_begins[text + 1] - call.row_begin;
        if (call.length) pass->attention->attend(&call);
    }

    uform_gemm_call_t output = whole_product(pass, &layer->attention_output, pass->attended);
    add_product(pass, &output);
}

static void feed_forward(pass_t const *pass, uform_layer_t const *layer) {
    size_t const chunk = chunk_columns(pass->encoder), width = pass->encoder->feed_forward_width;
    for (size_t begin = 0; begin < width; begin += chunk) {
        size_t const end = begin + chunk < width ? begin + chunk : width;
        // The chunk's panels are numbered as those of the whole matrix, which is never there.
        uform_panels_t const inner = {
            (char *)((uintptr_t)pass->inner.data - begin / pass->lane * pass->inner.stride_bytes),
            pass->inner.stride_bytes};
        uform_gemm_call_t up = whole_product(pass, &layer->up, pass->hidden);
        up.column_begin = begin, up.column_end = end;
        up.activation = pass->encoder->sizes.activation;
        up.outputs = inner;
        pass->gemm->multiply(&up);
        uform_gemm_call_t down = whole_product(pass, &layer->down, inner);
        down.depth_begin = begin, down.depth_end = end;
        add_product(pass, &down);
    }
}

uform_panels_t uform_encoder_run_(
    uform_encoder_t const *encoder, uform_kernels_t const *kernels, uform_batch_t const *batch, void *scratch) {
    pass_t const pass = begin_pass(encoder, kernels, batch, scratch);
    size_t const layers = encoder->sizes.layers;
    look_up(&pass);
    normalize(&pass, &encoder->embedding_norm, layers ? encoder->layers[0].attention_output.bias : NULL);
    for (size_t i = 0; i < layers; ++i) {
        uform_layer_t const *layer = &encoder->layers[i];
        attend(&pass, layer);
        normalize(&pass, &layer->attention_norm, layer->down.bias);
        feed_forward(&pass, layer);
        normalize(&pass, &layer->feed_forward_norm, i + 1 < layers ? layer[1].attention_output.bias : NULL);
    }
    return pass.residual;
}
