/**
 *  Applying a preprocessor: sizes as the reference rounds them, then the window of the resized picture that is kept.
 */
#include "images/preprocess.h"

#include <math.h>
#include <string.h>

#include "base/detail.h"

enum { channels_k = 3 };

typedef struct edges_t {
    double height, width; ///< whole numbers
} edges_t;

/// The shorter edge becomes `shortest`, the other follows, rounded down.
static edges_t fit_shortest(double shortest, edges_t from) {
    if (from.width <= from.height) return (edges_t){floor(shortest * from.height / from.width), shortest};
    return (edges_t){shortest, floor(shortest * from.width / from.height)};
}

/// The same with a bound on the longer edge, which has the last word.
static edges_t fit_bounded(double shortest, double longest, edges_t from) {
    double const shorter = fmin(from.height, from.width), longer = fmax(from.height, from.width);
    double size = shortest, raw = shortest;
    if (longer / shorter * shortest > longest) {
        raw = longest * shorter / longer;
        size = rint(raw);
    }
    if (shorter == size) return from;
    if (from.width < from.height) return (edges_t){floor(raw * from.height / from.width), size};
    return (edges_t){size, floor(raw * from.width / from.height)};
}

static edges_t fit_inside(edges_t box, edges_t from) {
    double const scale = fmin(box.height / from.height, box.width / from.width);
    return (edges_t){floor(from.height * scale), floor(from.width * scale)};
}

static double whole_patches(double edge, double scale, double patch) {
    double const scaled = ceil(edge * scale / patch) * patch;
    return scaled < patch ? patch : scaled;
}

/// The largest scale, to 1e-5, at which the patches are not too many.
static edges_t fit_patches(double patch, double limit, edges_t from) {
    double lower = 1e-5 / 10, upper = 100.0;
    while (upper - lower >= 1e-5) {
        double const scale = (lower + upper) / 2;
        double const height = whole_patches(from.height, scale, patch), width = whole_patches(from.width, scale, patch);
        if (height / patch * (width / patch) <= limit) lower = scale;
        else upper = scale;
    }
    return (edges_t){whole_patches(from.height, lower, patch), whole_patches(from.width, lower, patch)};
}

static edges_t fit(uform_preprocessor_t const *preprocessor, edges_t from) {
    edges_t const asked = {(double)preprocessor->height, (double)preprocessor->width};
    double const shortest = (double)preprocessor->shortest, longest = (double)preprocessor->longest;
    switch (preprocessor->sizing) {
        case uform_sizing_exact_k:
            return asked;
        case uform_sizing_shortest_k:
            return longest != 0 ? fit_bounded(shortest, longest, from) : fit_shortest(shortest, from);
        case uform_sizing_inside_k:
            return fit_inside(asked, from);
        case uform_sizing_patches_k:
            return fit_patches((double)preprocessor->patch_size, (double)preprocessor->patch_limit, from);
        default:
            return from;
    }
}

uform_status_t uform_preprocess_size_(uform_preprocessor_t const *preprocessor, size_t source_width,
    size_t source_height, size_t *width, size_t *height) {
    edges_t const to = fit(preprocessor, (edges_t){(double)source_height, (double)source_width});
    *width = *height = 0;
    if (to.height < 1 || to.width < 1)
        return uform_fail_(uform_status_unsupported_k,
            "a picture of %zu x %zu pixels: resized to %.0f x %.0f nothing is left", source_width, source_height,
            to.width, to.height);
    bool const stays = to.height == (double)source_height && to.width == (double)source_width;
    if (!stays && (to.height > uform_edge_limit_k || to.width > uform_edge_limit_k))
        return uform_fail_(uform_status_unsupported_k,
            "a picture of %zu x %zu pixels: expected edges of at most %d once resized, found %.0f x %.0f", source_width,
            source_height, (int)uform_edge_limit_k, to.width, to.height);
    *width = (size_t)to.width, *height = (size_t)to.height;
    return uform_status_ok_k;
}

/// What is kept of an edge, and where it goes.
typedef struct part_t {
    size_t begin, count; ///< of the resized picture
    size_t place, whole; ///< in the result, and the result's edge
} part_t;

static part_t middle_of(size_t edge, size_t wanted, uform_middle_t middle) {
    if (wanted > edge) {
        size_t const margin = wanted - edge;
        return (part_t){0, edge, (margin + (middle == uform_middle_pillow_k)) / 2, wanted};
    }
    size_t const margin = edge - wanted;
    size_t const up = middle == uform_middle_even_k && margin % 4 == 3; // x.5 goes to the even neighbour
    return (part_t){margin / 2 + up, wanted, 0, wanted};
}

/// The geometry of one picture.
typedef struct plan_t {
    size_t width, height; ///< resized
    part_t rows, columns;
} plan_t;

static uform_status_t make_plan(uform_preprocessor_t const *preprocessor, uform_bitmap_t const *source, plan_t *plan) {
    uform_status_t const status =
        uform_preprocess_size_(preprocessor, source->width, source->height, &plan->width, &plan->height);
    if (status != uform_status_ok_k) return status;
    plan->rows = (part_t){0, plan->height, 0, plan->height};
    plan->columns = (part_t){0, plan->width, 0, plan->width};
    if (preprocessor->crop) {
        plan->rows = middle_of(plan->height, preprocessor->crop_height, preprocessor->middle);
        plan->columns = middle_of(plan->width, preprocessor->crop_width, preprocessor->middle);
    }
    size_t const patch = preprocessor->patch_size;
    if (patch && (plan->rows.whole % patch || plan->columns.whole % patch))
        return uform_fail_(uform_status_unsupported_k,
            "a picture of %zu x %zu pixels that is not resized: expected multiples of patches of %zu", source->width,
            source->height, patch);
    return uform_status_ok_k;
}

static uform_status_t check_result(size_t width, size_t height) {
    if (width <= uform_resized_pixels_limit_k / height) return uform_status_ok_k;
    return uform_fail_(uform_status_unsupported_k, "a picture of %zu x %zu pixels once resized: expected at most %d",
        width, height, (int)uform_resized_pixels_limit_k);
}

static uform_resize_t resize_of(uform_preprocessor_t const *preprocessor, plan_t const *plan, bool tensor) {
    bool const pillow = preprocessor->arithmetic == uform_arithmetic_pillow_k;
    return (uform_resize_t){
        .arithmetic = tensor   ? uform_arithmetic_tensor_k
                      : pillow ? uform_arithmetic_pillow_k
                               : uform_arithmetic_torch_k,
        .filter = preprocessor->filter,
        .width = plan->width,
        .height = plan->height,
        .left = plan->columns.begin,
        .top = plan->rows.begin,
        .columns = plan->columns.count,
        .rows = plan->rows.count,
    };
}

static uform_status_t make_bytes(uform_preprocessor_t const *preprocessor, uform_kernels_t const *kernels,
    uform_bitmap_t const *source, plan_t const *plan, uform_preprocess_buffer_t *buffer, uform_picture_t *picture) {
    size_t const width = plan->columns.whole, height = plan->rows.whole, stride = width * channels_k;
    picture->width = width, picture->height = height;
    if (width == source->width && height == source->height && plan->width == width && plan->height == height) {
        picture->pixels = source->pixels;
        return uform_status_ok_k;
    }
    uform_status_t status = check_result(width, height);
    if (status == uform_status_ok_k) status = uform_block_reserve_(&buffer->bytes, height * stride);
    if (status != uform_status_ok_k) return status;
    uint8_t *const pixels = buffer->bytes.memory;
    if (plan->columns.count < width || plan->rows.count < height) memset(pixels, 0, height * stride);
    uform_resize_t const resize = resize_of(preprocessor, plan, false);
    picture->pixels = pixels;
    return uform_resize_(&resize, kernels->resample, source, &buffer->resizer,
        pixels + plan->rows.place * stride + plan->columns.place * channels_k, stride);
}

/// Resizes in f32, then normalises into planes.
static uform_status_t make_planes(uform_preprocessor_t const *preprocessor, uform_kernels_t const *kernels,
    uform_bitmap_t const *source, plan_t const *plan, uform_preprocess_buffer_t *buffer, uform_picture_t *picture) {
    size_t const width = plan->columns.whole, height = plan->rows.whole, plane = width * height;
    size_t const kept = plan->columns.count * plan->rows.count;
    uform_status_t status = check_result(width, height);
    if (status == uform_status_ok_k) status = uform_block_reserve_(&buffer->numbers, kept * channels_k * sizeof(float));
    if (status == uform_status_ok_k) status = uform_block_reserve_(&buffer->planes, plane * channels_k * sizeof(float));
    if (status != uform_status_ok_k) return status;
    float *const numbers = buffer->numbers.memory, *const planes = buffer->planes.memory;
    uform_resize_t const resize = resize_of(preprocessor, plan, true);
    status = uform_resize_tensor_(&resize, kernels->resample, source, preprocessor->scale, &buffer->resizer, numbers);
    if (status != uform_status_ok_k) return status;
    for (size_t channel = 0; channel < channels_k; ++channel) {
        float const mean = preprocessor->means[channel], deviation = preprocessor->deviations[channel];
        float const outside = (0.0f - mean) / deviation;
        float *const target = planes + channel * plane;
        for (size_t i = 0; kept < plane && i < plane; ++i) target[i] = outside;
        for (size_t y = 0; y < plan->rows.count; ++y) {
            float const *const row = numbers + y * plan->columns.count * channels_k + channel;
            float *const line = target + (plan->rows.place + y) * width + plan->columns.place;
            for (size_t x = 0; x < plan->columns.count; ++x) line[x] = (row[x * channels_k] - mean) / deviation;
        }
    }
    *picture = (uform_picture_t){.planes = planes, .width = width, .height = height};
    return uform_status_ok_k;
}

/// Zeros to the right and below, in the tensor.
static uform_status_t pad_planes(
    uform_preprocessor_t const *preprocessor, uform_preprocess_buffer_t *buffer, uform_picture_t *picture) {
    size_t const width = preprocessor->pad_width, height = preprocessor->pad_height, plane = width * height;
    if (picture->width > width || picture->height > height)
        return uform_fail_(uform_status_unsupported_k,
            "a picture of %zu x %zu pixels once resized: expected at most the %zu x %zu it is padded to",
            picture->width, picture->height, width, height);
    if (picture->width == width && picture->height == height) return uform_status_ok_k;
    uform_status_t status = check_result(width, height);
    if (status == uform_status_ok_k) status = uform_block_reserve_(&buffer->planes, plane * channels_k * sizeof(float));
    if (status != uform_status_ok_k) return status;
    float *const planes = buffer->planes.memory;
    for (size_t i = 0; i < plane * channels_k; ++i) planes[i] = 0.0f;
    for (size_t channel = 0; channel < channels_k; ++channel)
        for (size_t y = 0; y < picture->height; ++y)
            for (size_t x = 0; x < picture->width; ++x)
                planes[channel * plane + y * width + x] =
                    preprocessor->values[channel][picture->pixels[(y * picture->width + x) * channels_k + channel]];
    *picture = (uform_picture_t){.planes = planes, .width = width, .height = height};
    return uform_status_ok_k;
}

uform_status_t uform_preprocess_(uform_preprocessor_t const *preprocessor, uform_kernels_t const *kernels,
    uform_bitmap_t const *source, uform_preprocess_buffer_t *buffer, uform_picture_t *picture) {
    *picture = (uform_picture_t){0};
    plan_t plan;
    uform_picture_t made = {0};
    uform_status_t status = make_plan(preprocessor, source, &plan);
    if (status != uform_status_ok_k) return status;
    bool const resized = plan.width != source->width || plan.height != source->height;
    bool const tensor = preprocessor->arithmetic == uform_arithmetic_tensor_k && resized &&
                        preprocessor->filter != uform_filter_nearest_k;
    status = (tensor ? make_planes : make_bytes)(preprocessor, kernels, source, &plan, buffer, &made);
    if (status == uform_status_ok_k && preprocessor->pad_width) status = pad_planes(preprocessor, buffer, &made);
    if (status == uform_status_ok_k) *picture = made;
    return status;
}

void uform_picture_tensor_(uform_preprocessor_t const *preprocessor, uform_picture_t const *picture, float *tensor) {
    size_t const plane = picture->width * picture->height;
    if (picture->planes) {
        memcpy(tensor, picture->planes, plane * channels_k * sizeof(float));
        return;
    }
    for (size_t channel = 0; channel < channels_k; ++channel)
        for (size_t i = 0; i < plane; ++i)
            tensor[channel * plane + i] = preprocessor->values[channel][picture->pixels[i * channels_k + channel]];
}

size_t uform_preprocess_buffer_bytes_(uform_preprocess_buffer_t const *buffer) {
    return uform_resizer_bytes_(&buffer->resizer) + buffer->bytes.bytes + buffer->numbers.bytes + buffer->planes.bytes;
}

void uform_preprocess_buffer_free_(uform_preprocess_buffer_t *buffer) {
    uform_resizer_free_(&buffer->resizer);
    uform_block_free_(&buffer->bytes);
    uform_block_free_(&buffer->numbers);
    uform_block_free_(&buffer->planes);
}
