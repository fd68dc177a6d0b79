/**
 *  Reads what only towers for images have: the patches' embedding, their places, and attention pooling.
 */
#include "models/encoder_load.h"

#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "models/encoder_positions.h"

/// What bytes of pixels become.
static uform_status_t load_values(uform_loader_t *loader) {
    enum { count_k = 3 * 256 };
    float const *values = loader->directory->preprocessor.values[0];
    void *block;
    uform_status_t const status = uform_weights_allocate_(loader->packer.memory, count_k * sizeof(float), &block);
    if (status) return status;
    for (size_t i = 0; i < count_k; ++i)
        if (loader->encoder->precision == uform_scalar_f32_k) ((float *)block)[i] = values[i];
        else ((uint16_t *)block)[i] = uform_f32_to_bf16_(values[i]);
    loader->encoder->patches.values = block;
    return uform_status_ok_k;
}

/// A convolution's weights have to be channels, rows and columns of a patch, in this order.
static uform_status_t check_convolution(uform_loader_t *loader) {
    uform_architecture_t const *architecture = loader->encoder->architecture;
    uform_architecture_sizes_t const *sizes = &loader->encoder->sizes;
    uform_tensor_t weight;
    bool const found =
        uform_directory_find_(loader->directory, loader->tower, NULL, architecture->patches, 0, "weight", &weight);
    if (!found || weight.dimension_count != 4) return uform_status_ok_k; // checked when it is read
    size_t const *dimensions = weight.dimensions;
    bool const same =
        dimensions[1] == sizes->channels && dimensions[2] == sizes->patch && dimensions[3] == sizes->patch;
    if (architecture->channels_last)
        return uform_fail_(uform_status_malformed_k, "%s: %s: shape: expected [%zu, %zu], found four dimensions",
            weight.file, weight.name, sizes->width, sizes->channels * sizes->patch * sizes->patch);
    if (same) return uform_status_ok_k;
    return uform_fail_(uform_status_malformed_k,
        "%s: %s: shape: expected [%zu, %zu, %zu, %zu], found [%zu, %zu, %zu, %zu]", weight.file, weight.name,
        sizes->width, sizes->channels, sizes->patch, sizes->patch, dimensions[0], dimensions[1], dimensions[2],
        dimensions[3]);
}

/// The embedding of patches, its numbers in the order of an image's bytes.
static uform_status_t load_linear(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_architecture_sizes_t const *sizes = &encoder->sizes;
    uform_patches_t *patches = &encoder->patches;
    uform_part_t const part = {encoder->architecture->patches, !sizes->patch_bias, 0, 0};
    patches->depth = sizes->channels * sizes->patch * sizes->patch;
    if (!encoder->architecture->channels_last) loader->packer.planes = sizes->channels;
    uform_status_t const status = uform_loader_linear_(
        loader, part, uform_ungrouped_(sizes->width), uform_ungrouped_(patches->depth), &patches->linear);
    loader->packer.planes = 0;
    return status;
}

/// Finds a matrix of the tower's width; a single row may be a vector in the file.
static uform_status_t find_rows(uform_loader_t *loader, char const *name, size_t rows, uform_tensor_t *tensor) {
    size_t const width = loader->encoder->sizes.width;
    return uform_loader_tensor_(loader, name, NULL, rows == 1 ? width : rows, rows == 1 ? 0 : width, tensor);
}

/// Reads a matrix as floats with padded rows, [rows, width].
static uform_status_t read_rows(uform_loader_t *loader, uform_tensor_t const *tensor, size_t rows, float *target) {
    size_t const width = loader->encoder->width;
    memset(target, 0, rows * width * sizeof(float));
    return uform_tensor_read_(tensor, 0, rows, target, width);
}

static void add_rows(float *target, float const *source, size_t count) {
    for (size_t i = 0; i < count; ++i) target[i] += source[i];
}

/// The grid that the table of positions was trained on.
static uform_status_t find_table_grid(uform_loader_t *loader, uform_grid_t *grid) {
    uform_architecture_sizes_t const *sizes = &loader->encoder->sizes;
    uform_positions_t const kind = loader->encoder->architecture->positions_kind;
    *grid = (uform_grid_t){1, 1};
    if (kind == uform_positions_rotary_k) return uform_status_ok_k;
    *grid = (uform_grid_t){sizes->image_height / sizes->patch, sizes->image_width / sizes->patch};
    if (kind == uform_positions_table_k) return uform_status_ok_k;
    if (kind == uform_positions_bilinear_k) {
        size_t side = 1;
        while ((side + 1) * (side + 1) <= sizes->patch_count) ++side;
        if (side * side != sizes->patch_count)
            return uform_fail_(uform_status_malformed_k, "%s/config.json: num_patches: expected a square, found %zu",
                loader->directory->path, sizes->patch_count);
        *grid = (uform_grid_t){side, side};
    }
    if (grid->height > uform_largest_table_side_k)
        return uform_fail_(uform_status_unsupported_k,
            "%s/config.json: image_size: expected at most %d patches a side, found %zu", loader->directory->path,
            uform_largest_table_side_k, grid->height);
    return uform_status_ok_k;
}

/// Class token and registers, their own positions not yet added.
static uform_status_t load_prefix(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_architecture_t const *architecture = encoder->architecture;
    uform_patches_t *patches = &encoder->patches;
    size_t const width = encoder->width, classes = architecture->class_token ? 1 : 0;
    size_t const registers = architecture->register_tokens ? encoder->sizes.register_count : 0;
    uform_tensor_t class_token, register_tokens;
    uform_status_t status = uform_status_ok_k;
    // Looked up first: what config.json says takes no memory before the weights agree.
    if (classes) status = find_rows(loader, architecture->class_token, 1, &class_token);
    if (!status && registers) status = find_rows(loader, architecture->register_tokens, registers, &register_tokens);
    patches->prefix_count = classes + registers;
    if (!status) status = uform_loader_floats_(loader, patches->prefix_count * width, &patches->prefix);
    if (!status && classes) status = read_rows(loader, &class_token, 1, patches->prefix);
    if (!status && registers)
        status = read_rows(loader, &register_tokens, registers, patches->prefix + classes * width);
    return status;
}

/// The table of the patches' positions, with the patches' bias; positions of the tokens before them are added to those.
static uform_status_t load_table(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_architecture_t const *architecture = encoder->architecture;
    uform_patches_t *patches = &encoder->patches;
    size_t const width = encoder->width, placed = architecture->prefix_positions;
    size_t const cells = patches->table_grid.height * patches->table_grid.width;
    uform_tensor_t positions;
    uform_status_t status = uform_status_ok_k;
    if (architecture->positions) status = find_rows(loader, architecture->positions, cells + placed, &positions);
    if (!status) status = uform_loader_floats_(loader, (cells + placed) * width, &patches->table);
    if (status) return status;
    if (architecture->positions) status = read_rows(loader, &positions, cells + placed, patches->table);
    else memset(patches->table, 0, cells * width * sizeof(float));
    if (status) return status;
    add_rows(patches->prefix, patches->table, placed * width);
    patches->table += placed * width;
    for (size_t cell = 0; cell < cells; ++cell) add_rows(patches->table + cell * width, patches->linear.bias, width);
    return status;
}

/// What images as the preprocessor gives them need, where they are all of one size.
static uform_status_t prepare_usual(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_patches_t *patches = &encoder->patches;
    uform_positions_t const kind = encoder->architecture->positions_kind;
    uform_grid_t const grid = patches->usual_grid;
    size_t const half = encoder->head_width / 2, tokens = patches->prefix_count + grid.height * grid.width;
    if (!grid.height) return uform_status_ok_k;
    uform_status_t status = uform_loader_floats_(loader, grid.height * grid.width * encoder->width, &patches->usual);
    if (status) return status;
    for (size_t row = 0; row < grid.height; ++row)
        uform_resample_row_(kind, patches->table, patches->table_grid, grid, row, encoder->width,
            patches->usual + row * grid.width * encoder->width);
    if (kind != uform_positions_rotary_k) return uform_status_ok_k;
    status = uform_loader_floats_(loader, tokens * half, &patches->cosines);
    if (!status) status = uform_loader_floats_(loader, tokens * half, &patches->sines);
    if (!status)
        uform_rotary_angles_(encoder->sizes.rotary_base, patches->prefix_count, grid, encoder->sizes.head_width, half,
            patches->cosines, patches->sines);
    return status;
}

/// Images as the preprocessor gives them have to be of a size the tower can take.
static uform_status_t check_usual(uform_loader_t *loader) {
    uform_encoder_t const *encoder = loader->encoder;
    uform_preprocessor_t const *preprocessor = &loader->directory->preprocessor;
    uform_grid_t const usual = encoder->patches.usual_grid, table = encoder->patches.table_grid;
    char const *const path = loader->directory->path;
    if (preprocessor->patch_size && preprocessor->patch_size != encoder->sizes.patch)
        return uform_fail_(uform_status_mismatched_k,
            "%s/preprocessor_config.json: patch_size: expected %zu, as config.json has it, found %zu", path,
            encoder->sizes.patch, preprocessor->patch_size);
    bool const fixed = preprocessor->output_height != 0;
    if (fixed && (!usual.height || !usual.width || usual.height * usual.width > uform_largest_image_k))
        return uform_fail_(uform_status_unsupported_k,
            "%s/preprocessor_config.json: size: expected 1 to %d patches of %zu pixels a side, found %zu x %zu", path,
            uform_largest_image_k, encoder->sizes.patch, usual.height, usual.width);
    bool const same = usual.height == table.height && usual.width == table.width;
    if (same || encoder->architecture->positions_kind != uform_positions_table_k) return uform_status_ok_k;
    if (!fixed)
        return uform_fail_(uform_status_unsupported_k,
            "%s/preprocessor_config.json: size: expected one size for all images, %zu x %zu pixels", path,
            encoder->sizes.image_height, encoder->sizes.image_width);
    return uform_fail_(uform_status_mismatched_k,
        "%s/preprocessor_config.json: size: expected %zu x %zu patches, as config.json's image_size has them, found %zu "
        "x %zu",
        path, table.height, table.width, usual.height, usual.width);
}

uform_status_t uform_loader_patches_(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    size_t const patch = encoder->sizes.patch;
    uform_preprocessor_t const *preprocessor = &loader->directory->preprocessor;
    uform_status_t status = load_values(loader);
    if (!status) status = check_convolution(loader);
    if (!status) status = load_linear(loader);
    if (!status) status = find_table_grid(loader, &encoder->patches.table_grid);
    encoder->patches.usual_grid =
        (uform_grid_t){preprocessor->output_height / patch, preprocessor->output_width / patch};
    if (!status) status = check_usual(loader);
    if (!status) status = load_prefix(loader);
    if (!status) status = load_table(loader);
    return status ? status : prepare_usual(loader);
}

/// The query that all images share: the probe's projection.
static uform_status_t load_query(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_architecture_t const *architecture = encoder->architecture;
    size_t const width = encoder->sizes.width, head = encoder->sizes.head_width;
    size_t const padded = encoder->sizes.heads * encoder->head_width;
    float *const probe = loader->packer.row, *const row = loader->packer.stripe;
    uform_tensor_t tensor, weight, bias;
    uform_status_t status = uform_loader_tensor_(loader, architecture->probe, NULL, width, 0, &tensor);
    if (!status)
        status = uform_loader_tensor_(loader, architecture->pool_projections, "weight", 3 * width, width, &weight);
    if (!status) status = uform_loader_tensor_(loader, architecture->pool_projections, "bias", 3 * width, 0, &bias);
    if (!status) status = uform_tensor_read_(&tensor, 0, 1, probe, width);
    if (!status) status = uform_weights_allocate_(loader->packer.memory, padded * sizeof(float), &encoder->head.query);
    if (status) return status;
    memset(encoder->head.query, 0, padded * sizeof(float));
    for (size_t i = 0; i < width && !status; ++i) {
        uform_tensor_t const one = uform_tensor_rows_(&bias, i, 1);
        float shift;
        status = uform_tensor_read_(&weight, i, 1, row, width);
        if (!status) status = uform_tensor_read_(&one, 0, 1, &shift, 1);
        double sum = 0;
        for (size_t k = 0; k < width && !status; ++k) sum += (double)row[k] * (double)probe[k];
        size_t const place = i / head * encoder->head_width + i % head;
        float const number = (float)(sum + (double)shift);
        if (encoder->precision == uform_scalar_f32_k) ((float *)encoder->head.query)[place] = number;
        else ((uint16_t *)encoder->head.query)[place] = uform_f32_to_bf16_(number);
    }
    return status;
}

uform_status_t uform_loader_head_(uform_loader_t *loader) {
    uform_encoder_t *encoder = loader->encoder;
    uform_architecture_t const *architecture = encoder->architecture;
    uform_attention_head_t *head = &encoder->head;
    uform_grouping_t const width = uform_ungrouped_(encoder->sizes.width), heads = uform_loader_heads_(encoder);
    uform_grouping_t const inner = uform_ungrouped_(encoder->sizes.feed_forward_width);
    size_t const columns = heads.count * heads.padded;
    loader->layer = 0;
    uform_status_t status = load_query(loader);
    if (!status) status = uform_packer_reserve_(&loader->packer, 2 * columns, encoder->width, &head->projections);
    for (size_t i = 0; i < 2 && !status; ++i)
        status = uform_loader_fill_(loader, (uform_part_t){architecture->pool_projections, false, i + 1, 3}, heads,
            width, i * columns, &head->projections);
    if (!status)
        status = uform_loader_linear_(
            loader, (uform_part_t){.stem = architecture->pool_output}, width, heads, &head->output);
    if (!status) status = uform_loader_norm_(loader, architecture->pool_norm, &head->norm);
    if (!status)
        status = uform_loader_linear_(
            loader, (uform_part_t){.stem = architecture->pool_up}, inner, width, &head->feed_forward.up);
    if (!status)
        status = uform_loader_linear_(
            loader, (uform_part_t){.stem = architecture->pool_down}, width, inner, &head->feed_forward.down);
    return status;
}
