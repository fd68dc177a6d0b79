/**
 *  Shares of a pass, and its scratch, every buffer in panels of `capacity` rows (see kernels.h):
 *
 *      residual     f32     [rows, width]                    the stream every layer adds to
 *      hidden       scalar  [rows, width]                    the same, normalised and rounded: what is multiplied
 *      projections  scalar  [rows, all heads * head_width]   queries, keys, values; before the layers, patches' numbers
 *      attended     scalar  [rows, heads * head_width]
 *      inner        scalar  [rows, stretch]                  a stretch of the feed-forward layer
 *      gates        scalar  [rows, stretch]                  likewise, where there is a gate
 *      branch       f32     [rows, width]                    what a branch gives, where that is normalised before it is added
 *      integers     i8      [rows, widest of them]           what is multiplied instead, where that is integers
 *      hidden_integers      [rows, width]                    likewise of the hidden state, which more than one product takes
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

size_t uform_patch_columns_(uform_encoder_t const *encoder) {
    size_t const step = encoder->gemm->depth_step;
    return uform_projection_columns_(encoder) / step * step;
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
    size_t const branches = encoder->architecture->attention_branch_norm ? 1 : 0;
    return (1 + branches) * encoder->width / 16 + (encoder->width + uform_projection_columns_(encoder) + heads_width +
                                                      stretches * uform_stretch_columns_(encoder, members)) /
                                                      lane;
}

// Columns that are rounded to integers at once, and those that are integers at once.
static size_t widest_piece(uform_encoder_t const *encoder) {
    size_t const heads_width = encoder->sizes.heads * encoder->head_width;
    size_t const patches = encoder->architecture->patches ? uform_patch_columns_(encoder) : 0;
    return uform_rotated_depth_(
        larger(larger(encoder->width, heads_width), larger(uform_chunk_columns_(encoder), patches)));
}

static size_t widest_integers(uform_encoder_t const *encoder, size_t members) {
    return larger(widest_piece(encoder), uform_rotated_depth_(uform_stretch_columns_(encoder, members)));
}

static size_t piece_count(uform_encoder_t const *encoder, size_t members) {
    size_t const chunk = uform_chunk_columns_(encoder);
    return (uform_stretch_columns_(encoder, members) + chunk - 1) / chunk;
}

// One row's worth of both matrices of integers; a multiple of 64 bytes for 32 rows.
static size_t integers_bytes(uform_encoder_t const *encoder, size_t members) {
    if (!encoder->gemm->quantize) return 0;
    size_t const columns = widest_integers(encoder, members) + uform_rotated_depth_(encoder->width);
    size_t const lines = columns / encoder->gemm->input_lane;
    return lines * 64 + (piece_count(encoder, members) + 1) * sizeof(uform_quantized_row_t);
}

// Of cosines, and of sines.
static size_t angle_bytes(uform_encoder_t const *encoder, size_t rows) {
    return encoder->architecture->positions_kind == uform_positions_rotary_k
               ? rows * encoder->head_width / 2 * sizeof(float)
               : 0;
}

size_t uform_encoder_member_bytes_(uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t longest) {
    size_t const rotated = encoder->gemm->quantize ? widest_piece(encoder) * sizeof(float) : 0;
    size_t const attention = attention_of(encoder, kernels)->scratch_bytes(longest, encoder->head_width);
    size_t const bytes = larger(larger(encoder->gemm->scratch_bytes, rotated), attention);
    return (bytes + 63) / 64 * 64;
}

size_t uform_encoder_scratch_bytes_(uform_encoder_t const *encoder, size_t rows, size_t members) {
    return 2 * angle_bytes(encoder, rows) +
           (panel_count(encoder, members) * 64 + integers_bytes(encoder, members)) * row_capacity(rows);
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

static uform_integers_t take_integers(uform_pass_t const *pass, char **free_memory, size_t columns, size_t pieces) {
    uform_integers_t integers = {.panels = take_panels(pass, free_memory, columns / pass->gemm->input_lane)};
    integers.quantized = (uform_quantized_row_t *)*free_memory;
    *free_memory += pieces * pass->capacity * sizeof(uform_quantized_row_t);
    return integers;
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
    pass.projections = take_panels(&pass, &free_memory, uform_projection_columns_(encoder) / pass.lane);
    pass.attended = take_panels(&pass, &free_memory, heads_width / pass.lane);
    pass.inner = take_panels(&pass, &free_memory, stretch / pass.lane);
    if (encoder->sizes.gated) pass.gates = take_panels(&pass, &free_memory, stretch / pass.lane);
    if (encoder->architecture->attention_branch_norm)
        pass.branch = take_panels(&pass, &free_memory, encoder->width / 16);
    if (!pass.gemm->quantize) return pass;
    size_t const members = member->team->count;
    pass.integers =
        take_integers(&pass, &free_memory, widest_integers(encoder, members), piece_count(encoder, members));
    pass.hidden_integers = take_integers(&pass, &free_memory, uform_rotated_depth_(encoder->width), 1);
    return pass;
}

void uform_set_residual_(uform_pass_t const *pass, size_t row_begin, size_t rows, float const *floats) {
    size_t const width = pass->encoder->width;
    for (size_t panel = 0; panel < width / 16; ++panel)
        for (size_t row = 0; row < rows; ++row)
            memcpy(uform_line_at_(pass->residual, panel, row_begin + row), floats + row * width + panel * 16, 64);
}

// A member's rows of a piece.
static void quantize_piece(uform_pass_t const *pass, uform_quantize_call_t const *whole, size_t piece) {
    uform_share_t const share = uform_share_of_(pass->member, 0, pass->rows, uform_row_step_k);
    uform_quantize_call_t call = *whole;
    call.inputs = uform_rows_from_(call.inputs, share.begin);
    call.outputs = uform_rows_from_(call.outputs, share.begin);
    call.quantized += piece * pass->capacity + share.begin;
    call.rows = share.end - share.begin;
    if (call.rows) pass->gemm->quantize(&call);
}

uform_operand_t uform_prepare_(uform_pass_t const *pass, uform_integers_t const *integers, uform_panels_t panels,
    size_t begin, size_t end, size_t piece) {
    size_t const lane = pass->gemm->input_lane;
    uform_operand_t operand = {.panels = uform_numbered_from_(panels, begin, lane), .begin = begin, .piece = piece};
    if (!pass->gemm->quantize) return operand;
    for (size_t first = 0; first < end - begin; first += piece) {
        uform_quantize_call_t const call = {
            .inputs = uform_panels_from_(panels, first / pass->lane),
            .depth = first + piece < end - begin ? piece : end - begin - first,
            .outputs = uform_panels_from_(integers->panels, first / lane),
            .quantized = integers->quantized,
            .scratch = pass->member->scratch,
        };
        quantize_piece(pass, &call, first / piece);
    }
    uform_pass_meet_(pass);
    operand.panels = uform_numbered_from_(integers->panels, begin, lane);
    operand.quantized = integers->quantized;
    return operand;
}

uform_operand_t uform_prepare_hidden_(uform_pass_t const *pass) {
    size_t const width = pass->encoder->width;
    return uform_prepare_(pass, &pass->hidden_integers, pass->hidden, 0, width, width);
}

uform_operand_t uform_prepare_attended_(uform_pass_t const *pass) {
    size_t const width = pass->encoder->sizes.heads * pass->encoder->head_width;
    return uform_prepare_(pass, &pass->integers, pass->attended, 0, width, width);
}

uform_gemm_call_t uform_shared_product_(
    uform_pass_t const *pass, uform_linear_t const *linear, uform_share_t share, uform_operand_t const *inputs) {
    return (uform_gemm_call_t){
        .inputs = inputs->panels,
        .quantized = inputs->quantized,
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

void uform_project_(uform_pass_t const *pass, uform_linear_t const *linear, uform_operand_t const *inputs, size_t begin,
    size_t end, uform_panels_t outputs) {
    uform_gemm_call_t call = uform_shared_product_(pass, linear, uform_share_of_columns_(pass, begin, end), inputs);
    call.outputs = outputs;
    uform_pass_multiply_(pass, &call);
    uform_pass_meet_(pass);
}

void uform_add_product_(uform_pass_t const *pass, uform_linear_t const *linear, size_t depth_begin, size_t depth_end,
    uform_operand_t const *inputs) {
    uform_share_t const share = uform_share_of_columns_(pass, 0, linear->columns);
    uform_gemm_call_t call = uform_shared_product_(pass, linear, share, inputs);
    if (call.quantized) call.quantized += (depth_begin - inputs->begin) / inputs->piece * pass->capacity;
    call.depth_begin = depth_begin, call.depth_end = depth_end;
    call.accumulate = true;
    call.outputs = pass->branch.data ? pass->branch : pass->residual;
    uform_pass_multiply_(pass, &call);
}
