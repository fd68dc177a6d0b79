/**
 *  The pass of a ragged batch through all layers: a panel of tokens whose activations stay in the core's own cache.
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

#include "models/pass.h"

enum { window_stretch_k = 128 }; // queries that share their keys where they see a window

static void look_up(uform_pass_t const *pass) {
    uform_share_t const share = uform_share_of_(pass->member, 0, pass->rows, uform_row_step_k);
    uform_lookup_call_t const call = {
        .words = pass->encoder->words,
        .positions = pass->encoder->positions,
        .types = pass->encoder->types,
        .ids = pass->batch->ids + share.begin,
        .position_ids = pass->batch->position_ids + share.begin,
        .type_ids = pass->batch->type_ids + share.begin,
        .rows = share.end - share.begin,
        .width = pass->encoder->sizes.width,
        .residual = uform_rows_from_(pass->residual, share.begin),
    };
    if (call.rows) pass->kernels->lookup(&call);
    uform_pass_meet_(pass);
}

// The member's rows of a matrix of sums, normalised in place and rounded into the hidden state.
static uform_normalize_call_t normalization(uform_pass_t const *pass, uform_norm_t const *norm, uform_panels_t sums) {
    uform_share_t const share = uform_share_of_(pass->member, 0, pass->rows, uform_row_step_k);
    return (uform_normalize_call_t){
        .residual = uform_rows_from_(sums, share.begin),
        .outputs = uform_rows_from_(pass->hidden, share.begin),
        .rows = share.end - share.begin,
        .width = pass->encoder->sizes.width,
        .epsilon = pass->encoder->sizes.norm_epsilon,
        .gain = norm->gain,
        .shift = norm->shift,
        .root_mean_square = pass->encoder->architecture->root_mean_square,
    };
}

static void normalize(uform_pass_t const *pass, uform_norm_t const *norm, float const *next_bias, bool keep) {
    uform_normalize_call_t call = normalization(pass, norm, pass->residual);
    call.next_bias = next_bias;
    call.keep = keep;
    if (call.rows) pass->kernels->normalize(&call);
    uform_pass_meet_(pass);
}

// What a branch's last product adds to the residual ahead of it: its bias, unless the branch is summed by itself.
static float const *bias_ahead(uform_pass_t const *pass, uform_linear_t const *linear) {
    return pass->branch.data ? NULL : linear->bias;
}

// Begins a branch that is summed by itself with its bias: the member's columns, which it will add to.
static void begin_branch(uform_pass_t const *pass, uform_linear_t const *linear) {
    uform_share_t const share = uform_share_of_columns_(pass, 0, linear->columns);
    for (size_t column = share.begin; column < share.end && pass->branch.data; column += 16)
        for (size_t row = 0; row < pass->rows; ++row)
            memcpy(uform_line_at_(pass->branch, column / 16, row), linear->bias + column, 64);
}

// Ends it: normalised, the member's rows are added to the residual. The hidden state, made anew next, takes what nobody reads.
static void end_branch(uform_pass_t const *pass, uform_norm_t const *norm) {
    if (!pass->branch.data) return;
    uform_share_t const share = uform_share_of_(pass->member, 0, pass->rows, uform_row_step_k);
    uform_normalize_call_t const call = normalization(pass, norm, pass->branch);
    if (!call.rows) return;
    pass->kernels->normalize(&call);
    for (size_t panel = 0; panel < pass->encoder->width / 16; ++panel) {
        float *const sums = (float *)uform_line_at_(pass->residual, panel, share.begin);
        float const *const branch = (float const *)uform_line_at_(pass->branch, panel, share.begin);
        for (size_t i = 0; i < call.rows * 16; ++i) sums[i] += branch[i];
    }
}

// The row of a text that counts in the end; that of attention pooling's query with a head.
static size_t pooled_row(uform_pass_t const *pass, size_t text) {
    size_t const *begins = pass->batch->text_begins + text;
    bool const last = pass->batch->pooled == uform_pooled_rows_last_k && !pass->encoder->has_head;
    return last ? begins[1] - 1 : begins[0];
}

// Where the angles of a text, or an image, begin.
static uform_rotations_t rotations_of(uform_pass_t const *pass, size_t text) {
    uform_patches_t const *patches = &pass->encoder->patches;
    size_t const first = pass->batch->text_begins[text] * pass->encoder->head_width / 2;
    if (pass->rotations.cosines) return pass->rotations;
    if (uform_is_usual_(pass, text)) return (uform_rotations_t){patches->cosines, patches->sines};
    return (uform_rotations_t){pass->cosines + first, pass->sines + first};
}

// Rotates heads [begin, end) of the queries, with the keys behind them, by their tokens' or patches' places; of every text's
// row that counts only, if `pooled`.
static void rotate(uform_pass_t const *pass, size_t head_begin, size_t head_end, bool pooled) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_share_t const heads = uform_share_of_(pass->member, head_begin, head_end, 1);
    size_t const half = encoder->head_width / 2;
    uform_rotate_call_t call = {
        .panels = uform_panels_from_(pass->projections, heads.begin * encoder->head_width / pass->lane),
        .heads = heads.end - heads.begin,
        .head_width = encoder->head_width,
    };
    for (size_t text = 0; text < pass->batch->text_count && call.heads; ++text) {
        size_t const begin = pass->batch->text_begins[text], skip = pooled ? pooled_row(pass, text) - begin : 0;
        uform_rotations_t const angles = rotations_of(pass, text);
        call.cosines = angles.cosines + skip * half;
        call.sines = angles.sines + skip * half;
        call.row_begin = begin + skip;
        call.rows = pooled ? 1 : pass->batch->text_begins[text + 1] - begin;
        pass->kernels->rotate(&call);
    }
    uform_pass_meet_(pass);
}

// Attention of a text's queries, or where they see a window, of stretches of them over the keys that some of a stretch see.
// Stretches are the same whichever queries there are, and so are sums.
static void attend_text(uform_pass_t const *pass, uform_attention_call_t const *call) {
    if (!pass->window || call->length <= window_stretch_k) {
        pass->attention->attend(call);
        return;
    }
    size_t const end = call->query_count ? call->query_begin + call->query_count : call->length;
    for (size_t query = call->query_begin, next; query < end; query = next) {
        size_t const first = query / window_stretch_k * window_stretch_k, last = first + window_stretch_k;
        size_t const key_begin = first > pass->window ? first - pass->window : 0;
        size_t const beyond = call->causal ? 0 : pass->window;
        size_t const key_end = last + beyond < call->length ? last + beyond : call->length;
        next = last < end ? last : end;
        uform_attention_call_t stretch = *call;
        stretch.row_begin += key_begin;
        stretch.length = key_end - key_begin;
        stretch.query_begin = query - key_begin;
        stretch.query_count = next - query;
        pass->attention->attend(&stretch);
    }
}

// Attention of every text over its own tokens; of the row that counts only, if `pooled`. Members share the heads of all texts.
static void attend_texts(uform_pass_t const *pass, bool pooled) {
    size_t const heads = pass->encoder->sizes.heads, head_panels = pass->encoder->head_width / pass->lane;
    size_t const shared = pass->encoder->sizes.key_value_heads, each = heads / shared;
    uform_share_t const share = uform_share_of_(pass->member, 0, pass->batch->text_count * heads, 1);
    uform_attention_call_t call = {
        .head_width = pass->encoder->head_width,
        .scale = pass->encoder->attention_scale,
        .scratch = pass->member->scratch,
        .causal = pass->encoder->sizes.causal,
        .query_count = pooled ? 1 : 0,
        .bias_stride = pass->bias_stride,
    };
    for (size_t next = share.begin, end; next < share.end; next = end) {
        size_t const text = next / heads, first = next % heads;
        end = share.end < (text + 1) * heads ? share.end : (text + 1) * heads;
        if (each > 1) end = next + 1;
        call.heads = end - next;
        call.queries = uform_panels_from_(pass->projections, first * head_panels);
        call.keys = uform_panels_from_(pass->projections, (heads + first / each) * head_panels);
        call.values = uform_panels_from_(call.keys, shared * head_panels);
        call.outputs = uform_panels_from_(pass->attended, first * head_panels);
        call.row_begin = pass->batch->text_begins[text];
        call.length = pass->batch->text_begins[text + 1] - call.row_begin;
        if (pass->bias) call.bias = pass->bias + first * call.bias_stride;
        if (pooled) call.query_begin = pooled_row(pass, text) - call.row_begin;
        if (call.length) attend_text(pass, &call);
    }
    uform_pass_meet_(pass);
}

// Normalises the heads of queries or keys, if they are to be.
static void normalize_heads(uform_pass_t const *pass, uform_panels_t panels, size_t heads, float const *gain) {
    uform_encoder_t const *encoder = pass->encoder;
    uform_share_t const share = uform_share_of_(pass->member, 0, heads, 1);
    if (!gain) return;
    uform_normalize_heads_call_t const call = {
        .panels = uform_panels_from_(panels, share.begin * encoder->head_width / pass->lane),
        .rows = pass->rows,
        .heads = share.end - share.begin,
        .head_width = encoder->head_width,
        .width = encoder->sizes.head_width,
        .epsilon = encoder->sizes.norm_epsilon,
        .gain = gain,
    };
    pass->kernels->normalize_heads(&call);
    uform_pass_meet_(pass);
}

// Adds what attention found to the residual.
static void add_attended(uform_pass_t const *pass, uform_linear_t const *linear) {
    uform_operand_t const attended = uform_prepare_attended_(pass);
    begin_branch(pass, linear);
    uform_add_product_(pass, linear, 0, linear->depth, &attended);
    uform_pass_meet_(pass);
}

static void attend(uform_pass_t const *pass, uform_layer_t const *layer) {
    uform_operand_t const hidden = uform_prepare_hidden_(pass);
    size_t const heads = pass->encoder->sizes.heads, shared = pass->encoder->sizes.key_value_heads;
    uform_panels_t const keys = uform_panels_from_(pass->projections, heads * pass->encoder->head_width / pass->lane);
    uform_project_(pass, &layer->projections, &hidden, 0, layer->projections.columns, pass->projections);
    normalize_heads(pass, pass->projections, heads, layer->query_gain);
    normalize_heads(pass, keys, shared, layer->key_gain);
    if (uform_is_rotated_(pass->encoder->architecture)) rotate(pass, 0, heads + shared, false);
    attend_texts(pass, false);
    add_attended(pass, &layer->attention_output);
}

// Brings the row of each text that counts to the row that is the text's number, which is never behind it.
static void gather_rows(uform_pass_t const *pass, uform_panels_t panels, size_t count) {
    uform_share_t const share = uform_share_of_(pass->member, 0, count, 1);
    for (size_t panel = share.begin; panel < share.end; ++panel)
        for (size_t text = 0; text < pass->batch->text_count; ++text)
            memmove(uform_line_at_(panels, panel, text), uform_line_at_(panels, panel, pooled_row(pass, text)), 64);
    uform_pass_meet_(pass);
}

// Brings queries, a row a text, to the rows that count.
static void place_queries(uform_pass_t const *pass, uform_panels_t queries, size_t count) {
    uform_share_t const share = uform_share_of_(pass->member, 0, count, 1);
    for (size_t panel = share.begin; panel < share.end; ++panel)
        for (size_t text = 0; text < pass->batch->text_count; ++text)
            memcpy(uform_line_at_(pass->projections, panel, pooled_row(pass, text)),
                uform_line_at_(queries, panel, text), 64);
    uform_pass_meet_(pass);
}

// The last layer's attention where one row a text counts: keys and values of all rows, queries of those. From here on a row is
// a text.
static void attend_pooled(uform_pass_t *pass, uform_layer_t const *layer) {
    uform_encoder_t const *encoder = pass->encoder;
    size_t const heads = encoder->sizes.heads, shared = encoder->sizes.key_value_heads;
    size_t const queries = heads * encoder->head_width, panels = queries / pass->lane;
    uform_operand_t hidden = uform_prepare_hidden_(pass);
    uform_project_(pass, &layer->projections, &hidden, queries, layer->projections.columns, pass->projections);
    normalize_heads(pass, uform_panels_from_(pass->projections, panels), shared, layer->key_gain);
    gather_rows(pass, pass->hidden, encoder->width / pass->lane);
    gather_rows(pass, pass->residual, encoder->width / 16);
    pass->rows = pass->batch->text_count;
    hidden = uform_prepare_hidden_(pass);
    uform_project_(pass, &layer->projections, &hidden, 0, queries, pass->attended);
    normalize_heads(pass, pass->attended, heads, layer->query_gain);
    place_queries(pass, pass->attended, panels);
    if (uform_is_rotated_(encoder->architecture)) {
        rotate(pass, 0, heads, true);
        rotate(pass, heads, heads + shared, false);
    }
    attend_texts(pass, true);
    gather_rows(pass, pass->attended, panels);
    add_attended(pass, &layer->attention_output);
}

// Layer `i`'s attention.
static void attend_at(uform_pass_t *pass, size_t i) {
    uform_encoder_t const *encoder = pass->encoder;
    bool const last = i + 1 == encoder->sizes.layers;
    bool const pooled = last && !encoder->has_head && pass->batch->pooled != uform_pooled_rows_all_k;
    bool const local = encoder->window_bias && i % encoder->sizes.global_every != encoder->sizes.global_phase;
    pass->bias = local ? encoder->window_bias : encoder->distance_bias;
    pass->bias_stride = local ? 0 : encoder->distance_stride;
    pass->window = local ? encoder->sizes.farthest : 0;
    pass->rotations = local ? encoder->local_rotations : encoder->rotations;
    if (pooled) attend_pooled(pass, &encoder->layers[i]);
    else attend(pass, &encoder->layers[i]);
}

// The member's columns of an upward product.
static void multiply_up(uform_pass_t const *pass, uform_linear_t const *linear, uform_operand_t const *hidden,
    uform_share_t share, uform_activation_t activation, uform_panels_t outputs) {
    uform_gemm_call_t up = uform_shared_product_(pass, linear, share, hidden);
    up.activation = activation;
    up.outputs = outputs;
    uform_pass_multiply_(pass, &up);
}

// Columns [begin, end) of the wide middle; a member's gates are of its own columns.
static void widen(uform_pass_t const *pass, uform_feed_forward_t const *layer, uform_operand_t const *hidden,
    size_t begin, size_t end) {
    uform_share_t const share = uform_share_of_columns_(pass, begin, end);
    uform_panels_t const inner = uform_numbered_from_(pass->inner, begin, pass->lane);
    uform_activation_t const activation = pass->encoder->activation;
    if (!layer->gate.weights) {
        multiply_up(pass, &layer->up, hidden, share, activation, inner);
        return;
    }
    uform_panels_t const gates = uform_numbered_from_(pass->gates, begin, pass->lane);
    multiply_up(pass, &layer->up, hidden, share, uform_activation_identity_k, inner);
    multiply_up(pass, &layer->gate, hidden, share, activation, gates);
    uform_gate_call_t const call = {
        .inner = uform_panels_from_(inner, share.begin / pass->lane),
        .gates = uform_panels_from_(gates, share.begin / pass->lane),
        .rows = pass->rows,
        .width = share.end - share.begin,
    };
    if (call.width) pass->kernels->gate(&call);
}

static void feed_forward(uform_pass_t const *pass, uform_feed_forward_t const *layer) {
    size_t const width = pass->encoder->feed_forward_width, chunk = uform_chunk_columns_(pass->encoder);
    size_t const stretch = uform_stretch_columns_(pass->encoder, pass->member->team->count);
    uform_operand_t const hidden = uform_prepare_hidden_(pass);
    begin_branch(pass, &layer->down);
    for (size_t begin = 0, end; begin < width; begin = end) {
        end = begin + stretch < width ? begin + stretch : width;
        widen(pass, layer, &hidden, begin, end);
        uform_pass_meet_(pass);
        uform_operand_t const inner = uform_prepare_(pass, &pass->integers, pass->inner, begin, end, chunk);
        for (size_t part = begin, part_end; part < end; part = part_end) {
            part_end = part + chunk < end ? part + chunk : end;
            uform_add_product_(pass, &layer->down, part, part_end, &inner);
        }
        uform_pass_meet_(pass);
    }
}

// Norms behind the sums: each takes the residual's place.
static void run_layers_norm_last(uform_pass_t *pass) {
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
static void run_layers_norm_first(uform_pass_t *pass) {
    uform_encoder_t const *encoder = pass->encoder;
    // A first attention without a norm takes what the embeddings' norm gives.
    bool const unnormed = encoder->architecture->first_attention_unnormed && encoder->sizes.layers;
    float const *next_bias = unnormed ? encoder->layers[0].attention_output.bias : NULL;
    if (encoder->embedding_norm.gain) normalize(pass, &encoder->embedding_norm, next_bias, false);
    for (size_t i = 0; i < encoder->sizes.layers; ++i) {
        uform_layer_t const *layer = &encoder->layers[i];
        if (layer->attention_norm.gain)
            normalize(pass, &layer->attention_norm, bias_ahead(pass, &layer->attention_output), true);
        attend_at(pass, i);
        end_branch(pass, &layer->attention_branch_norm);
        normalize(pass, &layer->feed_forward_norm, bias_ahead(pass, &layer->feed_forward.down), true);
        feed_forward(pass, &layer->feed_forward);
        end_branch(pass, &layer->feed_forward_branch_norm);
    }
    normalize(pass, &encoder->final_norm, NULL, false);
}

// The query that all images share takes the place of each one's first token's.
static void place_query(uform_pass_t const *pass) {
    size_t const heads_panels = pass->encoder->sizes.heads * pass->encoder->head_width / pass->lane;
    for (size_t text = 0; text < pass->batch->text_count; ++text)
        for (size_t panel = 0; panel < heads_panels; ++panel)
            memcpy(uform_line_at_(pass->projections, panel, pass->batch->text_begins[text]),
                (char const *)pass->encoder->head.query + panel * 64, 64);
}

// Attention pooling: the tokens, normalised, are looked at once by one query.
static void pool_by_attention(uform_pass_t *pass) {
    uform_attention_head_t const *head = &pass->encoder->head;
    size_t const heads_panels = pass->encoder->sizes.heads * pass->encoder->head_width / pass->lane;
    uform_operand_t const hidden = uform_prepare_hidden_(pass);
    uform_project_(pass, &head->projections, &hidden, 0, head->projections.columns,
        uform_panels_from_(pass->projections, heads_panels));
    if (uform_pass_leads_(pass)) place_query(pass);
    uform_pass_meet_(pass);
    attend_texts(pass, true);
    gather_rows(pass, pass->attended, heads_panels);
    pass->rows = pass->batch->text_count; // from here on a row is a text
    for (size_t text = 0; text < pass->rows && uform_pass_leads_(pass); ++text)
        uform_set_residual_(pass, text, 1, head->output.bias);
    uform_pass_meet_(pass);
    add_attended(pass, &head->output);
    normalize(pass, &head->norm, head->feed_forward.down.bias, true);
    feed_forward(pass, &head->feed_forward);
}

bool uform_encoder_ends_in_texts_(uform_encoder_t const *encoder, uform_pooled_rows_t pooled) {
    return encoder->has_head || (encoder->sizes.layers && pooled != uform_pooled_rows_all_k);
}

uform_panels_t uform_encoder_run_(uform_encoder_t const *encoder, uform_kernels_t const *kernels,
    uform_batch_t const *batch, uform_member_t const *member, void *scratch) {
    uform_pass_t pass = uform_pass_begin_(encoder, kernels, batch, member, scratch);
    if (encoder->architecture->patches) uform_embed_patches_(&pass);
    else look_up(&pass);
    if (encoder->architecture->positions_kind == uform_positions_rotary_k && uform_pass_leads_(&pass))
        uform_prepare_angles_(&pass);
    if (encoder->architecture->norm_first) run_layers_norm_first(&pass);
    else run_layers_norm_last(&pass);
    if (encoder->has_head) pool_by_attention(&pass);
    return pass.residual;
}
