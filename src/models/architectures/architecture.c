/**
 *  The table of families: one row each.
 */
#include "models/architectures/architecture.h"

#include <stdio.h>
#include <string.h>

/// Where a file with both towers has their settings.
static char const *const text_sections[] = {"text_config", NULL};
static char const *const image_sections[] = {"vision_config", NULL};
/// Old CLIP files spell them twice, and transformers follows the ones named "_dict".
static char const *const clip_text_sections[] = {"text_config_dict", "text_config", NULL};
static char const *const clip_image_sections[] = {"vision_config_dict", "vision_config", NULL};
static char const *const uform3_text_sections[] = {"text_encoder", NULL};
static char const *const uform3_image_sections[] = {"image_encoder", NULL};

/// Before the names of what stands beside the towers.
static char const *const outer_prefixes[] = {"", "clip.", "model.", NULL};

/// Both towers in one space.
#define DUAL(type, texts, images, old, class)                                                                          \
    {                                                                                                                  \
        .model_type = type, .name = type, .text = &uform_architecture_##texts##_,                                      \
        .image = &uform_architecture_##images##_, .text_sections = old##text_sections,                                 \
        .image_sections = old##image_sections, .outer_prefixes = outer_prefixes, .tokenizer_class = class,             \
        .scale = "logit_scale", .bias = "logit_bias", .normalize = true                                                \
    }
#define TEXT(type, tower)                                                                                              \
    { .model_type = type, .name = type, .text = &uform_architecture_##tower##_, .outer_prefixes = outer_prefixes }
#define IMAGE(type, tower)                                                                                             \
    { .model_type = type, .name = type, .image = &uform_architecture_##tower##_, .outer_prefixes = outer_prefixes }

static uform_family_t const families[] = {
    TEXT("bert", bert),
    TEXT("roberta", roberta),
    TEXT("xlm-roberta", roberta),
    TEXT("camembert", roberta),
    TEXT("distilbert", distilbert),
    TEXT("mpnet", mpnet),
    TEXT("modernbert", modernbert),
    TEXT("nomic_bert", nomic_bert),
    TEXT("qwen2", qwen2),
    TEXT("qwen3", qwen3),
    TEXT("gemma3_text", gemma3),
    TEXT("t5", t5),
    TEXT("mt5", t5),
    DUAL("clip", clip_text, clip_image, clip_, NULL),
    TEXT("clip_text_model", clip_text),
    IMAGE("clip_vision_model", clip_image),
    DUAL("siglip", siglip_text, siglip_image, , NULL),
    TEXT("siglip_text_model", siglip_text),
    IMAGE("siglip_vision_model", siglip_image),
    DUAL("siglip2", siglip_text, siglip2_image, , "Siglip2Tokenizer"),
    {
        .model_type = "siglip2_text_model",
        .name = "siglip2_text_model",
        .text = &uform_architecture_siglip_text_,
        .outer_prefixes = outer_prefixes,
        .tokenizer_class = "Siglip2Tokenizer",
    },
    IMAGE("siglip2_vision_model", siglip2_image),
    IMAGE("vit", vit),
    IMAGE("deit", deit),
    IMAGE("dinov2", dinov2),
    IMAGE("dinov2_with_registers", dinov2_registers),
    IMAGE("dinov3_vit", dinov3),
    {
        .name = "uform3",
        .text = &uform_architecture_uform3_text_,
        .image = &uform_architecture_uform3_image_,
        .text_sections = uform3_text_sections,
        .image_sections = uform3_image_sections,
        .outer_prefixes = outer_prefixes,
        .text_file = "text_encoder.safetensors",
        .image_file = "image_encoder.safetensors",
        .normalize = true,
    },
};

enum { family_count_k = sizeof(families) / sizeof(families[0]) };

uform_family_t const *uform_family_find_(char const *model_type) {
    for (size_t i = 0; i < family_count_k; ++i) {
        char const *const found = families[i].model_type;
        if (found && model_type ? !strcmp(found, model_type) : found == model_type) return &families[i];
    }
    return NULL;
}

char const *uform_family_names_(char *buffer, size_t buffer_bytes) {
    size_t used = 0;
    for (size_t i = 0; i < family_count_k && used < buffer_bytes; ++i)
        if (families[i].model_type)
            used += (size_t)snprintf(buffer + used, buffer_bytes - used, used ? ", %s" : "%s", families[i].model_type);
    return buffer;
}
