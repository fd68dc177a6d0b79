/**
 *  Reading a preprocessor: what each class of image processor takes without a key, the keys, and the table of values.
 *
 *  Keys that transformers would not look at for a class are not looked at here; a null is an absent key. The numbers of the table
 *  are computed as the reference does, one rounding an operation: Pillow's classes rescale in doubles, then normalise in floats;
 *  torch's fold the rescaling into mean and deviation.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "images/preprocess.h"

enum { where_bytes_k = 512, name_bytes_k = 96 };

/// How a class departs from the common pipeline.
typedef enum family_t {
    family_common_k,
    family_clip_k,     ///< knows use_square_size
    family_convnext_k, ///< a shortest edge below 384 is resized larger by crop_pct and cut, others are squares
    family_patches_k,  ///< NaFlex: sizes follow from patches
    family_tensor_k,   ///< rescales before it resizes; for torch only
} family_t;

typedef struct statistics_t {
    double means[3], deviations[3];
} statistics_t;

static statistics_t const openai = {{0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}};
static statistics_t const standard = {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};
static statistics_t const imagenet = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

/// Everything a configuration may say, before it is checked as a whole.
typedef struct draft_t {
    char const *where;
    family_t family;
    bool torch;
    bool resize, crop, rescale, normalize, pad;
    bool square; ///< a size of one number is a square
    size_t filter;
    size_t height, width, shortest, longest; ///< `longest` with or without `shortest`
    size_t inside_height, inside_width;
    size_t crop_height, crop_width, pad_height, pad_width;
    size_t patch_size, patch_limit;
    double crop_share, factor;
    statistics_t statistics;
} draft_t;

/// The classes and what they take without a key.
static struct {
    char const *name;
    family_t family;
    uform_filter_t filter;
    statistics_t const *statistics;
    size_t shortest, square; ///< the size: a shortest edge, or height and width
    bool one_number_is_square;
    size_t crop; ///< and whether it is cut
} const classes[] = {
    {"CLIPImageProcessor", family_clip_k, uform_filter_bicubic_k, &openai, 224, 0, false, 224},
    {"ChineseCLIPImageProcessor", family_common_k, uform_filter_bicubic_k, &openai, 224, 0, false, 224},
    {"SiglipImageProcessor", family_common_k, uform_filter_bicubic_k, &standard, 0, 224, false, 0},
    {"Siglip2ImageProcessor", family_patches_k, uform_filter_bilinear_k, &standard, 0, 0, true, 0},
    {"ViTImageProcessor", family_common_k, uform_filter_bilinear_k, &standard, 0, 224, true, 0},
    {"DeiTImageProcessor", family_common_k, uform_filter_bicubic_k, &standard, 0, 256, true, 224},
    {"BitImageProcessor", family_common_k, uform_filter_bicubic_k, &openai, 224, 0, false, 224},
    {"DINOv3ViTImageProcessor", family_tensor_k, uform_filter_bilinear_k, &imagenet, 0, 224, true, 0},
    {"BlipImageProcessor", family_common_k, uform_filter_bicubic_k, &openai, 0, 384, true, 0},
    {"ConvNextImageProcessor", family_convnext_k, uform_filter_bicubic_k, &standard, 384, 0, false, 0},
};

/// The class of a model's image processor, where its configuration does not say.
static struct {
    char const *model_type, *name;
} const model_classes[] = {
    {"clip", "CLIPImageProcessor"},
    {"metaclip_2", "CLIPImageProcessor"},
    {"altclip", "CLIPImageProcessor"},
    {"chinese_clip", "ChineseCLIPImageProcessor"},
    {"siglip", "SiglipImageProcessor"},
    {"siglip2", "Siglip2ImageProcessor"},
    {"vit", "ViTImageProcessor"},
    {"vit_mae", "ViTImageProcessor"},
    {"vit_msn", "ViTImageProcessor"},
    {"ijepa", "ViTImageProcessor"},
    {"deit", "DeiTImageProcessor"},
    {"dinov2", "BitImageProcessor"},
    {"dinov2_with_registers", "BitImageProcessor"},
    {"dinov3_vit", "DINOv3ViTImageProcessor"},
    {"blip", "BlipImageProcessor"},
    {"convnext", "ConvNextImageProcessor"},
    {"convnextv2", "ConvNextImageProcessor"},
};

enum {
    class_count_k = sizeof(classes) / sizeof(classes[0]),
    model_class_count_k = sizeof(model_classes) / sizeof(model_classes[0]),
    convnext_square_k = 384,
};

/// A member that is there and not null.
static uform_json_t const *find(uform_json_t const *object, char const *key) {
    uform_json_t const *const found = uform_json_find_(object, key);
    return found && found->kind != uform_json_null_k ? found : NULL;
}

static uform_status_t refuse(char const *where, char const *key, char const *expected, uform_json_t const *found) {
    char description[name_bytes_k];
    return uform_fail_(uform_status_unsupported_k, "%s: %s: expected %s, found %s", where, key, expected,
        found ? uform_json_describe_(found, description, sizeof(description)) : "nothing");
}

static bool ends_with(char const *text, size_t length, char const *ending) {
    size_t const ending_length = strlen(ending);
    return length >= ending_length && !memcmp(text + length - ending_length, ending, ending_length);
}

/// Fills in what the class takes without keys.
static void take_class(size_t index, draft_t *draft) {
    size_t const square = classes[index].square;
    draft->family = classes[index].family;
    draft->filter = classes[index].filter;
    draft->statistics = *classes[index].statistics;
    draft->shortest = classes[index].shortest;
    draft->height = draft->width = square;
    draft->square = classes[index].one_number_is_square;
    draft->crop = classes[index].crop != 0;
    draft->crop_height = draft->crop_width = classes[index].crop;
    draft->resize = draft->rescale = draft->normalize = true;
    draft->factor = 1.0 / 255.0;
    draft->crop_share = 224.0 / 256.0;
    draft->patch_size = 16, draft->patch_limit = 256;
    if (draft->family == family_tensor_k) draft->torch = true;
}

/// Finds the class, whose name may end in Fast, in Pil, or be that of the feature extractors there were before.
static uform_status_t read_class(uform_json_t const *object, char const *model_type, draft_t *draft) {
    char const *const key = find(object, "image_processor_type") ? "image_processor_type" : "feature_extractor_type";
    uform_json_t const *const type = find(object, key);
    char name[name_bytes_k] = "";
    if (type) {
        if (type->kind != uform_json_string_k) return uform_json_unexpected_(draft->where, key, "a string", type);
        size_t length = type->length;
        draft->torch = ends_with(type->text, length, "Fast");
        if (draft->torch) length -= 4;
        else if (ends_with(type->text, length, "Pil")) length -= 3;
        bool const old = ends_with(type->text, length, "FeatureExtractor");
        if (old) length -= strlen("FeatureExtractor");
        if (length < sizeof(name))
            snprintf(name, sizeof(name), "%.*s%s", (int)length, type->text, old ? "ImageProcessor" : "");
    }
    for (size_t i = 0; i < model_class_count_k && !type && model_type; ++i)
        if (!strcmp(model_classes[i].model_type, model_type)) snprintf(name, sizeof(name), "%s", model_classes[i].name);
    for (size_t i = 0; i < class_count_k; ++i)
        if (!strcmp(classes[i].name, name)) {
            take_class(i, draft);
            return uform_status_ok_k;
        }
    return refuse(draft->where, type ? key : "image_processor_type",
        "a supported image processor (of CLIP, SigLIP, SigLIP2, ViT, DeiT, BiT, DINOv3, BLIP, ConvNeXT)", type);
}

static uform_status_t read_edge(
    uform_json_t const *object, char const *where, char const *key, uform_json_need_t need, size_t *edge) {
    return uform_json_size_(object, where, key, 1, uform_size_limit_k, need, edge);
}

/// An item of an array as if it were a member.
static uform_status_t read_item(char const *where, char const *key, uform_json_t const *item, size_t *edge) {
    if (item->kind == uform_json_number_k && item->number >= 1 && item->number <= uform_size_limit_k &&
        item->number == floor(item->number)) {
        *edge = (size_t)item->number;
        return uform_status_ok_k;
    }
    char expected[64];
    snprintf(expected, sizeof(expected), "integers from 1 to %d", (int)uform_size_limit_k);
    return uform_json_unexpected_(where, key, expected, item);
}

/// The sizes transformers knows how to spell, as members of an object.
typedef struct sizes_t {
    size_t height, width, shortest_edge, longest_edge, max_height, max_width;
} sizes_t;

static uform_status_t read_size_object(
    draft_t const *draft, char const *key, uform_json_t const *size, sizes_t *sizes) {
    struct {
        char const *key;
        size_t *edge;
    } const members[] = {{"height", &sizes->height}, {"width", &sizes->width}, {"shortest_edge", &sizes->shortest_edge},
        {"longest_edge", &sizes->longest_edge}, {"max_height", &sizes->max_height}, {"max_width", &sizes->max_width}};
    char where[where_bytes_k];
    snprintf(where, sizeof(where), "%s: %s", draft->where, key);
    for (uform_json_t const *member = size->first; member; member = member->next) {
        size_t i = 0;
        while (i < sizeof(members) / sizeof(members[0]) && strcmp(member->key, members[i].key)) ++i;
        if (member->kind == uform_json_null_k) continue;
        if (i == sizeof(members) / sizeof(members[0]))
            return refuse(draft->where, key,
                "height and width, shortest_edge and perhaps longest_edge, or max_height and max_width", size);
        uform_status_t const status = read_edge(size, where, members[i].key, uform_json_optional_k, members[i].edge);
        if (status != uform_status_ok_k) return status;
    }
    bool const exact = sizes->height && sizes->width;
    bool const inside = sizes->max_height && sizes->max_width;
    bool const any_exact = sizes->height || sizes->width, any_inside = sizes->max_height || sizes->max_width;
    bool const edges = sizes->shortest_edge || sizes->longest_edge;
    bool const one_kind = any_exact + any_inside + edges == 1;
    if (one_kind && (exact || edges || inside)) return uform_status_ok_k;
    return refuse(draft->where, key,
        "height and width, shortest_edge and perhaps longest_edge, or max_height and max_width", size);
}

/// A size spelled as a number, as height and width, or as an object.
static uform_status_t read_size(
    draft_t const *draft, uform_json_t const *object, char const *key, bool square, sizes_t *sizes) {
    uform_json_t const *const size = find(object, key);
    switch (size->kind) {
        case uform_json_number_k:
            if (!square) return read_edge(object, draft->where, key, uform_json_required_k, &sizes->shortest_edge);
            sizes->height = 0;
            uform_status_t status = read_edge(object, draft->where, key, uform_json_required_k, &sizes->height);
            sizes->width = sizes->height;
            return status;
        case uform_json_array_k:
            if (size->length != 2) return uform_json_unexpected_(draft->where, key, "a height and a width", size);
            status = read_item(draft->where, key, size->first, &sizes->height);
            if (status == uform_status_ok_k) status = read_item(draft->where, key, size->first->next, &sizes->width);
            return status;
        case uform_json_object_k:
            return read_size_object(draft, key, size, sizes);
        default:
            return uform_json_unexpected_(draft->where, key, "a size", size);
    }
}

/// transformers keeps a null switch as it is, and then it is not on.
static uform_status_t read_switch(uform_json_t const *object, draft_t const *draft, char const *key, bool *value) {
    uform_json_t const *found = uform_json_find_(object, key);
    if (found && found->kind == uform_json_null_k) *value = false;
    return uform_json_boolean_(object, draft->where, key, uform_json_optional_k, value);
}

static uform_status_t read_sizes(uform_json_t const *object, draft_t *draft) {
    bool squared = false;
    uform_status_t status = read_switch(object, draft, "default_to_square", &draft->square);
    if (status == uform_status_ok_k && draft->family == family_clip_k)
        status = read_switch(object, draft, "use_square_size", &squared);
    if (status == uform_status_ok_k && draft->family != family_patches_k && find(object, "size")) {
        sizes_t sizes = {0};
        status = read_size(draft, object, "size", draft->square, &sizes);
        draft->height = sizes.height, draft->width = sizes.width;
        draft->shortest = sizes.shortest_edge, draft->longest = sizes.longest_edge;
        draft->inside_height = sizes.max_height, draft->inside_width = sizes.max_width;
    }
    if (squared) { // the default of the class, whatever the size
        draft->height = draft->width = 224;
        draft->shortest = draft->longest = draft->inside_height = draft->inside_width = 0;
    }
    return status;
}

/// Height and width under a key that can't hold another kind of size.
static uform_status_t read_area(
    draft_t const *draft, uform_json_t const *object, char const *key, size_t *height, size_t *width) {
    if (!find(object, key)) return uform_status_ok_k;
    sizes_t sizes = {0};
    uform_status_t const status = read_size(draft, object, key, true, &sizes);
    if (status != uform_status_ok_k) return status;
    if (!sizes.height) return refuse(draft->where, key, "height and width", find(object, key));
    *height = sizes.height, *width = sizes.width;
    return uform_status_ok_k;
}

/// Three numbers, or one for all channels.
static uform_status_t read_channels(
    char const *where, uform_json_t const *object, char const *key, bool divisor, double numbers[3]) {
    uform_json_t const *const found = find(object, key);
    if (!found) return uform_status_ok_k;
    char const *const expected =
        divisor ? "three numbers from 1e-6 to 1e6, or their negatives" : "three numbers within -1e6 and 1e6";
    bool const single = found->kind == uform_json_number_k;
    if (!single && (found->kind != uform_json_array_k || found->length != 3))
        return uform_json_unexpected_(where, key, expected, found);
    uform_json_t const *item = single ? found : found->first;
    for (size_t i = 0; i < 3; ++i) {
        if (item->kind != uform_json_number_k || !(fabs(item->number) <= 1e6) ||
            (divisor && !(fabs(item->number) >= 1e-6)))
            return uform_json_unexpected_(where, key, expected, item);
        numbers[i] = item->number;
        if (!single) item = item->next;
    }
    return uform_status_ok_k;
}

static uform_status_t read_factors(uform_json_t const *object, draft_t *draft) {
    uform_status_t status =
        uform_json_number_(object, draft->where, "rescale_factor", uform_json_optional_k, &draft->factor);
    if (status == uform_status_ok_k && !(fabs(draft->factor) >= 1e-9 && fabs(draft->factor) <= 1e9))
        status = uform_json_unexpected_(draft->where, "rescale_factor", "a number from 1e-9 to 1e9, or its negative",
            find(object, "rescale_factor"));
    if (status == uform_status_ok_k)
        status = uform_json_number_(object, draft->where, "crop_pct", uform_json_optional_k, &draft->crop_share);
    if (status == uform_status_ok_k && !(draft->crop_share >= 0.01 && draft->crop_share <= 1.0))
        status = uform_json_unexpected_(draft->where, "crop_pct", "a number from 0.01 to 1", find(object, "crop_pct"));
    if (status == uform_status_ok_k)
        status = read_channels(draft->where, object, "image_mean", false, draft->statistics.means);
    if (status == uform_status_ok_k)
        status = read_channels(draft->where, object, "image_std", true, draft->statistics.deviations);
    return status;
}

static uform_status_t read_switches(uform_json_t const *object, draft_t *draft) {
    struct {
        char const *key;
        bool *value;
    } const switches[] = {{"do_resize", &draft->resize}, {"do_center_crop", &draft->crop},
        {"do_rescale", &draft->rescale}, {"do_normalize", &draft->normalize}, {"do_pad", &draft->pad}};
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]) && status == uform_status_ok_k; ++i)
        status = read_switch(object, draft, switches[i].key, switches[i].value);
    return status;
}

static uform_status_t read_keys(uform_json_t const *object, draft_t *draft) {
    uform_status_t status = read_switches(object, draft);
    if (status == uform_status_ok_k) status = read_sizes(object, draft);
    // What is neither cut nor padded may have sizes of any kind.
    if (status == uform_status_ok_k && draft->crop)
        status = read_area(draft, object, "crop_size", &draft->crop_height, &draft->crop_width);
    if (status == uform_status_ok_k && draft->pad)
        status = read_area(draft, object, "pad_size", &draft->pad_height, &draft->pad_width);
    if (status == uform_status_ok_k) status = read_factors(object, draft);
    if (status == uform_status_ok_k)
        status = uform_json_size_(
            object, draft->where, "resample", 0, uform_filter_count_k - 1, uform_json_optional_k, &draft->filter);
    if (status == uform_status_ok_k && draft->family == family_patches_k)
        status = read_edge(object, draft->where, "patch_size", uform_json_optional_k, &draft->patch_size);
    if (status == uform_status_ok_k && draft->family == family_patches_k)
        status = uform_json_size_(object, draft->where, "max_num_patches", 1, uform_patches_limit_k,
            uform_json_optional_k, &draft->patch_limit);
    return status;
}

/// What each byte becomes.
static void make_values(draft_t const *draft, uform_preprocessor_t *preprocessor) {
    float const factor = (float)draft->factor, inverse = (float)(1.0 / draft->factor);
    bool const tensor = draft->family == family_tensor_k, fused = draft->torch && !tensor;
    preprocessor->scale = draft->rescale ? factor : 1.0f;
    for (size_t byte = 0; byte < 256; ++byte) {
        float rescaled = (float)byte;
        if (draft->rescale) rescaled = draft->torch ? (float)byte * factor : (float)((double)byte * draft->factor);
        for (size_t channel = 0; channel < 3; ++channel) {
            float mean = (float)draft->statistics.means[channel];
            float deviation = (float)draft->statistics.deviations[channel];
            float number = rescaled;
            if (fused && draft->rescale && draft->normalize)
                number = (float)byte, mean = mean * inverse, deviation = deviation * inverse;
            preprocessor->values[channel][byte] = draft->normalize ? (number - mean) / deviation : number;
        }
    }
    for (size_t channel = 0; channel < 3; ++channel) {
        preprocessor->means[channel] = draft->normalize ? (float)draft->statistics.means[channel] : 0.0f;
        preprocessor->deviations[channel] = draft->normalize ? (float)draft->statistics.deviations[channel] : 1.0f;
    }
}

/// The size of the resized picture, and for ConvNeXT its cut.
static uform_status_t settle_size(uform_json_t const *object, draft_t *draft, uform_preprocessor_t *preprocessor) {
    if (!draft->resize) return uform_status_ok_k;
    if (draft->longest && !draft->shortest)
        return refuse(draft->where, "size", "shortest_edge beside longest_edge", find(object, "size"));
    preprocessor->height = draft->height, preprocessor->width = draft->width;
    preprocessor->shortest = draft->shortest, preprocessor->longest = draft->longest;
    if (draft->family == family_patches_k) preprocessor->sizing = uform_sizing_patches_k;
    else if (draft->shortest) preprocessor->sizing = uform_sizing_shortest_k;
    else if (draft->inside_height) {
        preprocessor->sizing = uform_sizing_inside_k;
        preprocessor->height = draft->inside_height, preprocessor->width = draft->inside_width;
    } else preprocessor->sizing = uform_sizing_exact_k;
    if (draft->family != family_convnext_k) return uform_status_ok_k;
    if (!draft->shortest) return refuse(draft->where, "size", "shortest_edge", find(object, "size"));
    preprocessor->longest = 0;
    if (draft->shortest >= convnext_square_k) {
        preprocessor->sizing = uform_sizing_exact_k;
        preprocessor->height = preprocessor->width = draft->shortest;
        return uform_status_ok_k;
    }
    if (draft->crop)
        return refuse(draft->where, "do_center_crop", "false beside crop_pct", find(object, "do_center_crop"));
    preprocessor->shortest = (size_t)((double)draft->shortest / draft->crop_share);
    draft->crop = true;
    draft->crop_height = draft->crop_width = draft->shortest;
    return uform_status_ok_k;
}

/// Checks what only the keys together tell, and fills in the preprocessor.
static uform_status_t settle(uform_json_t const *object, draft_t *draft, uform_preprocessor_t *preprocessor) {
    bool const tensor = draft->family == family_tensor_k;
    if (draft->torch && draft->resize &&
        (draft->filter == uform_filter_box_k || draft->filter == uform_filter_hamming_k))
        return refuse(draft->where, "resample", "a filter of torch's (0 to 3)", find(object, "resample"));
    if (tensor && !draft->rescale && (draft->resize || draft->normalize))
        return refuse(draft->where, "do_rescale", "true for this image processor", find(object, "do_rescale"));
    if (draft->crop && !draft->crop_height)
        return refuse(draft->where, "crop_size", "height and width beside do_center_crop", find(object, "crop_size"));
    if (draft->family == family_patches_k) draft->crop = false;
    if (draft->family != family_common_k && draft->family != family_clip_k) draft->pad = false;
    uform_status_t const status = settle_size(object, draft, preprocessor);
    if (status != uform_status_ok_k) return status;
    preprocessor->arithmetic = tensor         ? uform_arithmetic_tensor_k
                               : draft->torch ? uform_arithmetic_torch_k
                                              : uform_arithmetic_pillow_k;
    preprocessor->filter = (uform_filter_t)draft->filter;
    preprocessor->crop = draft->crop;
    preprocessor->middle = draft->torch ? uform_middle_torch_k : uform_middle_pillow_k;
    if (draft->crop) preprocessor->crop_height = draft->crop_height, preprocessor->crop_width = draft->crop_width;
    if (draft->pad) preprocessor->pad_height = draft->pad_height, preprocessor->pad_width = draft->pad_width;
    if (draft->family == family_patches_k)
        preprocessor->patch_size = draft->patch_size, preprocessor->patch_limit = draft->patch_limit;
    if (preprocessor->pad_width)
        preprocessor->output_height = preprocessor->pad_height, preprocessor->output_width = preprocessor->pad_width;
    else if (draft->crop)
        preprocessor->output_height = draft->crop_height, preprocessor->output_width = draft->crop_width;
    else if (preprocessor->sizing == uform_sizing_exact_k)
        preprocessor->output_height = preprocessor->height, preprocessor->output_width = preprocessor->width;
    make_values(draft, preprocessor);
    return uform_status_ok_k;
}

uform_status_t uform_preprocessor_parse_(
    uform_json_t const *object, char const *where, char const *model_type, uform_preprocessor_t *preprocessor) {
    *preprocessor = (uform_preprocessor_t){0};
    if (object->kind != uform_json_object_k)
        return uform_fail_(uform_status_malformed_k, "%s: expected an object", where);
    draft_t draft = {.where = where};
    uform_preprocessor_t read = {0};
    uform_status_t status = read_class(object, model_type, &draft);
    if (status == uform_status_ok_k) status = read_keys(object, &draft);
    if (status == uform_status_ok_k) status = settle(object, &draft, &read);
    if (status == uform_status_ok_k) *preprocessor = read;
    return status;
}

uform_status_t uform_preprocessor_parse_encoder_(
    uform_json_t const *object, char const *where, uform_preprocessor_t *preprocessor) {
    *preprocessor = (uform_preprocessor_t){0};
    statistics_t statistics = {{0}, {0}};
    size_t size = 0;
    uform_status_t status = read_edge(object, where, "image_size", uform_json_required_k, &size);
    static char const *const keys[] = {"normalization_means", "normalization_deviations"};
    for (size_t i = 0; i < 2 && status == uform_status_ok_k; ++i) {
        uform_json_t const *found;
        status = uform_json_member_(object, where, keys[i], uform_json_array_k, uform_json_required_k, &found);
        if (status == uform_status_ok_k)
            status = read_channels(where, object, keys[i], i == 1, i ? statistics.deviations : statistics.means);
    }
    if (status != uform_status_ok_k) return status;
    *preprocessor = (uform_preprocessor_t){
        .arithmetic = uform_arithmetic_pillow_k,
        .sizing = uform_sizing_shortest_k,
        .filter = uform_filter_bicubic_k,
        .shortest = size,
        .crop = true,
        .middle = uform_middle_even_k,
        .crop_height = size,
        .crop_width = size,
        .output_height = size,
        .output_width = size,
    };
    for (size_t byte = 0; byte < 256; ++byte) {
        for (size_t channel = 0; channel < 3; ++channel) {
            preprocessor->means[channel] = (float)statistics.means[channel];
            preprocessor->deviations[channel] = (float)statistics.deviations[channel];
            preprocessor->values[channel][byte] =
                ((float)byte / 255.0f - preprocessor->means[channel]) / preprocessor->deviations[channel];
        }
    }
    return uform_status_ok_k;
}
