/**
 *  From options to an executor and a model.
 */
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "progress.h"
#include "setup.h"

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

static uform_status_t try_options(setup_t const *setup) {
    char *const row = malloc(setup->row_bytes);
    if (!row) return uform_status_out_of_memory_k;
    uform_text_t const empty = {"", 0};
    uform_item_report_t item = {.status = uform_status_ok_k};
    uform_encode_report_t report = {.size = sizeof(report), .items = &item};
    uform_status_t const status =
        uform_encode_texts(setup->model, setup->executor, &empty, 1, &setup->encoding, row, 0, &report);
    free(row);
    // Of what goes wrong with one text, only a limit that leaves no room for any is the options' fault.
    bool const texts_own_fault = report.failed_count && item.status != uform_status_invalid_argument_k;
    return texts_own_fault ? uform_status_ok_k : status;
}

bool setup_open_(setup_t *setup, settings_t const *settings) {
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
        .literal_specials = settings->literal_specials};
    uform_status_t status = open_model(setup, settings);
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
