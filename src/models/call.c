/**
 *  Options of a call, checked against the model.
 */
#include "models/call.h"

#include <string.h>

#include "base/detail.h"

static uform_status_t read_options(uform_encode_options_t const *given, uform_encode_options_t *options) {
    *options = (uform_encode_options_t){.size = sizeof *options};
    if (!given) return uform_status_ok_k;
    if (given->size < sizeof(size_t) + sizeof(uform_scalar_t))
        return uform_fail_(uform_status_invalid_argument_k,
            "options: size: expected sizeof(uform_encode_options_t), found %zu", given->size);
    memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
    return uform_status_ok_k;
}

static uform_status_t plan_pooling(uform_tower_t const *tower, uint32_t bits, uform_call_plan_t *plan) {
    if (!bits) {
        plan->pooling_count = tower->pooling_count;
        memcpy(plan->pooling, tower->pooling, sizeof plan->pooling);
    }
    for (uint32_t bit = 1; bit && bit <= bits; bit <<= 1)
        if (bits & bit) {
            if (bit > uform_pooling_lasttoken_k)
                return uform_fail_(uform_status_invalid_argument_k,
                    "options: pooling: expected bits of uform_pooling_t, found %u", bits);
            plan->pooling[plan->pooling_count++] = (uform_pooling_t)bit;
        }
    plan->pooled_width = tower->sizes.width * plan->pooling_count;
    plan->dense_count = bits && tower->architecture->projection_is_pooler ? 0 : tower->dense_count;
    if ((bits & ~(uint32_t)uform_pooling_cls_k) && tower->architecture->last_state_is_raw)
        return uform_fail_(uform_status_unsupported_k,
            "options: pooling: expected cls, since the model normalises the first token only, found %s",
            uform_pooling_name(bits));
    if (bits && tower->sizes.attention_head)
        return uform_fail_(uform_status_unsupported_k,
            "options: pooling: expected none, since the model pools images by attention, found %s",
            uform_pooling_name(bits));
    if (plan->dense_count && plan->pooled_width != tower->pooled_width)
        return uform_fail_(uform_status_invalid_argument_k,
            "options: pooling: the model's Dense layer takes %zu numbers, found %zu", tower->pooled_width,
            plan->pooled_width);
    return uform_status_ok_k;
}

static uform_status_t plan_outputs(
    uform_model_t model, uform_tower_t const *tower, uform_encode_options_t const *options, uform_call_plan_t *plan) {
    uform_directory_t const *directory = &model->directory;
    size_t const full = plan->dense_count ? tower->dimensions : plan->pooled_width;
    size_t const cut =
        directory->truncate_dimensions && directory->truncate_dimensions < full ? directory->truncate_dimensions : full;
    plan->scalar = options->scalar ? options->scalar : uform_scalar_f32_k;
    if (plan->scalar < 0 || plan->scalar > uform_scalar_b1_k)
        return uform_fail_(
            uform_status_invalid_argument_k, "options: scalar: expected a uform_scalar_t, found %d", (int)plan->scalar);
    if (options->dimensions > full)
        return uform_fail_(uform_status_invalid_argument_k, "options: dimensions: expected at most %zu, found %zu",
            full, options->dimensions);
    if ((unsigned)options->normalize > uform_switch_off_k)
        return uform_fail_(uform_status_invalid_argument_k, "options: normalize: expected a uform_switch_t, found %d",
            (int)options->normalize);
    plan->dimensions = options->dimensions ? options->dimensions : cut;
    plan->normalize =
        options->normalize == uform_switch_auto_k ? tower->normalize : options->normalize == uform_switch_on_k;
    // A directory's own cut comes after its Normalize, and leaves vectors shorter than one; a caller's cut before.
    bool const cut_last = !options->dimensions && options->normalize == uform_switch_auto_k;
    plan->normalized_dimensions = cut_last ? full : plan->dimensions;
    return uform_status_ok_k;
}

static uform_status_t plan_prompt(uform_model_t model, uform_encode_options_t const *options, uform_call_plan_t *plan) {
    uform_directory_t const *directory = &model->directory;
    size_t chosen = directory->default_prompt;
    if (options->prompt) {
        plan->tokenize.prefix = options->prompt;
        plan->tokenize.prefix_length = strlen(options->prompt);
        return uform_status_ok_k;
    }
    if (options->prompt_name) {
        // sentence-transformers knows these two in every directory, empty where it defines none.
        bool const everywhere = !strcmp(options->prompt_name, "query") || !strcmp(options->prompt_name, "document");
        for (chosen = 0; chosen < directory->prompt_count; ++chosen)
            if (!strcmp(directory->prompts[chosen].name, options->prompt_name)) break;
        if (chosen == directory->prompt_count && !everywhere)
            return uform_fail_(uform_status_not_found_k,
                "%s/config_sentence_transformers.json: prompts: there is no \"%s\"", directory->path,
                options->prompt_name);
    }
    if (chosen >= directory->prompt_count) return uform_status_ok_k;
    plan->tokenize.prefix = directory->prompts[chosen].text;
    plan->tokenize.prefix_length = directory->prompts[chosen].text_length;
    return uform_status_ok_k;
}

static uform_status_t plan_limit(uform_model_t model, uform_encode_options_t const *options, uform_call_plan_t *plan) {
    uform_directory_t const *directory = &model->directory;
    uform_architecture_sizes_t const *sizes = &directory->text.sizes;
    size_t const largest = sizes->position_count - sizes->first_position;
    if (options->max_tokens > largest)
        return uform_fail_(uform_status_invalid_argument_k, "options: max_tokens: expected at most %zu, found %zu",
            largest, options->max_tokens);
    if ((unsigned)options->truncate_left > uform_switch_off_k)
        return uform_fail_(uform_status_invalid_argument_k,
            "options: truncate_left: expected a uform_switch_t, found %d", (int)options->truncate_left);
    plan->tokenize.max_tokens = options->max_tokens ? options->max_tokens : directory->max_tokens;
    uform_switch_t const left = options->truncate_left ? options->truncate_left : directory->truncate_left;
    plan->tokenize.truncate_left = left == uform_switch_on_k;
    bool const literal = directory->tokenizer_settings.literal_specials == uform_switch_on_k;
    plan->tokenize.literal_specials = options->literal_specials || literal;
    return uform_status_ok_k;
}

// How many tokens a prompt has by itself, without the special one that ends every text.
static uform_status_t count_skipped(uform_model_t model, uform_call_plan_t *plan) {
    if (model->directory.include_prompt || !plan->tokenize.prefix_length) return uform_status_ok_k;
    uform_model_buffer_t *buffer = uform_model_take_buffer_(model);
    if (!buffer) return uform_status_out_of_memory_k;
    uform_tokenizer_t const tokenizer = model->directory.tokenizer;
    uform_tokenize_buffer_t *tokens = &buffer->tokens;
    uform_status_t const status = uform_tokenizer_run_(tokenizer, "", 0, &plan->tokenize, tokens);
    if (!status) {
        plan->skipped_tokens = tokens->count;
        // The reference takes a special token at the end for the template's, even where a prompt itself ends with one.
        if (tokens->count && uform_tokenizer_is_special_(tokenizer, tokens->ids[tokens->count - 1]))
            --plan->skipped_tokens;
    }
    uform_model_return_buffer_(model, buffer);
    return status;
}

static uform_status_t plan_texts(uform_model_t model, uform_encode_options_t const *options, uform_call_plan_t *plan) {
    uform_status_t status = plan_prompt(model, options, plan);
    if (!status) status = plan_limit(model, options, plan);
    return status ? status : count_skipped(model, plan);
}

static uform_status_t plan_images(uform_encode_options_t const *options, uform_call_plan_t *plan) {
    struct {
        char const *name;
        uform_switch_t value;
    } const switches[] = {
        {"image_orientation", options->image_orientation},
        {"image_flatten", options->image_flatten},
    };
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); ++i)
        if ((unsigned)switches[i].value > uform_switch_off_k)
            return uform_fail_(uform_status_invalid_argument_k, "options: %s: expected a uform_switch_t, found %d",
                switches[i].name, (int)switches[i].value);
    plan->decode.ignore_orientation = options->image_orientation == uform_switch_off_k;
    plan->decode.flatten = options->image_flatten == uform_switch_on_k;
    plan->decode.pixel_limit = options->image_pixel_limit;
    return uform_status_ok_k;
}

// Says which file is missing, or that the family has nothing of the kind.
static uform_status_t refuse_tower(uform_model_t model, uform_tower_t const *tower, char const *items) {
    if (tower->missing)
        return uform_fail_(uform_status_unsupported_k, "%s/%s: no such file, so the model encodes no %s",
            model->directory.path, tower->missing, items);
    return uform_fail_(uform_status_unsupported_k, "%s: a model of the family %s encodes no %s", model->directory.path,
        model->directory.family->name, items);
}

uform_status_t uform_call_plan_(
    uform_model_t model, uform_modality_t modality, uform_encode_options_t const *given, uform_call_plan_t *plan) {
    bool const images = modality == uform_modality_images_k;
    uform_tower_t const *tower = images ? &model->directory.image : &model->directory.text;
    uform_encode_options_t options;
    *plan = (uform_call_plan_t){0};
    if (!uform_tower_works_(tower)) return refuse_tower(model, tower, images ? "images" : "texts");
    uform_status_t status = read_options(given, &options);
    if (!status) status = plan_pooling(tower, options.pooling, plan);
    if (!status) status = plan_outputs(model, tower, &options, plan);
    if (!status) status = images ? plan_images(&options, plan) : plan_texts(model, &options, plan);
    if (!status && !plan->skipped_tokens) plan->pooled = uform_pooled_rows_(plan->pooling, plan->pooling_count);
    return status;
}

uform_status_t uform_encode_dimensions(uform_model_t model, uform_encode_options_t const *given, size_t *dimensions) {
    if (!model || !dimensions)
        return uform_fail_(
            uform_status_invalid_argument_k, "%s: expected one, found NULL", model ? "dimensions" : "model");
    *dimensions = 0;
    uform_call_plan_t plan = {0};
    uform_encode_options_t options;
    // What texts alone look at has no say, for the row may be an image's.
    uform_tower_t const *tower = uform_model_tower_(model);
    uform_status_t status = read_options(given, &options);
    if (!status) status = plan_pooling(tower, options.pooling, &plan);
    if (!status) status = plan_outputs(model, tower, &options, &plan);
    if (!status) *dimensions = plan.dimensions;
    return status;
}
