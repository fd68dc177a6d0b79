/**
 *  Resizing in two passes over a window. Pictures are [height, width, 3]; what lies between the passes is a band of
 *
 *      [rows the second pass takes, columns of the window, 3]    where the pass along rows comes first
 *      [rows of the window, columns the second pass takes, 3]    where the pass across rows does
 *
 *  with rows apart by a multiple of 64 bytes and `uform_resample_slack_k` bytes behind the last. A pass along rows that comes first
 *  makes every row as wide as the result, so that a picture of a few columns and very many rows would grow by far: how many
 *  pixels that makes, at once and in all, is limited.
 */
#include "images/resize.h"

#include <string.h>

#include "base/detail.h"

enum {
    channels_k = 3,
    band_step_k = 16,        ///< rows; a multiple of every class's block of them
    band_bytes_k = 512 << 10 ///< that usual pictures pass through
};

static size_t padded_row(size_t columns, size_t item_bytes) {
    return (columns * channels_k * item_bytes + 63) / 64 * 64;
}

/// Where the picture begins, and how to go on.
typedef struct view_t {
    uint8_t const *pixels;
    size_t stride_bytes;
} view_t;

static view_t view_of(uform_bitmap_t const *source, size_t left, size_t top) {
    size_t const stride = source->width * channels_k;
    return (view_t){source->pixels + top * stride + left * channels_k, stride};
}

/// Runs `along` over rows of the caller's picture, the last ones from a copy, so that what lies behind it is not read.
static uform_status_t run_along(void (*along)(uform_resample_call_t const *), uform_resample_call_t const *call,
    uform_axis_t const *axis, uform_bitmap_t const *source, size_t top, uform_resizer_t *resizer) {
    size_t const stride = source->width * channels_k;
    size_t const careful_rows = (uform_resample_slack_k + stride - 1) / stride;
    size_t const safe = source->height > careful_rows ? source->height - careful_rows : 0;
    size_t const plain = safe > top ? (safe - top < call->rows ? safe - top : call->rows) : 0,
                 rest = call->rows - plain;
    uform_resample_call_t part = *call;
    view_t const view = view_of(source, axis->base, top);
    part.source = view.pixels, part.source_stride_bytes = stride;
    part.rows = plain;
    if (plain) along(&part);
    if (!rest) return uform_status_ok_k;
    uform_status_t const status = uform_block_reserve_(&resizer->tail, rest * stride + uform_resample_slack_k);
    if (status != uform_status_ok_k) return status;
    uint8_t *const copy = resizer->tail.memory;
    memcpy(copy, view_of(source, 0, top + plain).pixels, rest * stride);
    memset(copy + rest * stride, 0, uform_resample_slack_k);
    part.source = copy + axis->base * channels_k;
    part.target = (uint8_t *)call->target + plain * call->target_stride_bytes;
    part.rows = rest;
    along(&part);
    return uform_status_ok_k;
}

/// The input of each output of an axis without weights.
static void find_nearest(
    uform_arithmetic_t arithmetic, size_t inputs, size_t outputs, size_t begin, size_t count, uint32_t *places) {
    if (arithmetic == uform_arithmetic_pillow_k) { // which adds up steps
        double const step = (double)inputs / (double)outputs;
        double place = step * 0.5;
        for (size_t output = 0; output < begin + count; ++output, place += step)
            if (output >= begin) places[output - begin] = (uint32_t)place;
    } else {
        float const scale = (float)inputs / (float)outputs;
        for (size_t i = 0; i < count; ++i) places[i] = (uint32_t)(((float)(begin + i) + 0.5f) * scale);
    }
    for (size_t i = 0; i < count; ++i)
        if (places[i] >= inputs) places[i] = (uint32_t)(inputs - 1);
}

static uform_status_t resize_nearest(uform_resize_t const *resize, uform_bitmap_t const *source,
    uform_resizer_t *resizer, uint8_t *pixels, size_t stride_bytes) {
    uform_status_t const status =
        uform_block_reserve_(&resizer->between, (resize->columns + resize->rows) * sizeof(uint32_t));
    if (status != uform_status_ok_k) return status;
    uint32_t *const columns = resizer->between.memory, *const rows = columns + resize->columns;
    find_nearest(resize->arithmetic, source->width, resize->width, resize->left, resize->columns, columns);
    find_nearest(resize->arithmetic, source->height, resize->height, resize->top, resize->rows, rows);
    for (size_t y = 0; y < resize->rows; ++y) {
        uint8_t const *const row = view_of(source, 0, rows[y]).pixels;
        for (size_t x = 0; x < resize->columns; ++x)
            memcpy(pixels + y * stride_bytes + x * channels_k, row + columns[x] * (size_t)channels_k, channels_k);
    }
    return uform_status_ok_k;
}

/// The outputs from `begin` on of a longer axis.
static uform_resample_axis_t part_of(uform_resample_axis_t const *axis, size_t begin, size_t count) {
    uform_resample_axis_t part = *axis;
    part.outputs = count;
    part.firsts += begin, part.taps += begin;
    if (part.weights) part.weights += begin * axis->quads * 8;
    if (part.weights_f32) part.weights_f32 += begin * axis->quads * 4;
    return part;
}

/// Both passes of a window, the one along rows first.
typedef struct bands_t {
    void (*along)(uform_resample_call_t const *);
    void (*across)(uform_resample_call_t const *);
    size_t item_bytes; ///< of what lies between the passes, and is written
    float scale;
    uint8_t *target;
    size_t target_stride_bytes;
} bands_t;

/// Rows that `between` holds at once: enough for any one output and a block besides, and as many more as stay in the cache.
static size_t band_rows(uform_axis_t const *vertical, size_t stride) {
    size_t const least = vertical->longest + band_step_k, usual = band_bytes_k / stride / band_step_k * band_step_k;
    size_t const rows = least < usual ? usual : least;
    return rows < vertical->span ? rows : vertical->span;
}

/// `between` holds a band of the rows that the second pass takes, [begin, end). In turn it is filled up, all outputs within it
/// are computed, and what later ones take besides is moved to its front.
static uform_status_t resize_in_bands(
    bands_t const *bands, uform_resize_t const *resize, uform_bitmap_t const *source, uform_resizer_t *resizer) {
    uform_axis_t const *const horizontal = &resizer->horizontal, *const vertical = &resizer->vertical;
    uform_resample_axis_t const *const axis = &vertical->axis;
    size_t const stride = padded_row(resize->columns, bands->item_bytes), capacity = band_rows(vertical, stride);
    uform_status_t const status = uform_block_reserve_(&resizer->between, capacity * stride);
    if (status != uform_status_ok_k) return status;
    uint8_t *const between = resizer->between.memory;
    for (size_t output = 0, begin = 0, end = 0; output < axis->outputs;) {
        size_t const first = axis->firsts[output];
        if (first >= end) end = first;
        else if (first > begin) memmove(between, between + (first - begin) * stride, (end - first) * stride);
        begin = first;
        size_t fresh = capacity - (end - begin);
        fresh = fresh < vertical->span - end ? fresh / band_step_k * band_step_k : vertical->span - end;
        uform_resample_call_t const along = {
            .axis = &horizontal->axis,
            .target = between + (end - begin) * stride,
            .target_stride_bytes = stride,
            .rows = fresh,
            .scale = bands->scale,
        };
        uform_status_t const along_status =
            run_along(bands->along, &along, horizontal, source, vertical->base + end, resizer);
        if (along_status != uform_status_ok_k) return along_status;
        end += fresh;
        size_t last = output;
        while (last < axis->outputs && axis->firsts[last] + axis->taps[last] <= end) ++last;
        uform_resample_axis_t const part = part_of(axis, output, last - output);
        uform_resample_call_t const across = {
            .axis = &part,
            .source = between,
            .source_stride_bytes = stride,
            .source_first = begin,
            .target = bands->target + output * bands->target_stride_bytes,
            .target_stride_bytes = bands->target_stride_bytes,
            .width = resize->columns,
        };
        bands->across(&across);
        output = last;
    }
    return uform_status_ok_k;
}

/// Two passes, the one along rows first.
static uform_status_t resize_along_first(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, uform_resizer_t *resizer, uint8_t *pixels, size_t stride_bytes) {
    bands_t const bands = {kernels->along, kernels->across, 1, 0, pixels, stride_bytes};
    return resize_in_bands(&bands, resize, source, resizer);
}

/// Two passes, the one across rows first, a band of outputs at a time.
static uform_status_t resize_across_first(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, uform_resizer_t *resizer, uint8_t *pixels, size_t stride_bytes) {
    uform_axis_t const *const horizontal = &resizer->horizontal, *const vertical = &resizer->vertical;
    size_t const stride = padded_row(horizontal->span, 1), usual = band_bytes_k / stride;
    size_t const capacity = usual < band_step_k ? band_step_k : usual / band_step_k * band_step_k;
    uform_status_t const status = uform_block_reserve_(&resizer->between, capacity * stride + uform_resample_slack_k);
    if (status != uform_status_ok_k) return status;
    view_t const view = view_of(source, horizontal->base, vertical->base);
    for (size_t row = 0; row < resize->rows; row += capacity) {
        size_t const rows = resize->rows - row < capacity ? resize->rows - row : capacity;
        uform_resample_axis_t const part = part_of(&vertical->axis, row, rows);
        uform_resample_call_t const across = {
            .axis = &part,
            .source = view.pixels,
            .source_stride_bytes = view.stride_bytes,
            .target = resizer->between.memory,
            .target_stride_bytes = stride,
            .width = horizontal->span,
        };
        kernels->across(&across);
        uform_resample_call_t const along = {
            .axis = &horizontal->axis,
            .source = resizer->between.memory,
            .source_stride_bytes = stride,
            .target = pixels + row * stride_bytes,
            .target_stride_bytes = stride_bytes,
            .rows = rows,
        };
        kernels->along(&along);
    }
    return uform_status_ok_k;
}

/// One pass, or none.
static uform_status_t resize_once(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, uform_resizer_t *resizer, uint8_t *pixels, size_t stride_bytes) {
    uform_resample_call_t call = {
        .target = pixels, .target_stride_bytes = stride_bytes, .rows = resize->rows, .width = resize->columns};
    if (source->width != resize->width) {
        call.axis = &resizer->horizontal.axis;
        return run_along(kernels->along, &call, &resizer->horizontal, source, resize->top, resizer);
    }
    bool const stretched = source->height != resize->height;
    view_t const view = view_of(source, resize->left, stretched ? resizer->vertical.base : resize->top);
    call.source = view.pixels, call.source_stride_bytes = view.stride_bytes, call.axis = &resizer->vertical.axis;
    if (stretched) kernels->across(&call);
    else
        for (size_t y = 0; y < resize->rows; ++y)
            memcpy(pixels + y * stride_bytes, view.pixels + y * view.stride_bytes, resize->columns * channels_k);
    return uform_status_ok_k;
}

static uform_status_t make_axes(
    uform_resize_t const *resize, uform_bitmap_t const *source, bool tensor, uform_resizer_t *resizer) {
    uform_status_t status = uform_status_ok_k;
    if (tensor || source->width != resize->width)
        status = uform_axis_make_(&resizer->horizontal, resize->arithmetic, resize->filter, source->width,
            resize->width, resize->left, resize->columns);
    if (status == uform_status_ok_k && source->height != resize->height)
        status = uform_axis_make_(&resizer->vertical, resize->arithmetic, resize->filter, source->height,
            resize->height, resize->top, resize->rows);
    return status;
}

static uform_status_t check_edges(uform_resize_t const *resize, uform_bitmap_t const *source) {
    if (resize->width <= uform_edge_limit_k && resize->height <= uform_edge_limit_k) return uform_status_ok_k;
    if (source->width == resize->width && source->height == resize->height) return uform_status_ok_k;
    return uform_fail_(uform_status_unsupported_k,
        "resizing a picture of %zu x %zu pixels to %zu x %zu: expected edges of at most %d", source->width,
        source->height, resize->width, resize->height, (int)uform_edge_limit_k);
}

static uform_status_t refuse_work(
    uform_resize_t const *resize, uform_bitmap_t const *source, char const *what, size_t rows, int limit) {
    return uform_fail_(uform_status_unsupported_k,
        "resizing a picture of %zu x %zu pixels to %zu x %zu: expected at most %d pixels for %s once its rows are "
        "resized, found %zu x %zu",
        source->width, source->height, resize->width, resize->height, limit, what, resize->columns, rows);
}

/// Of the pass along rows that comes first, before anything is made for it.
static uform_status_t check_work(uform_resize_t const *resize, uform_bitmap_t const *source) {
    size_t const rows =
        uform_axis_span_(resize->arithmetic, resize->filter, source->height, resize->height, resize->top, resize->rows);
    if (rows <= uform_between_limit_k / resize->columns) return uform_status_ok_k;
    return refuse_work(resize, source, "the result", rows, uform_between_limit_k);
}

/// Of what has to lie between the passes at once.
static uform_status_t check_band(
    uform_resize_t const *resize, uform_bitmap_t const *source, uform_axis_t const *vertical) {
    if (vertical->longest <= uform_band_limit_k / resize->columns) return uform_status_ok_k;
    return refuse_work(resize, source, "a row of the result", vertical->longest, uform_band_limit_k);
}

uform_status_t uform_resize_(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, uform_resizer_t *resizer, uint8_t *pixels, size_t stride_bytes) {
    uform_status_t status = check_edges(resize, source);
    if (status != uform_status_ok_k) return status;
    bool const both = source->width != resize->width && source->height != resize->height;
    if (resize->filter == uform_filter_nearest_k) return resize_nearest(resize, source, resizer, pixels, stride_bytes);
    bool const across_first = resize->arithmetic == uform_arithmetic_pillow_k && resize->height < source->height &&
                              2 * source->width + resize->height < source->height + 2 * resize->width;
    bool const grows = both && !across_first;
    if (grows) status = check_work(resize, source);
    if (status == uform_status_ok_k) status = make_axes(resize, source, false, resizer);
    if (status == uform_status_ok_k && grows) status = check_band(resize, source, &resizer->vertical);
    if (status != uform_status_ok_k) return status;
    if (!both) return resize_once(resize, kernels, source, resizer, pixels, stride_bytes);
    return (across_first ? resize_across_first : resize_along_first)(
        resize, kernels, source, resizer, pixels, stride_bytes);
}

uform_status_t uform_resize_tensor_(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, float scale, uform_resizer_t *resizer, float *numbers) {
    uform_status_t status = check_edges(resize, source);
    bool const stretched = source->height != resize->height;
    if (status == uform_status_ok_k && stretched) status = check_work(resize, source);
    if (status == uform_status_ok_k) status = make_axes(resize, source, true, resizer);
    if (status == uform_status_ok_k && stretched) status = check_band(resize, source, &resizer->vertical);
    if (status != uform_status_ok_k) return status;
    size_t const dense = resize->columns * channels_k * sizeof(float);
    if (stretched) {
        bands_t const bands = {
            kernels->along_f32, kernels->across_f32, sizeof(float), scale, (uint8_t *)numbers, dense};
        return resize_in_bands(&bands, resize, source, resizer);
    }
    uform_resample_call_t const along = {
        .axis = &resizer->horizontal.axis,
        .target = numbers,
        .target_stride_bytes = dense,
        .rows = resize->rows,
        .scale = scale,
    };
    return run_along(kernels->along_f32, &along, &resizer->horizontal, source, resize->top, resizer);
}

size_t uform_resizer_bytes_(uform_resizer_t const *resizer) {
    return resizer->horizontal.block.bytes + resizer->vertical.block.bytes + resizer->between.bytes +
           resizer->tail.bytes;
}

void uform_resizer_free_(uform_resizer_t *resizer) {
    uform_block_free_(&resizer->horizontal.block);
    uform_block_free_(&resizer->vertical.block);
    uform_block_free_(&resizer->between);
    uform_block_free_(&resizer->tail);
    *resizer = (uform_resizer_t){0};
}
