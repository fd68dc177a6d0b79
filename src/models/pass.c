/**
 *  Shares of a pass, and its scratch, every buffer in panels of `capacity` rows (see kernels.h):
 *
 *      residual     f32     [rows, width]                    the stream every layer adds to
 *      hidden       scalar  [rows, width]                    the same, normalised and rounded: what is multiplied
 *      projections  scalar  [rows, 3 * heads * head_width]   queries, keys, values; before the layers, patches' numbers
 *      attended     scalar  [rows, heads * head_width]
 *      inner        scalar  [rows, stretch]                  a stretch of the feed-forward layer
 *      gates        scalar  [rows, stretch]                  likewise, where there is a gate
 */
#include "models/pass.h"

#include <string.h>

enum { chunk_columns_k = 384 };

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

// One step more than needed, since attention reads past the last text; an odd number of steps, since the panels of
// one row would else compete for the same lines of the cache.
static size_t row_capacity(size_t rows) {
    size_t const steps = (rows + uform_row_step_k - 1) / uform_row_step_k + 1;
    return (steps | 1) * uform_row_step_k;
}

size_t uform_chunk_columns_(uform_encoder_t const *encoder) {
    return encoder->feed_forward_width < chunk_columns_k ? encoder->feed_forward_width : chunk_columns_k;
}

static size_t lane_of(uform_encoder_t const *encoder) {
    return encoder->precision == uform_scalar_f32_k ? 16 : 32;
}

size_t uform_stretch_columns_(uform_encoder_t const *encoder, size_t members) {
    return members > 1 ? encoder->feed_forward_width : uform_chunk_columns_(encoder);
}

static uform_attention_t const *attention_of(uform_encoder_t const *encoder, uform_kernels_t const *kernels) {
    return encoder->precision == uform_scalar_f32_k ? kernels->attention_f32 : kernels->attention_bf16;
}

// Panels over one row's worth of every buffer.
static size_t panel_count(uform_encoder_t const *encoder, size_t members) {
    size_t const lane = lane_of(encoder), heads_width = encoder->sizes.heads * encoder->head_width;
    size_t const stretches = encoder->sizes.gated ? 2 : 1;
    return encoder->width / 16 +
           (encoder->width + 4 * heads_width + stretches * uform_stretch_columns_(encoder, members)) / lane;
}

// Of cosines, and of sines.
static size_t angle_bytes(uform_encoder_t const *encoder, size_t rows) {
    return encoder->architecture->positions_kind == uform_positions_rotary_k
               ? rows * encoder->head_width / 2 * sizeof(float)
               : 0;
}

size_t uform_encoder_member_bytes_(uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t longest) {
    size_t const bytes = larger(
        encoder->gemm->scratch_bytes, attention_of(encoder, kernels)->scratch_bytes(longest, encoder->head_width));
    return (bytes + 63) / 64 * 64;
}

size_t uform_encoder_scratch_bytes_(uform_encoder_t const *encoder, size_t rows, size_t members) {
    return 2 * angle_bytes(encoder, rows) + panel_count(encoder, members) * row_capacity(rows) * 64;
}

uform_share_t uform_share_of_(uform_member_t const *member, size_t begin, size_t end, size_t step) {
    size_t const steps = (end - begin + step - 1) / step, count = member->team->count;
    size_t const first = begin + steps * member->index / count * step;
    size_t const last = begin + steps * (member->index + 1) / count * step;
    return (uform_share_t){first < end ? first : end, last < end ? last : end};
}

static uform_panels_t take_panels(uform_pass_t const *pass, char **free_memory, size_t panels) {
    uform_panels_t const result = {*free_memory, pass->capacity * 64};
    *free_memory += panels * result.stride_bytes;
    return result;
}

uform_pass_t uform_pass_begin_(uform_encoder_t const *encoder, uform_kernels_t const *kernels,
    uform_batch_t const *batch, uform_member_t const *member, void *scratch) {
    size_t const heads_width = encoder->sizes.heads * encoder->head_width;
    size_t const stretch = uform_stretch_columns_(encoder, member->team->count);
    uform_pass_t pass = {
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

void uform_set_residual_(uform_pass_t const *pass, size_t row_begin, size_t rows, float const *floats) {
    size_t const width = pass->encoder->width;
    for (size_t panel = 0; panel < width / 16; ++panel)
        for (size_t row = 0; row < rows; ++row)
            memcpy(uform_line_at_(pass->residual, panel, row_begin + row), floats + row * width + panel * 16, 64);
}

uform_gemm_call_t uform_shared_product_(
    uform_pass_t const *pass, uform_linear_t const *linear, uform_share_t share, uform_panels_t inputs) {
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

uform_share_t uform_share_of_columns_(uform_pass_t const *pass, size_t begin, size_t end) {
    return uform_share_of_(pass->member, begin, end, larger(pass->gemm->column_step, uform_width_step_k));
}

void uform_pass_multiply_(uform_pass_t const *pass, uform_gemm_call_t const *call) {
    if (call->column_begin < call->column_end) pass->gemm->multiply(call);
}

void uform_project_(
    uform_pass_t const *pass, uform_linear_t const *linear, size_t begin, size_t end, uform_panels_t outputs) {
    uform_gemm_call_t call =
        uform_shared_product_(pass, linear, uform_share_of_columns_(pass, begin, end), pass->hidden);
    call.outputs = outputs;
    uform_pass_multiply_(pass, &call);
    uform_pass_meet_(pass);
}

void uform_add_product_(uform_pass_t const *pass, uform_linear_t const *linear, size_t depth_begin, size_t depth_end,
    uform_panels_t inputs) {
    uform_share_t const share = uform_share_of_columns_(pass, 0, linear->columns);
    uform_gemm_call_t call = uform_shared_product_(pass, linear, share, inputs);
    call.depth_begin = depth_begin, call.depth_end = depth_end;
    call.accumulate = true;
    call.outputs = pass->residual;
    uform_pass_multiply_(pass, &call);
}
