/**
 *  Reads a tower's tensors by its descriptor and packs them.
 */
#include "models/encoder_load.h"

#include <math.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "models/encoder_positions.h"

uform_grouping_t uform_loader_heads_(uform_encoder_t const *encoder) {
    return (uform_grouping_t){encoder->sizes.heads, encoder->sizes.head_width, encoder->head_width};
}

// Where pairs are rotated, each half of a head of queries or keys is padded by itself, so that both of a pair are at the same
// place of it.
static uform_grouping_t pair_grouping(uform_encoder_t const *encoder, size_t heads) {
    uform_grouping_t const whole = {heads, encoder->sizes.head_width, encoder->head_width};
    if (!uform_is_rotated_(encoder->architecture)) return whole;
    return (uform_grouping_t){2 * whole.count, whole.real / 2, whole.padded / 2};
}

uform_status_t uform_loader_tensor_(
    uform_loader_t *loader, char const *stem, char const *suffix, size_t rows, size_t columns, uform_tensor_t *tensor) {
    return uform_directory_tensor_(
        loader->directory, loader->tower, stem, loader->layer, suffix, rows, columns, tensor);
}

static uform_status_t load_vector(uform_loader_t *loader, char const *stem, char const *suffix, float **vector) {
    uform_tensor_t tensor;
    uform_status_t const status = uform_loader_tensor_(loader, stem, suffix, loader->encoder->sizes.width, 0, &tensor);
    return status ? status : uform_packer_vector_(&loader->packer, &tensor, vector);
}

// Gains as they are meant.
static void complete_gains(uform_loader_t const *loader, float *gains, size_t count) {
    for (size_t i = 0; i < count && loader->encoder->architecture->gains_from_one; ++i) gains[i] += 1.0f;
}

uform_status_t uform_loader_floats_(uform_loader_t *loader, size_t count, float **floats) {
    void *memory = NULL;
    uform_status_t const status =
        uform_weights_allocate_(loader->packer.memory, (count ? count : 1) * sizeof(float), &memory);
    *floats = memory;
    return status;
}

uform_status_t uform_loader_norm_(uform_loader_t *loader, char const *stem, uform_norm_t *norm) {
    size_t const width = loader->encoder->width;
    uform_status_t status = load_vector(loader, stem, "weight", &norm->gain);
    if (!status) complete_gains(loader, norm->gain, loader->encoder->sizes.width);
    if (status || loader->encoder->sizes.norm_bias)
        return status ? status : load_vector(loader, stem, "bias", &norm->shift);
    status = uform_loader_floats_(loader, width, &norm->shift);
    if (!status) memset(norm->shift, 0, width * sizeof(float));
    return status;
}

static uform_status_t load_table(uform_loader_t *loader, char const *name, size_t rows, void **table) {
    uform_tensor_t tensor;
    uform_status_t const status = uform_loader_tensor_(loader, name, NULL, rows, loader->encoder->sizes.width, &tensor);
    return status ? status : uform_packer_table_(&loader->packer, &tensor, loader->encoder->precision, table);
}

uform_status_t uform_loader_fill_(uform_loader_t *loader, uform_part_t part, uform_grouping_t outputs,
    uform_grouping_t inputs, size_t column_begin, uform_linear_t *linear) {
    size_t const rows = outputs.count * outputs.real, columns = inputs.count * inputs.real;
    size_t const all_rows = part.part_count ? part.part_count * rows : rows;
    uform_tensor_t weight, bias;
    uform_status_t status = uform_loader_tensor_(loader, part.stem, "weight", all_rows, columns, &weight);
    if (!status && !part.no_bias) status = uform_loader_tensor_(loader, part.stem, "bias", all_rows, 0, &bias);
    if (status) return status;
    weight = uform_tensor_rows_(&weight, part.part * rows, rows);
    if (!part.no_bias) bias = uform_tensor_rows_(&bias, part.part * rows, rows);
    return uform_packer_fill_(
        &loader->packer, &weight, part.no_bias ? NULL : &bias, outputs, inputs, column_begin, linear);
}

uform_status_t uform_loader_linear_(uform_loader_t *loader, uform_part_t part, uform_grouping_t outputs,
    uform_grouping_t inputs, uform_linear_t *linear) {
    uform_status_t const status =
        uform_packer_reserve_(&loader->packer, outputs.count * outputs.padded, inputs.count * inputs.padded, linear);
    return status ? status : uform_loader_fill_(loader, part, outputs, inputs, 0, linear);
}

// Whether several layers are stacked in one, because the first of them isn't there by itself.
static bool is_fused(uform_loader_t const *loader, char const *stack, char const *first) {
    uform_tensor_t tensor;
    return stack && !(first && uform_directory_find_(
                                   loader->directory, loader->tower, NULL, first, loader->layer, "weight", &tensor));
}

static uform_status_t load_projections(uform_loader_t *loader, uform_linear_t *linear) {
    uform_encoder_t const *encoder = loader->encoder;
    uform_architecture_t const *architecture = encoder->architecture;
    size_t const shared = encoder->sizes.key_value_heads;
    uform_grouping_t const groupings[3] = {pair_grouping(encoder, encoder->sizes.heads), pair_grouping(encoder, shared),
        {shared, encoder->sizes.head_width, encoder->head_width}};
    bool const no_bias[3] = {!encoder->sizes.query_bias, !encoder->sizes.key_bias, !encoder->sizes.value_bias};
    char const *const stems[3] = {architecture->query, architecture->key, architecture->value};
    char const *const all = architecture->query_key_value;
    bool const fused = is_fused(loader, all, architecture->query);
    uform_status_t status =
        uform_packer_reserve_(&loader->packer, uform_projection_columns_(encoder), encoder->width, linear);
    for (size_t i = 0, column = 0; i < 3 && !status; ++i) {
        uform_part_t const part =
            fused ? (uform_part_t){all, no_bias[i], i, 3} : (uform_part_t){stems[i], no_bias[i], 0, 0};
        status = uform_loader_fill_(loader, part, groupings[i], uform_ungrouped_(encoder->sizes.width), column, linear);
        column += groupings[i].count * groupings[i].padded;
    }
    return status;
}

// A branch's scale is part of its last matrix.
static uform_status_t load_scaled(uform_loader_t *loader, char const *scale, uform_part_t part,
    uform_grouping_t outputs, uform_grouping_t inputs, uform_linear_t *linear) {
    if (!scale) return uform_loader_linear_(loader, part, outputs, inputs, linear);
    size_t const width = loader->encoder->sizes.width;
    uform_tensor_t tensor;
    uform_status_t status = uform_loader_tensor_(loader, scale, NULL, width, 0, &tensor);
    if (status) return status;
    float *const row_scale = uform_allocate_(width, sizeof(float));
    if (!row_scale) return uform_status_out_of_memory_k;
    status = uform_tensor_read_(&tensor, 0, 1, row_scale, width);
    loader->packer.row_scale = row_scale;
    if (!status) status = uform_loader_linear_(loader, part, outputs, inputs, linear);
    loader->packer.row_scale = NULL;
    uform_free_(row_scale);
    return status;
}

static uform_status_t load_feed_forward(uform_loader_t *loader, uform_feed_forward_t *target) {
    uform_architecture_t const *architecture = loader->encoder->architecture;
    uform_architecture_sizes_t const *sizes = &loader->encoder->sizes;
    uform_grouping_t const width = uform_ungrouped_(sizes->width), inner = uform_ungrouped_(sizes->feed_forward_width);
    bool const no_bias = !sizes->feed_forward_bias;
    uform_part_t up = {architecture->feed_forward_up, no_bias, 0, 0};
    uform_part_t down = {architecture->feed_forward_down, no_bias, 0, 0};
    uform_status_t status = uform_status_ok_k;
    if (sizes->gated) {
        char const *const both = architecture->gate_and_up;
        bool const fused = is_fused(loader, both, architecture->gate);
        uform_part_t const gate =
            fused ? (uform_part_t){both, no_bias, 0, 2} : (uform_part_t){architecture->gate, no_bias, 0, 0};
        up = fused ? (uform_part_t){both, no_bias, 1, 2} : (uform_part_t){architecture->gated_up, no_bias, 0, 0};
        down.stem = architecture->gated_down;
        status = uform_loader_linear_(loader, gate, inner, width, &target->gate);
    }
    if (!status) status = uform_loader_linear_(loader, up, inner, width, &target->up);
    if (!status) status = load_scaled(loader, architecture->feed_forward_scale, down, width, inner, &target->down);
    return status;
}

// The gain of a norm of heads, padded as they are.
static uform_status_t load_head_gain(uform_loader_t *loader, char const *stem, float **gain) {
    uform_encoder_t const *encoder = loader->encoder;
    uform_grouping_t const parts = pair_grouping(encoder, 1);
    uform_tensor_t tensor;
    uform_status_t status = uform_loader_tensor_(loader, stem, "weight", encoder->sizes.head_width, 0, &tensor);
    if (!status) status = uform_tensor_read_(&tensor, 0, 1, loader->packer.row, encoder->sizes.head_width);
    if (!status) status = uform_loader_floats_(loader, encoder->head_width, gain);
    if (status) return status;
    complete_gains(loader, loader->packer.row, encoder->sizes.head_width);
    memset(*gain, 0, encoder->head_width * sizeof(float));
    for (size_t part = 0; part < parts.count; ++part)
        memcpy(*gain + part * parts.padded, loader->packer.row + part * parts.real, parts.real * sizeof(float));
    return status;
}

static uform_status_t load_layer(uform_loader_t *loader, uform_layer_t *layer) {
    uform_encoder_t const *encoder = loader->encoder;
    uform_architecture_t const *architecture = encoder->architecture;
    uform_part_t const output = {architecture->attention_output, !encoder->sizes.output_bias, 0, 0};
    uform_status_t status = load_projections(loader, &layer->projections);
    if (!status)
        status = load_scaled(loader, architecture->attention_scale, output, uform_ungrouped_(encoder->sizes.width),
            uform_loader_heads_(encoder), &layer->attention_output);
    if (!status && architecture->query_norm)
        status = load_head_gain(loader, architecture->query_norm, &layer->query_gain);
    if (!status && architecture->key_norm) status = load_head_gain(loader, architecture->key_norm, &layer->key_gain);
    if (!status && (loader->layer || !architecture->first_attention_unnormed))
        status = uform_loader_norm_(loader, architecture->attention_norm, &layer->attention_norm);
    if (!status && architecture->attention_branch_norm)
        status = uform_loader_norm_(loader, architecture->attention_branch_norm, &layer->attention_branch_norm);
    if (!status) status = load_feed_forward(loader, &layer->feed_forward);
    if (!status && architecture->feed_forward_branch_norm)
        status = uform_loader_norm_(loader, architecture->feed_forward_branch_norm, &layer->feed_forward_branch_norm);
    if (!status) status = uform_loader_norm_(loader, architecture->feed_forward_norm, &layer->feed_forward_norm);
    return status;
}

// Spreads the table, [distances, heads], over all distances of a text's tokens; attention may read a few beyond.
static void spread_distances(uform_encoder_t const *encoder, float const *table, size_t reach, float *bias) {
    for (size_t head = 0; head < encoder->sizes.heads; ++head)
        for (size_t place = 0; place < 2 * reach; ++place) {
            bool const after = place > reach;
            size_t const bucket = uform_distance_bucket_(after ? place - reach : reach - place, after);
            bias[head * encoder->distance_stride + place] =
                table[bucket * encoder->sizes.heads + head] / encoder->attention_scale;
        }
}

// Distances that two tokens of a text may have, and a few more.
static size_t reach_of(uform_architecture_sizes_t const *sizes) {
    return sizes->position_count - sizes->first_position + uform_row_step_k;
}

static uform_status_t load_distances(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_architecture_sizes_t const *sizes = &encoder->sizes;
    size_t const reach = reach_of(sizes);
    float *bias = NULL;
    uform_tensor_t tensor;
    uform_status_t status = uform_loader_tensor_(
        loader, encoder->architecture->distance_bias, NULL, sizes->distance_count, sizes->heads, &tensor);
    if (status) return status;
    float *const table = uform_allocate_(uform_distance_buckets_k * sizes->heads, sizeof(float));
    if (!table) return uform_status_out_of_memory_k;
    encoder->distance_stride = 2 * reach;
    status = uform_tensor_read_(&tensor, 0, uform_distance_buckets_k, table, sizes->heads);
    if (!status) status = uform_loader_floats_(loader, sizes->heads * encoder->distance_stride, &bias);
    if (!status) {
        spread_distances(encoder, table, reach, bias);
        encoder->distance_bias = bias + reach;
    }
    uform_free_(table);
    return status;
}

// What is beyond the window is infinitely unlikely.
static uform_status_t make_window(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    size_t const reach = reach_of(&encoder->sizes), farthest = encoder->sizes.farthest;
    float *bias = NULL;
    uform_status_t const status = uform_loader_floats_(loader, 2 * reach, &bias);
    if (status) return status;
    for (size_t place = 0; place < 2 * reach; ++place) {
        size_t const distance = place > reach ? place - reach : reach - place;
        bias[place] = distance > farthest ? -INFINITY : 0.0f;
    }
    encoder->window_bias = bias + reach;
    return status;
}

static uform_status_t make_rotations(uform_loader_t *loader, float base, uform_rotations_t *rotations) {
    uform_encoder_t const *encoder = loader->encoder;
    size_t const count = encoder->sizes.position_count, half = encoder->head_width / 2;
    uform_status_t status = uform_loader_floats_(loader, count * half, &rotations->cosines);
    if (!status) status = uform_loader_floats_(loader, count * half, &rotations->sines);
    if (!status)
        uform_rotary_places_(base, count, encoder->sizes.head_width, half, rotations->cosines, rotations->sines);
    return status;
}

static uform_status_t load_texts(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_architecture_t const *architecture = encoder->architecture;
    if (architecture->words_by_root) loader->packer.table_scale = sqrtf((float)encoder->sizes.width);
    uform_status_t status = load_table(loader, architecture->words, encoder->sizes.vocabulary_count, &encoder->words);
    loader->packer.table_scale = 0;
    if (!status && architecture->positions)
        status = load_table(loader, architecture->positions, encoder->sizes.position_count, &encoder->positions);
    if (!status && architecture->types)
        status = load_table(loader, architecture->types, encoder->sizes.type_count, &encoder->types);
    return status;
}

// What attention knows of where tokens are: biases by distance, rotations. Their sizes are config.json's, so that all tensors
// come first.
static uform_status_t make_places(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_architecture_t const *architecture = encoder->architecture;
    uform_architecture_sizes_t const *sizes = &encoder->sizes;
    uform_status_t status = architecture->distance_bias ? load_distances(loader) : uform_status_ok_k;
    if (!status && architecture->positions_kind == uform_positions_rotary_texts_k)
        status = make_rotations(loader, sizes->rotary_base, &encoder->rotations);
    if (status || !architecture->has_windows) return status;
    status = make_rotations(loader, sizes->local_rotary_base, &encoder->local_rotations);
    return status ? status : make_window(loader);
}

static uform_status_t load_all(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_architecture_t const *architecture = encoder->architecture;
    encoder->layers = uform_allocate_(encoder->sizes.layers, sizeof(uform_layer_t));
    if (!encoder->layers) return uform_status_out_of_memory_k;
    uform_status_t status = architecture->patches ? uform_loader_patches_(loader) : load_texts(loader);
    if (!status && architecture->embedding_norm)
        status = uform_loader_norm_(loader, architecture->embedding_norm, &encoder->embedding_norm);
    for (loader->layer = 0; loader->layer < encoder->sizes.layers && !status; ++loader->layer)
        status = load_layer(loader, &encoder->layers[loader->layer]);
    if (!status && architecture->final_norm)
        status = uform_loader_norm_(loader, architecture->final_norm, &encoder->final_norm);
    if (!status && encoder->has_head) status = uform_loader_head_(loader);
    return status ? status : make_places(loader);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

uform_status_t uform_encoder_load_(uform_directory_t const *directory, uform_tower_t const *tower,
    uform_scalar_t precision, uform_gemm_t const *gemm, uform_weights_memory_t *memory, uform_encoder_t *encoder) {
    uform_architecture_sizes_t const *sizes = &tower->sizes;
    size_t const head = sizes->head_width;
    bool const rotated = uform_is_rotated_(tower->architecture);
    *encoder = (uform_encoder_t){
        .architecture = tower->architecture,
        .sizes = *sizes,
        .precision = precision,
        .gemm = gemm,
        .width = uform_padded_width_(sizes->width),
        .head_width = rotated ? 2 * uform_padded_width_(head / 2) : uform_padded_width_(head),
        .feed_forward_width = uform_padded_width_(sizes->feed_forward_width),
        .attention_scale = 1.0f / sqrtf(sizes->attention_scalar > 0 ? sizes->attention_scalar : (float)head),
        .activation = sizes->gated && tower->architecture->gate_is_silu ? uform_activation_silu_k : sizes->activation,
        .has_head = sizes->attention_head,
    };
    size_t deepest = larger(larger(sizes->heads * encoder->head_width, encoder->width), encoder->feed_forward_width);
    deepest = larger(deepest, uform_padded_width_(sizes->channels * sizes->patch * sizes->patch));
    uform_loader_t loader = {.directory = directory, .tower = tower, .encoder = encoder};
    uform_status_t status = uform_packer_open_(gemm, deepest, memory, &loader.packer);
    if (status) return status;
    status = load_all(&loader);
    uform_packer_close_(&loader.packer);
    if (status) uform_encoder_free_(encoder);
    return status;
}

void uform_encoder_free_(uform_encoder_t *encoder) {
    uform_free_(encoder->layers);
    *encoder = (uform_encoder_t){0};
}
