/**
 *  From options to an executor and a model.
 */
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "progress.h"
#include "setup.h"

enum { sample_side_k = 32, sample_bytes_k = sample_side_k * sample_side_k * 3 };

static uform_status_t open_model(setup_t *setup, settings_t const *settings) {
    uform_status_t status =
        uform_executor_for_ram(NULL, 0, settings->cpu_class, settings->threads, 0, &setup->executor);
    if (status == uform_status_ok_k) status = uform_executor_describe(setup->executor, &setup->executor_facts);
    if (status != uform_status_ok_k) return status;
    uform_model_options_t const options = {
        .size = sizeof(options), .precision = settings->precision, .cpu_class = setup->executor_facts.cpu_class};
    status = uform_model_load_ram(settings->model, NULL, 0, &options, &setup->model);
    if (status != uform_status_ok_k) return status;
    return uform_model_describe(setup->model, &setup->model_facts);
}

/// A small picture of a few colours, [height, width, 3].
static uform_image_t sample_picture(unsigned char *pixels) {
    for (size_t row = 0; row != sample_side_k; ++row)
        for (size_t column = 0; column != sample_side_k; ++column) {
            unsigned char *const pixel = pixels + (row * sample_side_k + column) * 3;
            pixel[0] = (unsigned char)(row * 255 / (sample_side_k - 1));
            pixel[1] = (unsigned char)(column * 255 / (sample_side_k - 1));
            pixel[2] = (row / 8 + column / 8) % 2 ? 224 : 32;
        }
    return (uform_image_t){.data = pixels,
        .length = sample_bytes_k,
        .layout = uform_image_layout_rgb_k,
        .width = sample_side_k,
        .height = sample_side_k};
}

static uform_status_t try_text(setup_t const *setup, void *row) {
    uform_text_t const empty = {"", 0};
    uform_item_report_t item = {.status = uform_status_ok_k};
    uform_encode_report_t report = {.size = sizeof(report), .items = &item};
    uform_status_t const status =
        uform_encode_texts(setup->model, setup->executor, &empty, 1, &setup->encoding, row, 0, &report);
    // Of what goes wrong with one text, only a limit that leaves no room for any is the options' fault.
    bool const texts_own_fault = report.failed_count && item.status != uform_status_invalid_argument_k;
    return texts_own_fault ? uform_status_ok_k : status;
}

static uform_status_t try_picture(setup_t const *setup, void *row) {
    uform_encode_options_t options = setup->encoding;
    // The limit is the pictures' affair.
    options.image_pixel_limit = 0;
    unsigned char pixels[sample_bytes_k];
    uform_image_t const picture = sample_picture(pixels);
    uform_encode_report_t report = {.size = sizeof(report)};
    uform_status_t const status =
        uform_encode_images(setup->model, setup->executor, &picture, 1, &options, row, 0, &report);
    return report.failed_count ? uform_status_ok_k : status;
}

static uform_status_t try_options(setup_t const *setup) {
    char *const row = malloc(setup->row_bytes);
    if (!row) return uform_status_out_of_memory_k;
    uform_status_t const status = setup->model_facts.encodes_texts ? try_text(setup, row) : try_picture(setup, row);
    free(row);
    return status;
}

unsigned setup_towers_of_(settings_t const *settings) {
    return settings->format == input_format_images_k  ? setup_images_k
           : settings->format == input_format_jsonl_k ? 0
                                                      : setup_texts_k;
}

/// A command that needs a tower the model doesn't have ends before anything is read.
static bool has_towers(setup_t const *setup, settings_t const *settings, unsigned towers) {
    bool const texts = !(towers & setup_texts_k) || setup->model_facts.encodes_texts;
    bool const images = !(towers & setup_images_k) || setup->model_facts.encodes_images;
    if (!texts) message_("--model: %s: has no text tower, which this needs", settings->model);
    else if (!images) message_("--model: %s: has no image tower, which this needs", settings->model);
    return texts && images;
}

uform_status_t setup_probe_(setup_t const *setup, float *vector) {
    unsigned char pixels[sample_bytes_k];
    uform_image_t const picture = sample_picture(pixels);
    uform_encode_options_t options = setup->encoding;
    options.image_pixel_limit = 0;
    return uform_encode_images(setup->model, setup->executor, &picture, 1, &options, vector, 0, NULL);
}

bool setup_open_(setup_t *setup, settings_t const *settings, unsigned towers) {
    memset(setup, 0, sizeof(*setup));
    setup->scalar = settings->scalar ? settings->scalar : uform_scalar_f32_k;
    setup->encoding = (uform_encode_options_t){.size = sizeof(setup->encoding),
        .scalar = setup->scalar,
        .dimensions = settings->dimensions,
        .normalize = settings->normalize,
        .pooling = settings->pooling,
        .prompt_name = settings->prompt_name,
        .prompt = settings->prompt_text,
        .max_tokens = settings->max_tokens,
        .truncate_left = settings->truncate_left,
        .literal_specials = settings->literal_specials,
        .image_orientation = settings->orientation,
        .image_flatten = settings->flatten ? uform_switch_on_k : uform_switch_auto_k,
        .image_pixel_limit = settings->pixel_limit};
    uform_status_t status = open_model(setup, settings);
    if (status == uform_status_ok_k && !has_towers(setup, settings, towers)) return setup_close_(setup), false;
    if (status == uform_status_ok_k)
        status = uform_encode_dimensions(setup->model, &setup->encoding, &setup->dimensions);
    if (status == uform_status_ok_k) {
        setup->row_bytes = output_row_bytes_(setup->scalar, setup->dimensions);
        status = try_options(setup);
    }
    if (status == uform_status_ok_k) return true;
    message_status_(status);
    setup_close_(setup);
    return false;
}

void setup_close_(setup_t *setup) {
    uform_model_free(setup->model);
    uform_executor_free(setup->executor);
    memset(setup, 0, sizeof(*setup));
}
