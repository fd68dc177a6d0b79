/**
 *  Reads a transformer's tensors by its descriptor and packs them.
 */
#include "models/encoder.h"

#include <math.h>

#include "base/detail.h"
#include "base/memory.h"

typedef struct loader_t {
    uform_directory_t const *directory;
    uform_encoder_t *encoder;
    uform_packer_t packer;
    size_t layer;
} loader_t;

static uform_grouping_t head_grouping(uform_encoder_t const *encoder) {
    return (uform_grouping_t){encoder->sizes.heads, encoder->sizes.width / encoder->sizes.heads, encoder->head_width};
}

static uform_status_t load_norm(loader_t *loader, char const *stem, uform_norm_t *norm) {
    size_t const width = loader->encoder->sizes.width;
    uform_tensor_t gain, shift;
    uform_status_t status = uform_directory_tensor_(loader->directory, stem, loader->layer, "weight", width, 0, &gain);
    if (!status) status = uform_directory_tensor_(loader->directory, stem, loader->layer, "bias", width, 0, &shift);
    if (!status) status = uform_packer_vector_(&loader->packer, &gain, &norm->gain);
    if (!status) status = uform_packer_vector_(&loader->packer, &shift, &norm->shift);
    return status;
}

static uform_status_t load_table(loader_t *loader, char const *stem, size_t rows, void **table) {
    uform_tensor_t tensor;
    uform_status_t const status =
        uform_directory_tensor_(loader->directory, stem, 0, "weight", rows, loader->encoder->sizes.width, &tensor);
    return status ? status : uform_packer_table_(&loader->packer, &tensor, loader->encoder->precision, table);
}

// Fills a reserved linear layer, or a part of it, from the tensors of one stem.
static uform_status_t fill_linear(loader_t *loader, char const *stem, uform_grouping_t outputs, uform_grouping_t inputs,
    size_t column_begin, uform_linear_t *linear) {
    size_t const rows = outputs.count * outputs.real, columns = inputs.count * inputs.real;
    uform_tensor_t weight, bias;
    uform_status_t status =
        uform_directory_tensor_(loader->directory, stem, loader->layer, "weight", rows, columns, &weight);
    if (!status) status = uform_directory_tensor_(loader->directory, stem, loader->layer, "bias", rows, 0, &bias);
    if (status) return status;
    return uform_packer_fill_(&loader->packer, &weight, &bias, outputs, inputs, column_begin, linear);
}

static uform_status_t load_projections(loader_t *loader, uform_linear_t *linear) {
    uform_architecture_t const *architecture = loader->directory->architecture;
    char const *const stems[3] = {architecture->query, architecture->key, architecture->value};
    uform_grouping_t const heads = head_grouping(loader->encoder);
    size_t const columns = heads.count * heads.padded;
    uform_status_t status = uform_packer_reserve_(&loader->packer, 3 * columns, loader->encoder->width, linear);
    for (size_t part = 0; part < 3 && !status; ++part)
        status = fill_linear(
            loader, stems[part], heads, uform_ungrouped_(loader->encoder->sizes.width), part * columns, linear);
    return status;
}

static uform_status_t load_linear(
    loader_t *loader, char const *stem, uform_grouping_t outputs, uform_grouping_t inputs, uform_linear_t *linear) {
    uform_status_t const status =
        uform_packer_reserve_(&loader->packer, outputs.count * outputs.padded, inputs.count * inputs.padded, linear);
    return status ? status : fill_linear(loader, stem, outputs, inputs, 0, linear);
}

static uform_status_t load_layer(loader_t *loader, uform_layer_t *layer) {
    uform_architecture_t const *architecture = loader->directory->architecture;
    uform_grouping_t const width = uform_ungrouped_(loader->encoder->sizes.width);
    uform_grouping_t const inner = uform_ungrouped_(loader->encoder->sizes.feed_forward_width);
    uform_status_t status = load_projections(loader, &layer->projections);
    if (!status)
        status = load_linear(
            loader, architecture->attention_output, width, head_grouping(loader->encoder), &layer->attention_output);
    if (!status) status = load_norm(loader, architecture->attention_norm, &layer->attention_norm);
    if (!status) status = load_linear(loader, architecture->feed_forward_up, inner, width, &layer->up);
    if (!status) status = load_linear(loader, architecture->feed_forward_down, width, inner, &layer->down);
    if (!status) status = load_norm(loader, architecture->feed_forward_norm, &layer->feed_forward_norm);
    return status;
}

static uform_status_t load_all(loader_t *loader) {
    uform_architecture_t const *architecture = loader->directory->architecture;
    uform_encoder_t *encoder = loader->encoder;
    encoder->layers = uform_allocate_(encoder->sizes.layers, sizeof(uform_layer_t));
    if (!encoder->layers) return uform_status_out_of_memory_k;
    uform_status_t status = load_table(loader, architecture->words, encoder->sizes.vocabulary_count, &encoder->words);
    if (!status)
        status = load_table(loader, architecture->positions, encoder->sizes.position_count, &encoder->positions);
    if (!status) status = load_table(loader, architecture->types, encoder->sizes.type_count, &encoder->types);
    if (!status) status = load_norm(loader, architecture->embedding_norm, &encoder->embedding_norm);
    for (loader->layer = 0; loader->layer < encoder->sizes.layers && !status; ++loader->layer)
        status = load_layer(loader, &encoder->layers[loader->layer]);
    return status;
}

uform_status_t uform_encoder_load_(uform_directory_t const *directory, uform_scalar_t precision,
    uform_gemm_t const *gemm, uform_weights_memory_t *memory, uform_encoder_t *encoder) {
    uform_architecture_sizes_t const *sizes = &directory->sizes;
    *encoder = (uform_encoder_t){
        .sizes = *sizes,
        .first_position = directory->architecture->first_position,
        .precision = precision,
        .gemm = gemm,
        .width = uform_padded_width_(sizes->width),
        .head_width = uform_padded_width_(sizes->width / sizes->heads),
        .feed_forward_width = uform_padded_width_(sizes->feed_forward_width),
        .attention_scale = 1.0f / sqrtf((float)(sizes->width / sizes->heads)),
    };
    size_t deepest = sizes->heads * encoder->head_width;
    if (deepest < encoder->width) deepest = encoder->width;
    if (deepest < encoder->feed_forward_width) deepest = encoder->feed_forward_width;
    loader_t loader = {.directory = directory, .encoder = encoder};
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
