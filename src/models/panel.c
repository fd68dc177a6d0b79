/**
 *  Panels: where everything lies in their scratch, and what becomes of full ones.
 *
 *  A panel's scratch: [encoder's][ids, positions, types: rows each, or pixels][begins, items, grids][pooled rows][Dense
 *  inputs and outputs][a vector][every member's own].
 */
#include "models/panel.h"

#include <string.h>

#include "base/detail.h"
#include "models/encode.h"
#include "models/pass.h"
#include "models/pooling.h"

static size_t aligned(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static size_t dense_width(uform_encode_call_t const *call) {
    size_t widest = 0;
    for (size_t i = 0; i < call->plan.dense_count; ++i) {
        uform_linear_t const *linear = &call->tower_packing->dense[i];
        if (widest < linear->columns) widest = linear->columns;
        if (widest < linear->depth) widest = linear->depth;
    }
    return widest;
}

// Whether patches are numbers instead of bytes.
static bool has_numbers(uform_encode_call_t const *call) {
    return uform_preprocessor_has_planes_(&call->model->directory.preprocessor);
}

// What tokens are made of takes, of `rows` tokens: ids, or bytes or numbers of patches.
static size_t source_bytes(uform_encode_call_t const *call, size_t rows) {
    if (call->modality == uform_modality_texts_k) return 3 * aligned(rows * sizeof(uint32_t));
    size_t const number_bytes = has_numbers(call) ? sizeof(float) : sizeof(uint8_t);
    return aligned(rows * call->tower_packing->encoder.patches.depth * number_bytes);
}

static void lay_out_sources(uform_encode_call_t const *call, char *memory, size_t rows, uform_batch_t *batch) {
    size_t const row_bytes = aligned(rows * sizeof(uint32_t));
    *batch = (uform_batch_t){.pooled = call->plan.pooled};
    if (call->modality == uform_modality_texts_k) {
        batch->ids = (uint32_t *)memory;
        batch->position_ids = (uint32_t *)(memory + row_bytes);
        batch->type_ids = (uint32_t *)(memory + 2 * row_bytes);
    } else if (has_numbers(call)) batch->numbers = (float *)memory;
    else batch->pixels = (uint8_t *)memory;
}

// A member's own scratch, for the encoder and for Dense layers.
static size_t member_bytes(uform_encode_call_t const *call, size_t rows) {
    size_t const bytes = uform_encoder_member_bytes_(&call->tower_packing->encoder, call->kernels, rows);
    size_t const dense = call->plan.dense_count ? call->packing->gemm_f32->scratch_bytes : 0;
    return aligned(bytes > dense ? bytes : dense);
}

// Lays out the panel's scratch for `rows` tokens, or with NULL only measures it.
static size_t lay_out(uform_panel_t *panel, size_t rows, char *memory) {
    uform_encode_call_t const *call = panel->call;
    size_t const pooled_width = uform_padded_width_(call->plan.pooled_width), widest = dense_width(call);
    size_t const dense_stride = (uform_panel_items_k + uform_row_step_k) * 64, dense_bytes = widest / 16 * dense_stride;
    size_t const sources =
        aligned(uform_encoder_scratch_bytes_(&call->tower_packing->encoder, rows, panel->team.count));
    size_t const begins = sources + source_bytes(call, rows);
    size_t const index_bytes = aligned((uform_panel_items_k + 1) * sizeof(size_t));
    size_t const grids = begins + 2 * index_bytes;
    size_t const pooled = grids + aligned(uform_panel_items_k * sizeof(uform_grid_t));
    size_t const dense = pooled + aligned(uform_panel_items_k * pooled_width * sizeof(float));
    size_t const vector = dense + 2 * dense_bytes;
    size_t const members = vector + aligned(widest * sizeof(float));
    size_t const each = member_bytes(call, rows);
    if (memory) {
        lay_out_sources(call, memory + sources, rows, &panel->batch);
        panel->batch.text_begins = (size_t *)(memory + begins);
        panel->batch.grids = (uform_grid_t *)(memory + grids);
        panel->capacity_rows = rows;
        panel->items = (size_t *)(memory + begins + index_bytes);
        panel->encoder_scratch = memory;
        panel->pooled = (float *)(memory + pooled);
        panel->dense[0] = (uform_panels_t){memory + dense, dense_stride};
        panel->dense[1] = (uform_panels_t){memory + dense + dense_bytes, dense_stride};
        panel->vector = (float *)(memory + vector);
        panel->members = memory + members;
        panel->member_bytes = each;
    }
    return members + panel->team.count * each;
}

static char *panel_line(uform_panels_t panels, size_t column, size_t text) {
    return (char *)panels.data + column / 16 * panels.stride_bytes + text * 64;
}

static void to_panels(uform_panel_t *panel, size_t width) {
    size_t const padded = uform_padded_width_(width);
    for (size_t text = 0; text < panel->batch.text_count; ++text)
        for (size_t column = 0; column < padded; column += 16)
            memcpy(panel_line(panel->dense[0], column, text), panel->pooled + text * padded + column, 64);
}

// Copies a text's vector out of f32 panels; `vector` has room for the padded width.
static void from_panels(uform_panels_t panels, size_t text, size_t width, float *vector) {
    for (size_t column = 0; column < width; column += 16) memcpy(vector + column, panel_line(panels, column, text), 64);
}

static void normalize_panels(uform_panel_t *panel, uform_panels_t panels, size_t width) {
    for (size_t text = 0; text < panel->batch.text_count; ++text) {
        from_panels(panels, text, width, panel->vector);
        uform_normalize_vector_(panel->vector, width);
        for (size_t column = 0; column < width; column += 16)
            memcpy(panel_line(panels, column, text), panel->vector + column, 64);
    }
}

// Runs a Dense layer over all texts of the panel, each member its share of the columns.
static void multiply_dense(
    uform_panel_t *panel, uform_member_t const *member, size_t layer, uform_panels_t inputs, uform_panels_t outputs) {
    uform_encode_call_t const *call = panel->call;
    uform_linear_t const *linear = &call->tower_packing->dense[layer];
    uform_share_t const share = uform_share_of_(member, 0, linear->columns, uform_width_step_k);
    uform_gemm_call_t const product = {
        .inputs = inputs,
        .weights = linear->weights,
        .columns = linear->columns,
        .depth = linear->depth,
        .column_begin = share.begin,
        .column_end = share.end,
        .depth_end = linear->depth,
        .rows = panel->batch.text_count,
        .bias = linear->bias,
        .activation = call->tower->dense[layer].activation,
        .outputs = outputs,
        .scratch = member->scratch,
    };
    if (product.column_begin < product.column_end) call->packing->gemm_f32->multiply(&product);
}

// The same for all of them; the answer says where the vectors are.
static uform_panels_t run_dense(uform_panel_t *panel, uform_member_t const *member) {
    uform_encode_call_t const *call = panel->call;
    uform_dense_t const *layers = call->tower->dense;
    bool const leads = member->index == 0;
    if (leads) to_panels(panel, call->plan.pooled_width);
    for (size_t i = 0; i < call->plan.dense_count; ++i) {
        uform_panels_t const inputs = panel->dense[i % 2];
        if (leads && layers[i].normalize_inputs) normalize_panels(panel, inputs, layers[i].inputs);
        uform_team_meet_(member->team);
        multiply_dense(panel, member, i, inputs, panel->dense[(i + 1) % 2]);
        uform_team_meet_(member->team);
    }
    return panel->dense[call->plan.dense_count % 2];
}

static void pool_items(uform_panel_t *panel, uform_panels_t hidden) {
    uform_call_plan_t const *plan = &panel->call->plan;
    size_t const width = panel->call->tower->sizes.width, padded = uform_padded_width_(plan->pooled_width);
    bool const one_row = uform_encoder_ends_in_texts_(&panel->call->tower_packing->encoder, plan->pooled);
    for (size_t text = 0; text < panel->batch.text_count; ++text) {
        float *vector = panel->pooled + text * padded;
        size_t const begin = one_row ? text : panel->batch.text_begins[text];
        size_t const end = one_row ? text + 1 : panel->batch.text_begins[text + 1];
        for (size_t mode = 0; mode < plan->pooling_count; ++mode)
            uform_pool_(hidden, begin, end, plan->skipped_tokens, width, plan->pooling[mode], vector + mode * width);
        memset(vector + plan->pooled_width, 0, (padded - plan->pooled_width) * sizeof(float));
    }
}

static void write_items(uform_panel_t *panel, uform_panels_t dense) {
    uform_encode_call_t *call = panel->call;
    uform_call_plan_t const *plan = &call->plan;
    size_t const padded = uform_padded_width_(plan->pooled_width);
    for (size_t text = 0; text < panel->batch.text_count; ++text) {
        float *vector = panel->pooled + text * padded;
        if (dense.data) {
            vector = panel->vector;
            from_panels(dense, text, plan->normalized_dimensions, vector);
        }
        if (plan->normalize) uform_normalize_vector_(vector, plan->normalized_dimensions);
        size_t const item = panel->items[text];
        if (!uform_write_embedding_(
                vector, plan->dimensions, plan->scalar, call->embeddings + item * call->stride_bytes))
            uform_fail_item_(call, item,
                uform_fail_(uform_status_not_finite_k,
                    "the embedding holds a NaN, an infinity or a number too large for %s",
                    uform_scalar_name(plan->scalar)));
    }
}

void uform_panel_run_(uform_panel_t *panel, size_t index) {
    uform_encode_call_t const *call = panel->call;
    if (!panel->batch.text_count) return;
    uform_member_t const member = {&panel->team, index, panel->members + index * panel->member_bytes};
    uform_panels_t const hidden = uform_encoder_run_(
        &call->tower_packing->encoder, call->kernels, &panel->batch, &member, panel->encoder_scratch);
    uform_panels_t dense = {0};
    if (index == 0) pool_items(panel, hidden);
    if (call->plan.dense_count) dense = run_dense(panel, &member);
    if (index == 0) write_items(panel, dense);
}

uform_panel_answer_t uform_panel_add_(uform_panel_t *panel, size_t item, size_t tokens, size_t *text) {
    uform_batch_t *batch = &panel->batch;
    uform_panel_answer_t answer = uform_panel_added_k;
    uform_lock_(&panel->lock);
    bool const full = batch->text_count == uform_panel_items_k ||
                      (batch->text_count && batch->row_count + tokens > panel->call->panel_rows);
    if (full || batch->row_count + tokens > panel->capacity_rows) {
        bool const refused = panel->refused_tokens && tokens >= panel->refused_tokens;
        answer = refused ? uform_panel_hopeless_k : uform_panel_full_k;
        if (!refused && panel->waiting_tokens < tokens) panel->waiting_tokens = tokens;
    } else {
        *text = batch->text_count++;
        panel->items[*text] = item;
        batch->text_begins[*text] = batch->row_count;
        batch->row_count += tokens;
        batch->text_begins[*text + 1] = batch->row_count;
    }
    uform_unlock_(&panel->lock);
    if (answer == uform_panel_hopeless_k)
        uform_fail_(uform_status_out_of_memory_k, "there is no memory to encode %zu tokens at once", tokens);
    return answer;
}

void uform_panel_empty_(uform_panel_t *panel, uform_worker_t const *worker) {
    size_t const waiting = panel->waiting_tokens;
    panel->batch.text_count = panel->batch.row_count = panel->waiting_tokens = 0;
    if (waiting <= panel->capacity_rows) return;
    size_t const rows = waiting > uform_panel_rows_k ? waiting : uform_panel_rows_k;
    char *memory = uform_scratch_(worker, lay_out(panel, rows, NULL));
    panel->capacity_rows = 0;
    panel->refused_tokens = memory ? 0 : waiting;
    if (memory) lay_out(panel, rows, memory);
}
