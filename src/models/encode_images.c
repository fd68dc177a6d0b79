/**
 *  Calls on images: what is decoded, resized, cut into patches and brought into panels.
 */
#include <string.h>

#include "base/detail.h"
#include "models/encode.h"

// Decodes and preprocesses an image: the pixels, or numbers, that the tower gets.
static uform_status_t prepare_image(uform_model_t model, uform_kernels_t const *kernels, uform_call_plan_t const *plan,
    uform_image_t const *image, uform_model_buffer_t *buffer, uform_picture_t *result) {
    uform_bitmap_t decoded;
    uform_status_t const status = uform_decode_(image, &plan->decode, &buffer->decoded, &decoded);
    if (status) return status;
    return uform_preprocess_(&model->directory.preprocessor, kernels, &decoded, &buffer->preprocessed, result);
}

// Cuts the patches out of bytes, each into a row of its own behind the prefix's.
static void cut_pixels(uform_encode_call_t const *call, uform_batch_t const *batch, size_t begin,
    uform_picture_t const *picture, uform_grid_t grid) {
    uform_patches_t const *patches = &call->tower_packing->encoder.patches;
    size_t const side = call->tower->sizes.patch, run = 3 * side;
    size_t const first = begin + patches->prefix_count;
    for (size_t y = 0; y < grid.height * side; ++y)
        for (size_t column = 0; column < grid.width; ++column) {
            size_t const row = first + y / side * grid.width + column;
            memcpy(batch->pixels + row * patches->depth + y % side * run,
                picture->pixels + (y * picture->width + column * side) * 3, run);
        }
}

// The tensor's number at a place of the picture.
static float number_at(
    uform_preprocessor_t const *preprocessor, uform_picture_t const *picture, size_t channel, size_t place) {
    if (picture->planes) return picture->planes[channel * picture->height * picture->width + place];
    return preprocessor->values[channel][picture->pixels[3 * place + channel]];
}

// Cuts the patches out of the tensor, likewise.
static void cut_numbers(uform_encode_call_t const *call, uform_batch_t const *batch, size_t begin,
    uform_picture_t const *picture, uform_grid_t grid) {
    uform_preprocessor_t const *preprocessor = &call->model->directory.preprocessor;
    uform_patches_t const *patches = &call->tower_packing->encoder.patches;
    size_t const side = call->tower->sizes.patch;
    size_t const first = begin + patches->prefix_count;
    for (size_t y = 0; y < grid.height * side; ++y)
        for (size_t x = 0; x < grid.width * side; ++x) {
            size_t const row = first + y / side * grid.width + x / side;
            float *const target = batch->numbers + row * patches->depth + (y % side * side + x % side) * 3;
            for (size_t channel = 0; channel < 3; ++channel)
                target[channel] = number_at(preprocessor, picture, channel, y * picture->width + x);
        }
}

uform_status_t uform_prepare_image_(
    uform_encode_call_t *call, size_t item, uform_model_buffer_t *buffer, uform_prepared_t *prepared) {
    size_t const side = call->tower->sizes.patch;
    uform_picture_t *picture = &prepared->picture;
    uform_status_t const status =
        prepare_image(call->model, call->kernels, &call->plan, &call->images[item], buffer, picture);
    if (status) return status;
    uform_grid_t const grid = {picture->height / side, picture->width / side};
    size_t const tokens = call->tower_packing->encoder.patches.prefix_count + grid.height * grid.width;
    if (!grid.height || !grid.width || grid.height * grid.width > uform_largest_image_k)
        return uform_fail_(uform_status_unsupported_k, "expected 1 to %d patches after resizing, found %zu x %zu",
            uform_largest_image_k, grid.height, grid.width);
    prepared->grid = grid;
    prepared->tokens = prepared->text_tokens = tokens;
    atomic_fetch_add_explicit(&call->token_count, tokens, memory_order_relaxed);
    if (call->items) call->items[item] = (uform_item_report_t){.token_count = (uint32_t)tokens};
    return uform_status_ok_k;
}

void uform_place_image_(uform_encode_call_t const *call, uform_batch_t const *batch, size_t text,
    uform_model_buffer_t const *buffer, uform_prepared_t const *prepared) {
    (void)buffer; // whose memory the picture is
    batch->grids[text] = prepared->grid;
    (batch->numbers ? cut_numbers : cut_pixels)(
        call, batch, batch->text_begins[text], &prepared->picture, prepared->grid);
}

uform_status_t uform_encode_images(uform_model_t model, uform_executor_t executor, uform_image_t const *images,
    size_t count, uform_encode_options_t const *options, void *embeddings, size_t stride_bytes,
    uform_encode_report_t *report) {
    uform_items_t const items = {uform_modality_images_k, NULL, images, count};
    return uform_encode_(model, executor, items, options, (uform_rows_out_t){embeddings, stride_bytes, report});
}

uform_status_t uform_defer_images(uform_model_t model, uform_executor_t executor, uform_image_t const *images,
    size_t count, uform_encode_options_t const *options, void *embeddings, size_t stride_bytes,
    uform_encode_report_t *report, uform_call_t *call) {
    uform_items_t const items = {uform_modality_images_k, NULL, images, count};
    return uform_encode_defer_(
        model, executor, items, options, (uform_rows_out_t){embeddings, stride_bytes, report}, call);
}

uform_status_t uform_image_pixels(uform_model_t model, uform_image_t image, uform_encode_options_t const *options,
    float *pixels, size_t capacity, size_t shape[3]) {
    if (!model || !shape || (capacity && !pixels))
        return uform_fail_(uform_status_invalid_argument_k, "%s: expected one, found NULL",
            !model   ? "model"
            : !shape ? "shape"
                     : "pixels");
    shape[0] = shape[1] = shape[2] = 0;
    uform_call_plan_t plan;
    uform_status_t status = uform_call_plan_(model, uform_modality_images_k, options, &plan);
    if (status) return status;
    uform_model_buffer_t *buffer = uform_model_take_buffer_(model);
    if (!buffer) return uform_status_out_of_memory_k;
    uform_picture_t picture;
    status = prepare_image(model, uform_kernels_(model->cpu_class), &plan, &image, buffer, &picture);
    if (!status) {
        shape[0] = 3, shape[1] = picture.height, shape[2] = picture.width;
        if (capacity >= 3 * picture.height * picture.width)
            uform_picture_tensor_(&model->directory.preprocessor, &picture, pixels);
    }
    uform_model_return_buffer_(model, buffer);
    return status;
}
