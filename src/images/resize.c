/**
 *  Resizing in two passes over a window. Pictures are [height, width, 3]; what lies between the passes is
 *
 *      [rows the second pass takes, columns of the window, 3]    where the pass along rows comes first
 *      [rows of the window, columns the second pass takes, 3]    where the pass across rows does
 *
 *  with rows apart by a multiple of 64 bytes and `uform_resample_slack_k` bytes behind the last.
 */
#include "images/resize.h"

#include <string.h>

#include "base/detail.h"

enum { channels_k = 3 };

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

/// Two passes, the one along rows first.
static uform_status_t resize_along_first(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, uform_resizer_t *resizer, uint8_t *pixels, size_t stride_bytes) {
    uform_axis_t const *const horizontal = &resizer->horizontal, *const vertical = &resizer->vertical;
    size_t const stride = padded_row(resize->columns, 1);
    uform_status_t status = uform_block_reserve_(&resizer->between, vertical->span * stride);
    uform_resample_call_t along = {
        .axis = &horizontal->axis,
        .target = resizer->between.memory,
        .target_stride_bytes = stride,
        .rows = vertical->span,
    };
    if (status == uform_status_ok_k)
        status = run_along(kernels->along, &along, horizontal, source, vertical->base, resizer);
    if (status != uform_status_ok_k) return status;
    uform_resample_call_t const across = {
        .axis = &vertical->axis,
        .source = resizer->between.memory,
        .source_stride_bytes = stride,
        .target = pixels,
        .target_stride_bytes = stride_bytes,
        .width = resize->columns,
    };
    kernels->across(&across);
    return uform_status_ok_k;
}

/// Two passes, the one across rows first.
static uform_status_t resize_across_first(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, uform_resizer_t *resizer, uint8_t *pixels, size_t stride_bytes) {
    uform_axis_t const *const horizontal = &resizer->horizontal, *const vertical = &resizer->vertical;
    size_t const stride = padded_row(horizontal->span, 1);
    uform_status_t const status =
        uform_block_reserve_(&resizer->between, resize->rows * stride + uform_resample_slack_k);
    if (status != uform_status_ok_k) return status;
    view_t const view = view_of(source, horizontal->base, vertical->base);
    uform_resample_call_t const across = {
        .axis = &vertical->axis,
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
        .target = pixels,
        .target_stride_bytes = stride_bytes,
        .rows = resize->rows,
    };
    kernels->along(&along);
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

uform_status_t uform_resize_(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, uform_resizer_t *resizer, uint8_t *pixels, size_t stride_bytes) {
    uform_status_t status = check_edges(resize, source);
    if (status != uform_status_ok_k) return status;
    bool const both = source->width != resize->width && source->height != resize->height;
    if (resize->filter == uform_filter_nearest_k) return resize_nearest(resize, source, resizer, pixels, stride_bytes);
    status = make_axes(resize, source, false, resizer);
    if (status != uform_status_ok_k) return status;
    if (!both) return resize_once(resize, kernels, source, resizer, pixels, stride_bytes);
    bool const across_first = resize->arithmetic == uform_arithmetic_pillow_k && resize->height < source->height &&
                              2 * source->width + resize->height < source->height + 2 * resize->width;
    return (across_first ? resize_across_first : resize_along_first)(
        resize, kernels, source, resizer, pixels, stride_bytes);
}

uform_status_t uform_resize_tensor_(uform_resize_t const *resize, uform_resample_t const *kernels,
    uform_bitmap_t const *source, float scale, uform_resizer_t *resizer, float *numbers) {
    uform_status_t status = check_edges(resize, source);
    if (status == uform_status_ok_k) status = make_axes(resize, source, true, resizer);
    if (status != uform_status_ok_k) return status;
    bool const stretched = source->height != resize->height;
    uform_axis_t const *const horizontal = &resizer->horizontal, *const vertical = &resizer->vertical;
    size_t const rows = stretched ? vertical->span : resize->rows, dense = resize->columns * channels_k * sizeof(float);
    size_t const stride = stretched ? padded_row(resize->columns, sizeof(float)) : dense;
    if (stretched) status = uform_block_reserve_(&resizer->between, rows * stride);
    if (status != uform_status_ok_k) return status;
    uform_resample_call_t along = {
        .axis = &horizontal->axis,
        .target = stretched ? resizer->between.memory : numbers,
        .target_stride_bytes = stride,
        .rows = rows,
        .scale = scale,
    };
    size_t const top = stretched ? vertical->base : resize->top;
    status = run_along(kernels->along_f32, &along, horizontal, source, top, resizer);
    if (status != uform_status_ok_k || !stretched) return status;
    uform_resample_call_t const across = {
        .axis = &vertical->axis,
        .source = resizer->between.memory,
        .source_stride_bytes = stride,
        .target = numbers,
        .target_stride_bytes = dense,
        .width = resize->columns,
    };
    kernels->across_f32(&across);
    return uform_status_ok_k;
}

void uform_resizer_free_(uform_resizer_t *resizer) {
    uform_block_free_(&resizer->horizontal.block);
    uform_block_free_(&resizer->vertical.block);
    uform_block_free_(&resizer->between);
    uform_block_free_(&resizer->tail);
    *resizer = (uform_resizer_t){0};
}
