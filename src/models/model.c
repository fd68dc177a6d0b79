/**
 *  Loading, describing and freeing models.
 */
#include "models/model.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "executor/executor.h"

static uform_gemm_t const *gemm_of(uform_kernels_t const *kernels, uform_scalar_t precision) {
    return precision == uform_scalar_f32_k  ? kernels->gemm_f32
           : precision == uform_scalar_i8_k ? kernels->gemm_i8
                                            : kernels->gemm_bf16;
}

static void free_packing(uform_model_packing_t *packing) {
    uform_tower_packing_t *const towers[] = {&packing->text, &packing->image};
    for (size_t i = 0; i < 2; ++i) {
        uform_free_(towers[i]->dense);
        uform_encoder_free_(&towers[i]->encoder);
    }
    uform_weights_release_(&packing->memory);
    uform_free_(packing);
}

static uform_status_t pack_dense(
    uform_tower_t const *tower, uform_model_packing_t *packing, uform_tower_packing_t *target) {
    size_t deepest = uform_width_step_k;
    for (size_t i = 0; i < tower->dense_count; ++i) {
        uform_dense_t const *dense = &tower->dense[i];
        size_t const largest = uform_padded_width_(dense->inputs > dense->outputs ? dense->inputs : dense->outputs);
        if (deepest < largest) deepest = largest;
    }
    target->dense = uform_allocate_(tower->dense_count, sizeof *target->dense);
    if (!target->dense) return uform_status_out_of_memory_k;
    uform_packer_t packer;
    uform_status_t status = uform_packer_open_(packing->gemm_f32, deepest, &packing->memory, &packer);
    for (size_t i = 0; i < tower->dense_count && !status; ++i) {
        uform_dense_t const *dense = &tower->dense[i];
        uform_grouping_t const outputs = uform_ungrouped_(dense->outputs), inputs = uform_ungrouped_(dense->inputs);
        status = uform_packer_reserve_(&packer, outputs.padded, inputs.padded, &target->dense[i]);
        if (!status)
            status = uform_packer_fill_(
                &packer, &dense->weight, dense->bias.data ? &dense->bias : NULL, outputs, inputs, 0, &target->dense[i]);
    }
    uform_packer_close_(&packer);
    return status;
}

static uform_status_t pack_tower(
    uform_model_t model, uform_tower_t const *tower, uform_model_packing_t *packing, uform_tower_packing_t *target) {
    if (!uform_tower_works_(tower)) return uform_status_ok_k;
    uform_status_t const status = uform_encoder_load_(
        &model->directory, tower, model->precision, packing->gemm, &packing->memory, &target->encoder);
    return status ? status : pack_dense(tower, packing, target);
}

static uform_status_t make_packing(
    uform_model_t model, uform_kernels_t const *kernels, uform_model_packing_t **packing) {
    *packing = uform_allocate_(1, sizeof **packing);
    if (!*packing) return uform_status_out_of_memory_k;
    (*packing)->gemm = gemm_of(kernels, model->precision);
    (*packing)->gemm_f32 = kernels->gemm_f32;
    (*packing)->memory.domains = &model->domains;
    uform_status_t status = pack_tower(model, &model->directory.text, *packing, &(*packing)->text);
    if (!status) status = pack_tower(model, &model->directory.image, *packing, &(*packing)->image);
    if (!status) return status;
    free_packing(*packing);
    *packing = NULL;
    return status;
}

uform_status_t uform_model_packing_(
    uform_model_t model, uform_kernels_t const *kernels, uform_model_packing_t const **packing) {
    uform_status_t status = uform_status_ok_k;
    uform_lock_(&model->lock);
    uform_model_packing_t *found = model->packings;
    while (found && (found->gemm != gemm_of(kernels, model->precision) || found->gemm_f32 != kernels->gemm_f32))
        found = found->next;
    if (!found) {
        status = make_packing(model, kernels, &found);
        if (!status) {
            // Behind the first, which describes the model.
            uform_model_packing_t **place = model->packings ? &model->packings->next : &model->packings;
            found->next = *place;
            // A child forked now finds the list as it was or as it will be.
            atomic_signal_fence(memory_order_release);
            *place = found;
        }
    }
    uform_unlock_(&model->lock);
    *packing = found;
    return status;
}

uform_model_buffer_t *uform_model_take_buffer_(uform_model_t model) {
    uform_lock_(&model->lock);
    uform_model_buffer_t *buffer = model->buffers;
    if (buffer) model->buffers = buffer->next;
    uform_unlock_(&model->lock);
    return buffer ? buffer : uform_allocate_(1, sizeof *buffer);
}

void uform_model_return_buffer_(uform_model_t model, uform_model_buffer_t *buffer) {
    if (!buffer) return;
    if (buffer->decoded.bytes + uform_preprocess_buffer_bytes_(&buffer->preprocessed) > uform_buffer_kept_bytes_k) {
        uform_block_free_(&buffer->decoded);
        uform_preprocess_buffer_free_(&buffer->preprocessed);
    }
    uform_lock_(&model->lock);
    buffer->next = model->buffers;
    // A child forked now finds the list as it was or as it will be.
    atomic_signal_fence(memory_order_release);
    model->buffers = buffer;
    uform_unlock_(&model->lock);
}

uform_status_t uform_model_options_read_(uform_model_options_t const *given, uform_model_options_t *options) {
    *options = (uform_model_options_t){.size = sizeof *options};
    if (!given) return uform_status_ok_k;
    if (given->size < sizeof(size_t) + sizeof(uform_scalar_t))
        return uform_fail_(uform_status_invalid_argument_k,
            "options: size: expected sizeof(uform_model_options_t), found %zu", given->size);
    memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
    return uform_status_ok_k;
}

static uform_status_t choose_class(uform_model_options_t const *options, uform_cpu_class_t *cpu_class) {
    if (options->cpu_class == uform_cpu_class_derived_k) return uform_cpu_class_derive_(cpu_class);
    *cpu_class = options->cpu_class;
    return uform_cpu_class_require_(options->cpu_class);
}

static uform_status_t choose_precision(
    uform_model_options_t const *options, uform_cpu_class_t cpu_class, uform_scalar_t *precision) {
    *precision = options->precision;
    if (*precision == uform_scalar_derived_k)
        *precision = uform_kernels_prefer_bf16_(cpu_class) ? uform_scalar_bf16_k : uform_scalar_f32_k;
    if (*precision == uform_scalar_f32_k || *precision == uform_scalar_bf16_k || *precision == uform_scalar_i8_k)
        return uform_status_ok_k;
    return uform_fail_(uform_status_unsupported_k, "options: precision: expected f32, bf16 or i8, found %s",
        uform_scalar_name(*precision));
}

static uform_status_t load(char const *directory, uform_model_options_t const *options, uform_model_t model) {
    uform_status_t status = choose_class(options, &model->cpu_class);
    if (!status) status = choose_precision(options, model->cpu_class, &model->precision);
    if (!status) status = uform_directory_open_(directory, &model->directory);
    if (status) return status;
    uform_model_packing_t const *packing;
    status = uform_model_packing_(model, uform_kernels_(model->cpu_class), &packing);
    if (status) uform_directory_close_(&model->directory);
    return status;
}

uform_status_t uform_model_load_ram(char const *directory, int32_t const *memory_domains, size_t memory_domain_count,
    uform_model_options_t const *options, uform_model_t *model) {
    if (!model)
        return uform_fail_(uform_status_invalid_argument_k, "model: expected a place for the model, found NULL");
    *model = NULL;
    if (!directory) return uform_fail_(uform_status_invalid_argument_k, "directory: expected a path, found NULL");
    uform_model_options_t chosen;
    uform_status_t status = uform_model_options_read_(options, &chosen);
    if (status) return status;
    uform_model_t made = uform_allocate_(1, sizeof *made);
    if (!made) return uform_status_out_of_memory_k;
    status = uform_lock_init_(&made->lock);
    if (!status) status = uform_domains_open_(memory_domains, memory_domain_count, &made->domains);
    if (!status) status = load(directory, &chosen, made);
    if (!status) {
        *model = made;
        return status;
    }
    uform_domains_close_(&made->domains);
    uform_free_(made);
    return status;
}

void uform_model_free(uform_model_t model) {
    if (!model) return;
    for (uform_model_packing_t *packing = model->packings, *next; packing; packing = next) {
        next = packing->next;
        free_packing(packing);
    }
    for (uform_model_buffer_t *buffer = model->buffers, *next; buffer; buffer = next) {
        next = buffer->next;
        uform_tokenize_buffer_free_(&buffer->tokens);
        uform_block_free_(&buffer->decoded);
        uform_preprocess_buffer_free_(&buffer->preprocessed);
        uform_free_(buffer);
    }
    uform_directory_close_(&model->directory);
    uform_domains_close_(&model->domains);
    uform_free_(model);
}

static double flops_of_layer(uform_architecture_sizes_t const *sizes) {
    double const width = (double)sizes->width, inner = (double)sizes->feed_forward_width;
    double const heads = 2.0 * (double)((sizes->heads + sizes->key_value_heads) * sizes->head_width);
    return 2.0 * (heads * width + (sizes->gated ? 3.0 : 2.0) * width * inner);
}

// What a pooling of one token spares the others: the last layer but for keys and values.
static double flops_spared(uform_tower_t const *tower) {
    uform_architecture_sizes_t const *sizes = &tower->sizes;
    bool const spares = sizes->layers && !sizes->attention_head &&
                        uform_pooled_rows_(tower->pooling, tower->pooling_count) != uform_pooled_rows_all_k;
    double const kept = 4.0 * (double)(sizes->key_value_heads * sizes->head_width) * (double)sizes->width;
    return spares ? flops_of_layer(sizes) - kept : 0;
}

// Of tokens that are not the one, which are nearly all.
static double flops_per_token(uform_tower_t const *tower) {
    return (double)tower->sizes.layers * flops_of_layer(&tower->sizes) - flops_spared(tower);
}

// Attention is left out, as it is for texts.
static double flops_per_image(uform_tower_t const *tower, uform_encoder_t const *encoder) {
    uform_architecture_sizes_t const *sizes = &tower->sizes;
    double const width = (double)sizes->width, inner = (double)sizes->feed_forward_width;
    uform_patches_t const *patches = &encoder->patches;
    double const cells = (double)(patches->usual_grid.height * patches->usual_grid.width);
    double const tokens = cells + (double)patches->prefix_count;
    double flops = tokens * flops_per_token(tower) + flops_spared(tower) + 2.0 * cells * width * (double)patches->depth;
    if (encoder->has_head) flops += 2.0 * (2.0 * tokens * width * width + width * width + 2.0 * width * inner);
    return cells > 0 ? flops : 0;
}

static void describe_texts(uform_model_t model, uform_model_description_t *description) {
    uform_directory_t const *directory = &model->directory;
    uform_architecture_sizes_t const *sizes = &directory->text.sizes;
    description->encodes_texts = true;
    description->vocabulary_count = sizes->vocabulary_count;
    description->max_tokens = directory->max_tokens;
    description->flops_per_token = flops_per_token(&directory->text);
}

static void describe_images(uform_model_t model, uform_model_description_t *description) {
    uform_tower_t const *tower = &model->directory.image;
    uform_encoder_t const *encoder = &model->packings->image.encoder;
    uform_grid_t const grid = encoder->patches.usual_grid;
    description->encodes_images = true;
    description->image_layers = tower->sizes.layers;
    description->image_hidden_width = tower->sizes.width;
    description->patch_size = tower->sizes.patch;
    description->image_height = model->directory.preprocessor.output_height;
    description->image_width = model->directory.preprocessor.output_width;
    description->image_tokens = grid.height ? grid.height * grid.width + encoder->patches.prefix_count : 0;
    description->flops_per_image = flops_per_image(tower, encoder);
}

uform_status_t uform_model_describe(uform_model_t model, uform_model_description_t *description) {
    if (!model || !description)
        return uform_fail_(
            uform_status_invalid_argument_k, "%s: expected one, found NULL", model ? "description" : "model");
    uform_directory_t const *directory = &model->directory;
    uform_tower_t const *tower = uform_model_tower_(model);
    *description = (uform_model_description_t){
        .precision = model->precision,
        .cpu_class = model->cpu_class,
        .dimensions = directory->truncate_dimensions && directory->truncate_dimensions < tower->dimensions
                          ? directory->truncate_dimensions
                          : tower->dimensions,
        .width = tower->sizes.width,
        .layers = tower->sizes.layers,
        .heads = tower->sizes.heads,
        .feed_forward_width = tower->sizes.feed_forward_width,
        .dense_count = tower->dense_count,
        .normalize = tower->normalize,
        .prompt_count = directory->prompt_count,
        .weights_bytes = model->packings->memory.bytes,
        .logit_scale = directory->logit_scale,
        .logit_bias = directory->logit_bias,
        .has_logit_bias = directory->has_logit_bias,
    };
    if (uform_tower_works_(&directory->text)) describe_texts(model, description);
    if (uform_tower_works_(&directory->image)) describe_images(model, description);
    for (size_t i = 0; i < tower->pooling_count; ++i) description->pooling |= (uint32_t)tower->pooling[i];
    snprintf(description->architecture, sizeof description->architecture, "%s", directory->family->name);
    snprintf(
        description->activation, sizeof description->activation, "%s", uform_activation_name_(tower->sizes.activation));
    if (directory->default_prompt < directory->prompt_count)
        snprintf(description->default_prompt, sizeof description->default_prompt, "%s",
            directory->prompts[directory->default_prompt].name);
    return uform_status_ok_k;
}

uform_status_t uform_model_prompt(uform_model_t model, size_t index, char const **name, char const **text) {
    if (!model || !name || !text)
        return uform_fail_(uform_status_invalid_argument_k, "model, name, text: expected all of them, found NULL");
    *name = *text = NULL;
    if (index >= model->directory.prompt_count)
        return uform_fail_(uform_status_invalid_argument_k, "index: expected less than %zu, found %zu",
            model->directory.prompt_count, index);
    *name = model->directory.prompts[index].name;
    *text = model->directory.prompts[index].text;
    return uform_status_ok_k;
}
