/**
 *  config.json: which family, which towers, and their sizes by the rows of their descriptors.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/file.h"
#include "base/memory.h"
#include "models/directory_explain.h"
#include "models/directory_parts.h"

enum { head_width_limit_k = 1024 };

/// A tower's object in config.json, and the words a failure about it begins with.
typedef struct section_t {
    uform_json_t const *object;
    char const *where;
} section_t;

uform_status_t uform_config_require_string_(
    uform_json_t const *object, char const *where, char const *key, char const *expected) {
    uform_json_t const *found = uform_json_find_(object, key);
    if (!found || found->kind == uform_json_null_k || uform_json_equals_(found, expected)) return uform_status_ok_k;
    char description[96];
    return uform_fail_(uform_status_unsupported_k, "%s: %s: expected \"%s\", found %s", where, key, expected,
        uform_json_describe_(found, description, sizeof(description)));
}

uform_status_t uform_config_require_off_(uform_json_t const *object, char const *where, char const *key) {
    uform_json_t const *found = uform_json_find_(object, key);
    bool const off = !found || found->kind == uform_json_null_k ||
                     (found->kind == uform_json_boolean_k && !found->truth) ||
                     (found->kind == uform_json_object_k && !found->length);
    if (off) return uform_status_ok_k;
    char description[96];
    return uform_fail_(uform_status_unsupported_k, "%s: %s: not supported, found %s", where, key,
        uform_json_describe_(found, description, sizeof(description)));
}

/// The object of a tower: the first of the section keys that is there; all of the file without keys. An absent section of a
/// known model_type is an empty one, as transformers has it.
static uform_status_t find_section(
    uform_config_t const *config, char const *const *keys, char *where, size_t where_bytes, section_t *section) {
    *section = (section_t){config->root, config->path};
    if (!keys) return uform_status_ok_k;
    section->object = NULL;
    for (; *keys && !section->object; ++keys) {
        uform_status_t const status = uform_json_member_(
            config->root, config->path, *keys, uform_json_object_k, uform_json_optional_k, &section->object);
        if (status != uform_status_ok_k) return status;
        snprintf(where, where_bytes, "%s: %s", config->path, *keys);
        section->where = where;
    }
    return uform_status_ok_k;
}

static uform_status_t read_size(section_t section, uform_config_row_t const *row, void *field) {
    return uform_json_size_(section.object, section.where, row->key, (size_t)row->minimum, (size_t)row->maximum,
        row->fallback < 0 ? uform_json_required_k : uform_json_optional_k, field);
}

static uform_status_t read_real(section_t section, uform_config_row_t const *row, void *field) {
    double number = row->fallback;
    uform_status_t const status =
        uform_json_number_(section.object, section.where, row->key, uform_json_optional_k, &number);
    if (status != uform_status_ok_k) return status;
    if (!(number >= row->minimum && number <= row->maximum)) {
        char expected[64];
        snprintf(expected, sizeof(expected), "a number from %g to %g", row->minimum, row->maximum);
        return uform_json_unexpected_(section.where, row->key, expected, uform_json_find_(section.object, row->key));
    }
    *(float *)field = (float)number;
    return uform_status_ok_k;
}

static uform_status_t read_flag(section_t section, uform_config_row_t const *row, void *field) {
    return uform_json_boolean_(section.object, section.where, row->key, uform_json_optional_k, field);
}

static uform_status_t read_activation(section_t section, uform_config_row_t const *row, void *field) {
    return uform_hidden_act_parse_(section.object, section.where, row->key, field);
}

/// One number for both sides, or two of which `side` counts; equal ones if `square`.
static uform_status_t read_side(
    section_t section, uform_config_row_t const *row, size_t side, bool square, size_t *field) {
    uform_json_t const *found = uform_json_find_(section.object, row->key);
    if (!found || found->kind != uform_json_array_k) return read_size(section, row, field);
    bool usable = found->length == 2;
    double sides[2] = {0, 0};
    uform_json_t const *item = found->first;
    for (size_t i = 0; i < 2 && usable; ++i, item = item->next) {
        usable = item->kind == uform_json_number_k && item->number >= row->minimum && item->number <= row->maximum &&
                 item->number == floor(item->number);
        sides[i] = item->number;
    }
    if (!usable || (square && sides[0] != sides[1]))
        return uform_json_unexpected_(section.where, row->key,
            square ? "an integer or two equal ones" : "an integer or two, height and width", found);
    *field = (size_t)sides[side];
    return uform_status_ok_k;
}

static uform_status_t read_square(section_t section, uform_config_row_t const *row, void *field) {
    return read_side(section, row, 0, true, field);
}

static uform_status_t read_height(section_t section, uform_config_row_t const *row, void *field) {
    return read_side(section, row, 0, false, field);
}

static uform_status_t read_width(section_t section, uform_config_row_t const *row, void *field) {
    return read_side(section, row, 1, false, field);
}

static void set_size(void *field, double value) {
    *(size_t *)field = value < 0 ? 0 : (size_t)value;
}
static void set_real(void *field, double value) {
    *(float *)field = (float)value;
}
static void set_flag(void *field, double value) {
    *(bool *)field = value != 0;
}
static void set_activation(void *field, double value) {
    *(uform_activation_t *)field = (uform_activation_t)value;
}

/// How each kind of row is read, and how its fallback is set.
static struct {
    uform_status_t (*read)(section_t section, uform_config_row_t const *row, void *field);
    void (*set)(void *field, double value);
} const kinds[] = {
    [uform_config_size_k] = {read_size, set_size},
    [uform_config_real_k] = {read_real, set_real},
    [uform_config_flag_k] = {read_flag, set_flag},
    [uform_config_activation_k] = {read_activation, set_activation},
    [uform_config_square_k] = {read_square, set_size},
    [uform_config_height_k] = {read_height, set_size},
    [uform_config_width_k] = {read_width, set_size},
};

static uform_status_t read_rows(section_t section, uform_config_row_t const *rows, uform_architecture_sizes_t *sizes) {
    for (uform_config_row_t const *row = rows; row->offset != SIZE_MAX; ++row) {
        void *const field = (char *)sizes + row->offset;
        if (!isnan(row->fallback)) kinds[row->kind].set(field, row->fallback);
        uform_status_t const status = row->key ? kinds[row->kind].read(section, row, field) : uform_status_ok_k;
        if (status != uform_status_ok_k) return status;
    }
    return uform_status_ok_k;
}

/// What follows from other sizes. The gated layer keeps two thirds of the middle, rounded up to a multiple of eight.
static void derive_sizes(uform_architecture_sizes_t *sizes) {
    if (!sizes->feed_forward_ratio) return;
    sizes->feed_forward_width = sizes->width * sizes->feed_forward_ratio;
    if (sizes->gated) sizes->feed_forward_width = (sizes->feed_forward_width * 2 / 3 + 7) / 8 * 8;
}

static uform_status_t derive_heads(section_t section, uform_architecture_sizes_t *sizes) {
    if (!sizes->head_width && sizes->width % sizes->heads)
        return uform_fail_(uform_status_malformed_k,
            "%s: hidden_size: expected a multiple of the %zu num_attention_heads, found %zu", section.where,
            sizes->heads, sizes->width);
    if (!sizes->head_width) sizes->head_width = sizes->width / sizes->heads;
    if (!sizes->key_value_heads) sizes->key_value_heads = sizes->heads;
    if (sizes->head_width > head_width_limit_k)
        return uform_fail_(uform_status_unsupported_k,
            "%s: num_attention_heads: expected heads of at most %d numbers, found %zu", section.where,
            head_width_limit_k, sizes->head_width);
    if (sizes->heads * sizes->head_width > uform_largest_width_k * 4)
        return uform_fail_(uform_status_unsupported_k,
            "%s: num_attention_heads: expected heads of at most %d numbers in all, found %zu", section.where,
            uform_largest_width_k * 4, sizes->heads * sizes->head_width);
    if (sizes->heads % sizes->key_value_heads)
        return uform_fail_(uform_status_malformed_k,
            "%s: num_key_value_heads: expected a divisor of the %zu num_attention_heads, found %zu", section.where,
            sizes->heads, sizes->key_value_heads);
    return uform_status_ok_k;
}

static uform_status_t check_image(
    section_t section, uform_architecture_t const *architecture, uform_architecture_sizes_t const *sizes) {
    if (sizes->channels != 3)
        return uform_fail_(
            uform_status_unsupported_k, "%s: num_channels: expected 3, found %zu", section.where, sizes->channels);
    if (architecture->summary == uform_summary_attention_k && !sizes->attention_head)
        return uform_fail_(uform_status_unsupported_k,
            "%s: vision_use_head: expected true: without the head the reference gives no vector", section.where);
    if (architecture->positions_kind == uform_positions_bilinear_k) return uform_status_ok_k;
    if (sizes->image_height < sizes->patch || sizes->image_width < sizes->patch)
        return uform_fail_(uform_status_malformed_k, "%s: image_size: expected at least one patch of %zu pixels",
            section.where, sizes->patch);
    bool const resampled = architecture->positions_kind == uform_positions_bicubic_k ||
                           architecture->positions_kind == uform_positions_smoothed_k;
    if (resampled && sizes->image_height / sizes->patch != sizes->image_width / sizes->patch)
        return uform_fail_(uform_status_unsupported_k, "%s: image_size: expected a square, found %zu x %zu",
            section.where, sizes->image_height, sizes->image_width);
    if (architecture->positions_kind == uform_positions_rotary_k && sizes->head_width % 4)
        return uform_fail_(uform_status_unsupported_k,
            "%s: num_attention_heads: expected heads of a multiple of 4 numbers, found %zu", section.where,
            sizes->head_width);
    return uform_status_ok_k;
}

/// Leaves out the listed layers: the numbers of the others go to `layer_numbers`.
static uform_status_t skip_layers(section_t section, char const *key, uform_tower_t *tower) {
    enum { left_out_k = 1 };
    uform_json_t const *list = uform_json_find_(section.object, key);
    if (!list || list->kind == uform_json_null_k) return uform_status_ok_k;
    if (list->kind != uform_json_array_k)
        return uform_json_unexpected_(section.where, key, "an array of layers' numbers", list);
    size_t const layers = tower->sizes.layers;
    size_t *const numbers = tower->layer_numbers = uform_allocate_(layers, sizeof *numbers);
    if (!numbers) return uform_status_out_of_memory_k;
    for (uform_json_t const *item = list->first; item; item = item->next) {
        bool const known = item->kind == uform_json_number_k && item->number >= 0 && item->number < (double)layers;
        if (!known || item->number != floor(item->number))
            return uform_json_unexpected_(section.where, key, "numbers of layers there are", item);
        numbers[(size_t)item->number] = left_out_k;
    }
    tower->sizes.layers = 0;
    for (size_t layer = 0; layer < layers; ++layer)
        if (numbers[layer] != left_out_k) numbers[tower->sizes.layers++] = layer;
    return uform_status_ok_k;
}

static void count_behind_padding(uform_architecture_sizes_t *sizes) {
    sizes->first_position = sizes->pad_token + 1;
    sizes->skips_padding = true;
}

/// The position of the first token where the file says how positions are counted.
static uform_status_t read_position_style(section_t section, char const *key, uform_architecture_sizes_t *sizes) {
    char const *style = NULL;
    uform_status_t const status =
        uform_json_string_(section.object, section.where, key, uform_json_required_k, &style, NULL);
    if (status != uform_status_ok_k || !strcmp(style, "bert")) return status;
    if (strcmp(style, "roberta") != 0)
        return uform_fail_(uform_status_unsupported_k, "%s: %s: expected \"bert\" or \"roberta\", found \"%s\"",
            section.where, key, style);
    count_behind_padding(sizes);
    return uform_status_ok_k;
}

/// As newer files call what sees everything, and what sees a window.
static char const *const kinds_of_layers[] = {"full_attention", "sliding_attention"};

/// A base of rotations: in newer files it is one of rope_parameters, or of what these hold for a kind of layer. Older ones have
/// `type` for rope_type.
static uform_status_t read_rope(section_t section, char const *kind, float *base) {
    static char const key[] = "rope_parameters";
    uform_json_t const *found = uform_json_find_(section.object, key);
    char where[512];
    snprintf(where, sizeof(where), kind ? "%s: %s: %s" : "%s: %s", section.where, key, kind);
    char const *name = key;
    if (kind && found && found->kind == uform_json_object_k) found = uform_json_find_(found, name = kind);
    if (!found || found->kind == uform_json_null_k) return uform_status_ok_k;
    if (found->kind != uform_json_object_k) return uform_json_unexpected_(section.where, name, "an object", found);
    uform_config_row_t const row = {"rope_theta", uform_config_real_k, 0, *base, 1e-3, 1e12};
    uform_status_t status = uform_config_require_string_(found, where, "rope_type", "default");
    if (status == uform_status_ok_k) status = uform_config_require_string_(found, where, "type", "default");
    for (size_t i = 0; i < 2 && !kind && status == uform_status_ok_k; ++i)
        status = uform_config_require_off_(found, where, kinds_of_layers[i]); // whose layers are of one kind
    return status ? status : read_real((section_t){found, where}, &row, base);
}

/// Which layers see everything, as newer files list it: one in every so many.
static uform_status_t read_layer_types(section_t section, uform_architecture_sizes_t *sizes) {
    static char const key[] = "layer_types";
    char const *const full = kinds_of_layers[0], *const sliding = kinds_of_layers[1];
    uform_json_t const *list = uform_json_find_(section.object, key);
    if (!list || list->kind == uform_json_null_k) return uform_status_ok_k;
    if (list->kind != uform_json_array_k || list->length != sizes->layers)
        return uform_json_unexpected_(section.where, key, "an array of as many kinds as there are layers", list);
    sizes->global_every = sizes->global_phase = sizes->layers; // which no layer's number reaches
    size_t i = 0, found = 0;
    for (uform_json_t const *item = list->first; i < sizes->layers; item = item->next, ++i) {
        bool const is_full = uform_json_equals_(item, full);
        if (!is_full && !uform_json_equals_(item, sliding))
            return uform_json_unexpected_(section.where, key, "\"full_attention\" or \"sliding_attention\"", item);
        if (is_full && found == 0) sizes->global_phase = i;
        if (is_full && found == 1) sizes->global_every = i - sizes->global_phase;
        found += is_full;
        if (is_full != (i % sizes->global_every == sizes->global_phase))
            return uform_fail_(uform_status_unsupported_k,
                "%s: %s: expected one \"%s\" in every so many layers, found layer %zu to differ", section.where, key,
                full, i);
    }
    return uform_status_ok_k;
}

/// Whether heads can be rotated, and by tables that memory should be taken for: no tensor bounds them.
static uform_status_t check_rotations(section_t section, uform_architecture_sizes_t const *sizes) {
    size_t const head = sizes->head_width, limit = uform_largest_rotated_k / head;
    if (head % 2)
        return uform_fail_(uform_status_unsupported_k,
            "%s: num_attention_heads: expected heads of an even width, found %zu", section.where, head);
    if (sizes->position_count > limit)
        return uform_fail_(uform_status_unsupported_k,
            "%s: max_position_embeddings: expected at most %zu with heads of %zu numbers, found %zu", section.where,
            limit, head, sizes->position_count);
    return uform_status_ok_k;
}

/// Of families whose layers may see windows, but in no model that is read.
static uform_status_t refuse_windows(section_t section, uform_architecture_sizes_t *sizes) {
    uform_status_t status = uform_config_require_off_(section.object, section.where, "use_sliding_window");
    if (status == uform_status_ok_k) status = read_layer_types(section, sizes);
    if (status != uform_status_ok_k || sizes->global_every <= 1) return status;
    return uform_fail_(uform_status_unsupported_k,
        "%s: layer_types: expected \"full_attention\" for all layers, found others", section.where);
}

/// How tokens are rotated, and which layers do what.
static uform_status_t read_rotations(
    section_t section, uform_architecture_t const *architecture, uform_architecture_sizes_t *sizes) {
    bool const has_windows = architecture->has_windows;
    uform_status_t status = uform_config_require_off_(section.object, section.where, "rope_scaling");
    if (status == uform_status_ok_k) status = check_rotations(section, sizes);
    if (status == uform_status_ok_k && !has_windows) status = refuse_windows(section, sizes);
    if (status != uform_status_ok_k || !has_windows)
        return status ? status : read_rope(section, NULL, &sizes->rotary_base);
    sizes->global_phase = architecture->global_comes_last ? sizes->global_every - 1 : 0;
    sizes->farthest = sizes->causal ? sizes->window - 1 : sizes->window / 2;
    status = read_rope(section, kinds_of_layers[0], &sizes->rotary_base);
    if (status == uform_status_ok_k) status = read_rope(section, kinds_of_layers[1], &sizes->local_rotary_base);
    return status == uform_status_ok_k ? read_layer_types(section, sizes) : status;
}

/// Whether tokens see those behind them, which what ends a text at its end token counts on not to be.
static uform_status_t read_causal(
    section_t section, uform_architecture_t const *architecture, uform_architecture_sizes_t *sizes) {
    uform_config_row_t const row = {"is_causal", uform_config_flag_k, 0, true, 0, 1};
    uform_config_row_t const other = {architecture->both_ways_key, uform_config_flag_k, 0, false, 0, 1};
    bool both_ways = false;
    uform_status_t status = read_flag(section, &row, &sizes->causal);
    if (status == uform_status_ok_k && other.key) status = read_flag(section, &other, &both_ways);
    // Of a model that isn't causal the reference doesn't halve windows, and counts them with their ends.
    if (!sizes->causal) sizes->window = 2 * (both_ways ? sizes->window / 2 + 1 : sizes->window);
    sizes->causal = sizes->causal && !both_ways;
    uform_json_t const *found = uform_json_find_(section.object, row.key);
    if (status == uform_status_ok_k && architecture->has_windows && found && found->kind == uform_json_null_k)
        return uform_json_unexpected_(section.where, row.key, "true or false", found);
    if (status != uform_status_ok_k || sizes->causal || architecture->summary != uform_summary_end_k) return status;
    return uform_fail_(uform_status_unsupported_k, "%s: is_causal: expected true, found false", section.where);
}

static uform_status_t read_pooling_key(section_t section, char const *key, uform_tower_t *tower) {
    char const *pooling = "cls";
    uform_status_t const status =
        uform_json_string_(section.object, section.where, key, uform_json_optional_k, &pooling, NULL);
    tower->pooling[0] = strcmp(pooling, "cls") != 0 ? uform_pooling_mean_k : uform_pooling_cls_k;
    tower->pooling_count = 1;
    return status;
}

static uform_status_t read_tower(section_t section, uform_architecture_t const *architecture, uform_tower_t *tower) {
    static char const *const off[] = {
        "is_decoder", "add_cross_attention", "quantization_config", "attn_logit_softcapping", "is_causal"};
    size_t const off_count = sizeof(off) / sizeof(off[0]) - (architecture->causal ? 1 : 0); // which is read below
    uform_architecture_sizes_t *sizes = &tower->sizes;
    tower->architecture = architecture;
    *sizes = (uform_architecture_sizes_t){.query_bias = true,
        .key_bias = true,
        .value_bias = true,
        .output_bias = true,
        .feed_forward_bias = true,
        .patch_bias = true,
        .norm_bias = true,
        .causal = architecture->causal};
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < off_count && status == uform_status_ok_k; ++i)
        status = uform_config_require_off_(section.object, section.where, off[i]);
    if (status == uform_status_ok_k)
        status = uform_config_require_string_(section.object, section.where, "position_embedding_type", "absolute");
    if (status == uform_status_ok_k && architecture->gated_act_key)
        status = uform_gated_act_parse_(
            section.object, section.where, architecture->gated_act_key, &sizes->gated, &sizes->activation);
    if (status == uform_status_ok_k) status = read_rows(section, architecture->config, sizes);
    if (status == uform_status_ok_k) status = derive_heads(section, sizes);
    if (status == uform_status_ok_k && architecture->causal) status = read_causal(section, architecture, sizes);
    derive_sizes(sizes);
    if (status == uform_status_ok_k && architecture->patches) status = check_image(section, architecture, sizes);
    if (status == uform_status_ok_k && architecture->skipped_layers_key)
        status = skip_layers(section, architecture->skipped_layers_key, tower);
    if (status == uform_status_ok_k && architecture->positions_kind == uform_positions_rotary_texts_k)
        status = read_rotations(section, architecture, sizes);
    if (architecture->positions_behind_padding) count_behind_padding(sizes);
    if (status == uform_status_ok_k && architecture->position_style_key)
        status = read_position_style(section, architecture->position_style_key, sizes);
    if (status == uform_status_ok_k && architecture->pooling_key)
        status = read_pooling_key(section, architecture->pooling_key, tower);
    return status;
}

/// Whether the file has a section of the family that has no model_type.
static bool has_sections(uform_config_t const *config, uform_family_t const *family) {
    uform_json_t const *text = uform_json_find_(config->root, family->text_sections[0]);
    uform_json_t const *image = uform_json_find_(config->root, family->image_sections[0]);
    return (text && text->kind == uform_json_object_k) || (image && image->kind == uform_json_object_k);
}

static uform_status_t read_family(uform_config_t const *config, uform_directory_t *directory) {
    uform_family_t const *const nameless = uform_family_find_(NULL);
    char const *model_type = NULL;
    uform_json_need_t const need = has_sections(config, nameless) ? uform_json_optional_k : uform_json_required_k;
    uform_json_t const *timm = uform_json_find_(config->root, "architecture");
    if (timm && timm->kind == uform_json_string_k && !uform_json_find_(config->root, "model_type"))
        return uform_fail_(uform_status_unsupported_k,
            "%s: architecture: found \"%.64s\" of timm, expected the model_type of a model of transformers",
            config->path, timm->text);
    uform_status_t const status = uform_json_string_(config->root, config->path, "model_type", need, &model_type, NULL);
    if (status != uform_status_ok_k) return status;
    directory->family = uform_family_find_(model_type);
    if (!directory->family && need == uform_json_optional_k) directory->family = nameless;
    if (directory->family) return uform_status_ok_k;
    char names[512];
    return uform_fail_(uform_status_unsupported_k,
        "%s: model_type: expected a supported architecture (%s), found \"%s\"", config->path,
        uform_family_names_(names, sizeof(names)), model_type);
}

/// Whether the file's class leaves out the projection that models of its model_type may have. Without a class it is there if its
/// tensor is.
static bool names_bare_tower(uform_config_t const *config) {
    static char const suffix[] = "WithProjection";
    uform_json_t const *classes = uform_json_find_(config->root, "architectures");
    uform_json_t const *name = classes && classes->kind == uform_json_array_k ? classes->first : NULL;
    if (!name || name->kind != uform_json_string_k) return false;
    return name->length < sizeof(suffix) - 1 || strcmp(name->text + name->length - (sizeof(suffix) - 1), suffix) != 0;
}

/// Without a model_type, a section that is absent is a tower that is absent.
static uform_status_t read_section(uform_config_t const *config, uform_family_t const *family, char const *const *keys,
    uform_architecture_t const *architecture, uform_tower_t *tower) {
    char where[512];
    section_t section;
    if (!architecture) return uform_status_ok_k;
    uform_status_t const status = find_section(config, keys, where, sizeof(where), &section);
    if (status != uform_status_ok_k || (!section.object && !family->model_type)) return status;
    return read_tower(section, architecture, tower);
}

static uform_status_t read_towers(uform_config_t const *config, uform_directory_t *directory) {
    uform_status_t status = read_family(config, directory);
    if (status != uform_status_ok_k) return status;
    uform_family_t const *family = directory->family;
    directory->is_bare = names_bare_tower(config);
    // Where the towers have sections of their own, this one is beside them.
    status = uform_config_require_off_(config->root, config->path, "quantization_config");
    if (status == uform_status_ok_k)
        status = read_section(config, family, family->text_sections, family->text, &directory->text);
    if (status == uform_status_ok_k)
        status = read_section(config, family, family->image_sections, family->image, &directory->image);
    return status;
}

/// Says of other packages' directories what they are.
static uform_status_t refuse_foreign(char const *transformer) {
    static char const name[] = "open_clip_config.json";
    char *const path = uform_path_join_(transformer, name);
    if (!path) return uform_status_out_of_memory_k;
    bool const found = uform_file_exists_(path);
    uform_status_t const status = found ? uform_fail_(uform_status_unsupported_k,
                                              "%s: found a directory of open_clip, expected one of transformers", path)
                                        : uform_status_ok_k;
    uform_free_(path);
    return status;
}

uform_status_t uform_directory_read_config_(char const *transformer, uform_directory_t *directory) {
    uform_config_t config;
    uform_status_t status = uform_config_open_model_(transformer, uform_json_required_k, &config);
    if (status == uform_status_not_found_k) status = uform_directory_explain_config_(transformer);
    if (status == uform_status_ok_k) status = read_towers(&config, directory);
    uform_config_close_(&config);
    if (status != uform_status_not_found_k) return status;
    uform_status_t const foreign = refuse_foreign(transformer);
    return foreign == uform_status_ok_k ? status : foreign;
}
