/**
 *  modules.json: the transformer first, then a Pooling, then any sequence of Dense, Normalize and Dropout.
 *
 *  Modules are known by the last part of their class path, because sentence-transformers has moved its classes more
 *  than once.
 */
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "models/directory_parts.h"

enum {
    module_limit_k = 64,
    width_limit_k = uform_largest_dimensions_k,
};

/// What the modules so far have come to.
typedef struct chain_t {
    uform_directory_t *directory;
    uform_tower_t *tower; ///< the only one, or that of texts
    size_t width;         ///< of what the next module gets
    bool normalized;      ///< a Normalize waits to be attached to a Dense or to the end
} chain_t;

/// One module: its folder, and the words a failure about it begins with.
typedef struct module_t {
    char const *type;
    char *folder;          ///< owned
    uform_config_t config; ///< owned; absent for modules that need none
} module_t;

typedef uform_status_t (*module_reader_t)(chain_t *chain, module_t *module);

static uform_status_t refuse_value(
    module_t const *module, char const *key, char const *expected, uform_json_t const *found) {
    char description[96];
    return uform_fail_(uform_status_unsupported_k, "%s: %s: expected %s, found %s", module->config.path, key, expected,
        uform_json_describe_(found, description, sizeof(description)));
}

/// Refuses modules that read or write anything but the pooled vector.
static uform_status_t check_streams(module_t const *module) {
    static char const *const keys[] = {"module_input_name", "module_output_name"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        uform_json_t const *found = uform_json_find_(module->config.root, keys[i]);
        if (found && found->kind != uform_json_null_k && !uform_json_equals_(found, "sentence_embedding"))
            return refuse_value(module, keys[i], "\"sentence_embedding\"", found);
    }
    return uform_status_ok_k;
}

/// Every mode: what the file calls it now, and the switch it had before.
static struct {
    char const *name, *old_key;
    uform_pooling_t pooling;
} const modes[] = {
    {"cls", "pooling_mode_cls_token", uform_pooling_cls_k},
    {"max", "pooling_mode_max_tokens", uform_pooling_max_k},
    {"mean", "pooling_mode_mean_tokens", uform_pooling_mean_k},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", uform_pooling_mean_sqrt_len_k},
    {"weightedmean", "pooling_mode_weightedmean_tokens", uform_pooling_weightedmean_k},
    {"lasttoken", "pooling_mode_lasttoken", uform_pooling_lasttoken_k},
};

enum { mode_count_k = sizeof(modes) / sizeof(modes[0]) };

static uform_status_t add_mode(module_t const *module, uform_json_t const *name, uform_tower_t *tower) {
    static char const key[] = "pooling_mode";
    enum { capacity_k = sizeof(tower->pooling) / sizeof(tower->pooling[0]) };
    if (name->kind != uform_json_string_k)
        return uform_json_unexpected_(module->config.path, key, "names of modes", name);
    for (size_t i = 0; i < mode_count_k; ++i) {
        if (!uform_json_equals_(name, modes[i].name)) continue;
        if (tower->pooling_count == capacity_k)
            return uform_fail_(
                uform_status_unsupported_k, "%s: %s: expected at most %d modes", module->config.path, key, capacity_k);
        tower->pooling[tower->pooling_count++] = modes[i].pooling;
        return uform_status_ok_k;
    }
    return refuse_value(module, key, "a pooling mode of sentence-transformers", name);
}

/// The new key: one name, or a list in the order of concatenation.
static uform_status_t read_modes(module_t const *module, uform_json_t const *mode, uform_tower_t *tower) {
    if (mode->kind != uform_json_array_k) return add_mode(module, mode, tower);
    if (!mode->length) return uform_json_unexpected_(module->config.path, "pooling_mode", "at least one mode", mode);
    uform_status_t status = uform_status_ok_k;
    for (uform_json_t const *name = mode->first; name && status == uform_status_ok_k; name = name->next)
        status = add_mode(module, name, tower);
    return status;
}

/// The old switches, concatenated in the order of the table; mean when none is on.
static uform_status_t read_switches(module_t const *module, uform_tower_t *tower) {
    for (size_t i = 0; i < mode_count_k; ++i) {
        bool on = false;
        uform_status_t const status =
            uform_json_boolean_(module->config.root, module->config.path, modes[i].old_key, uform_json_optional_k, &on);
        if (status != uform_status_ok_k) return status;
        if (on) tower->pooling[tower->pooling_count++] = modes[i].pooling;
    }
    if (!tower->pooling_count) tower->pooling[tower->pooling_count++] = uform_pooling_mean_k;
    return uform_status_ok_k;
}

static uform_status_t check_pooling_width(module_t const *module, size_t expected) {
    static char const *const keys[] = {"word_embedding_dimension", "embedding_dimension"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        size_t width = expected;
        uform_status_t const status = uform_json_size_(
            module->config.root, module->config.path, keys[i], 1, width_limit_k, uform_json_optional_k, &width);
        if (status != uform_status_ok_k) return status;
        if (width != expected)
            return uform_fail_(uform_status_malformed_k,
                "%s: %s: expected %zu, the transformer's hidden_size, found %zu", module->config.path, keys[i],
                expected, width);
    }
    return uform_status_ok_k;
}

static uform_status_t read_pooling(chain_t *chain, module_t *module) {
    uform_tower_t *tower = chain->tower;
    if (tower->architecture->last_state_is_raw)
        return uform_fail_(uform_status_unsupported_k,
            "%s: expected no Pooling behind this family's tower, which normalises the first token only",
            module->config.path);
    tower->sizes.attention_head = false; // the tokens are pooled instead
    tower->pooled_by_module = true;
    if (tower->pooling_count)
        return uform_fail_(
            uform_status_unsupported_k, "%s: expected one Pooling module, found another", module->config.path);
    uform_status_t status = check_pooling_width(module, chain->width);
    if (status == uform_status_ok_k)
        status = uform_json_boolean_(module->config.root, module->config.path, "include_prompt", uform_json_optional_k,
            &chain->directory->include_prompt);
    if (status != uform_status_ok_k) return status;
    uform_json_t const *mode = uform_json_find_(module->config.root, "pooling_mode");
    status = mode ? read_modes(module, mode, tower) : read_switches(module, tower);
    chain->width *= tower->pooling_count;
    if (status == uform_status_ok_k && chain->width > width_limit_k)
        status =
            uform_fail_(uform_status_unsupported_k, "%s: pooling_mode: expected at most %d numbers in all, found %zu",
                module->config.path, width_limit_k, chain->width);
    return status;
}

/// The module's tensors, of which it must have exactly those its configuration announces.
static uform_status_t read_dense_tensors(module_t const *module, bool has_bias, uform_dense_t *dense) {
    uform_status_t status = uform_weights_open_(module->folder, &dense->weights);
    if (status == uform_status_ok_k)
        status =
            uform_weights_require_(&dense->weights, "linear.weight", dense->outputs, dense->inputs, &dense->weight);
    if (status != uform_status_ok_k) return status;
    if (has_bias) return uform_weights_require_(&dense->weights, "linear.bias", dense->outputs, 0, &dense->bias);
    uform_tensor_t stray;
    if (!uform_weights_find_(&dense->weights, "linear.bias", &stray)) return uform_status_ok_k;
    return uform_fail_(uform_status_malformed_k, "%s: bias: expected true, for %s holds linear.bias, found false",
        module->config.path, stray.file);
}

static uform_status_t read_dense_sizes(chain_t const *chain, module_t const *module, uform_dense_t *dense) {
    uform_json_t const *root = module->config.root;
    uform_status_t status = uform_json_size_(
        root, module->config.path, "in_features", 1, width_limit_k, uform_json_required_k, &dense->inputs);
    if (status == uform_status_ok_k)
        status = uform_json_size_(
            root, module->config.path, "out_features", 1, width_limit_k, uform_json_required_k, &dense->outputs);
    if (status == uform_status_ok_k && dense->inputs != chain->width)
        status = uform_fail_(uform_status_malformed_k,
            "%s: in_features: expected %zu, what the module before gives, found %zu", module->config.path, chain->width,
            dense->inputs);
    return status;
}

static uform_status_t read_dense(chain_t *chain, module_t *module) {
    uform_json_t const *root = module->config.root, *residual = uform_json_find_(root, "use_residual");
    uform_dense_t *dense = &chain->tower->dense[chain->tower->dense_count++];
    bool has_bias = true;
    uform_status_t status = check_streams(module);
    if (status == uform_status_ok_k && residual && (residual->kind != uform_json_boolean_k || residual->truth))
        status = refuse_value(module, "use_residual", "false", residual);
    if (status == uform_status_ok_k) status = read_dense_sizes(chain, module, dense);
    if (status == uform_status_ok_k)
        status = uform_json_boolean_(root, module->config.path, "bias", uform_json_optional_k, &has_bias);
    if (status == uform_status_ok_k)
        status = uform_torch_activation_parse_(root, module->config.path, "activation_function", &dense->activation);
    if (status == uform_status_ok_k) status = read_dense_tensors(module, has_bias, dense);
    dense->normalize_inputs = chain->normalized;
    chain->normalized = false;
    chain->width = dense->outputs;
    return status;
}

static uform_status_t read_normalize(chain_t *chain, module_t *module) {
    chain->normalized = true;
    return check_streams(module);
}

/// Dropout does nothing once a model is trained.
static uform_status_t read_dropout(chain_t *chain, module_t *module) {
    (void)chain, (void)module;
    return uform_status_ok_k;
}

/// Modules behind the transformer: whether they have to stand behind the pooling, and whether they need a config.json.
static struct {
    char const *name;
    module_reader_t read;
    bool behind_pooling;
    bool single_tower; ///< a model with an image tower pools and projects by itself
    uform_json_need_t config;
} const readers[] = {
    {"Pooling", read_pooling, false, true, uform_json_required_k},
    {"Dense", read_dense, true, true, uform_json_required_k},
    {"Normalize", read_normalize, true, false, uform_json_optional_k},
    {"Dropout", read_dropout, false, false, uform_json_optional_k},
};

/// The class's own name if the path is one of sentence-transformers' own; else the failure.
static uform_status_t read_type(uform_json_t const *entry, char const *where, char const **name) {
    static char const package[] = "sentence_transformers.";
    char const *type = NULL;
    uform_status_t const status = uform_json_string_(entry, where, "type", uform_json_required_k, &type, NULL);
    if (status != uform_status_ok_k) return status;
    if (strncmp(type, package, sizeof(package) - 1) != 0)
        return uform_fail_(uform_status_unsupported_k,
            "%s: type: expected a module of sentence_transformers, found \"%s\", whose code this library does not run",
            where, type);
    *name = strrchr(type, '.') + 1;
    return uform_status_ok_k;
}

/// The module's folder in memory of the caller's.
static uform_status_t read_folder(
    uform_directory_t const *directory, uform_json_t const *entry, char const *where, char **folder) {
    char const *path = NULL;
    uform_status_t const status = uform_json_string_(entry, where, "path", uform_json_required_k, &path, NULL);
    if (status != uform_status_ok_k) return status;
    if (!uform_path_stays_inside_(path))
        return uform_json_unexpected_(where, "path", "a path inside the directory", uform_json_find_(entry, "path"));
    *folder = uform_path_join_(directory->path, path);
    return *folder ? uform_status_ok_k : uform_status_out_of_memory_k;
}

static uform_status_t read_module(chain_t *chain, uform_json_t const *entry, char const *where) {
    module_t module = {0};
    uform_status_t status = read_type(entry, where, &module.type);
    if (status != uform_status_ok_k) return status;
    size_t row = 0;
    while (row < sizeof(readers) / sizeof(readers[0]) && strcmp(readers[row].name, module.type) != 0) ++row;
    if (row == sizeof(readers) / sizeof(readers[0]))
        return uform_fail_(uform_status_unsupported_k,
            "%s: type: expected Pooling, Dense, Normalize or Dropout, found \"%s\"", where, module.type);
    bool const both = uform_directory_has_both_(chain->directory);
    if (both && readers[row].single_tower)
        return uform_fail_(uform_status_unsupported_k,
            "%s: type: expected Normalize or Dropout behind a model of texts and images, found \"%s\"", where,
            module.type);
    if (!both && readers[row].behind_pooling && !chain->tower->pooling_count)
        return uform_fail_(
            uform_status_unsupported_k, "%s: type: expected a Pooling module before this %s", where, module.type);
    status = read_folder(chain->directory, entry, where, &module.folder);
    if (status == uform_status_ok_k)
        status = uform_config_open_(module.folder, "config.json", readers[row].config, &module.config);
    if (status == uform_status_ok_k) status = readers[row].read(chain, &module);
    uform_config_close_(&module.config);
    uform_free_(module.folder);
    return status;
}

/// modules.json, opened: an array of objects with the transformer in front. An absent file leaves `first` NULL.
static uform_status_t open_modules(
    uform_directory_t const *directory, char **path, uform_json_document_t *document, uform_json_t const **first) {
    *document = (uform_json_document_t){0};
    *first = NULL;
    *path = uform_path_join_(directory->path, "modules.json");
    if (!*path) return uform_status_out_of_memory_k;
    if (!uform_file_exists_(*path)) return uform_status_ok_k;
    uform_status_t const status = uform_json_open_(*path, document);
    if (status != uform_status_ok_k) return status;
    uform_json_t const *root = document->root;
    if (root->kind != uform_json_array_k || !root->length || root->length > module_limit_k)
        return uform_fail_(uform_status_malformed_k, "%s: expected an array of 1 to %d modules", *path, module_limit_k);
    for (uform_json_t const *entry = root->first; entry; entry = entry->next)
        if (entry->kind != uform_json_object_k)
            return uform_fail_(uform_status_malformed_k, "%s: expected every module to be an object", *path);
    *first = root->first;
    return uform_status_ok_k;
}

uform_status_t uform_directory_find_transformer_(
    uform_directory_t const *directory, char **transformer, bool *is_sentence_transformer) {
    *transformer = NULL;
    char *path;
    uform_json_document_t document;
    uform_json_t const *first;
    uform_status_t status = open_modules(directory, &path, &document, &first);
    *is_sentence_transformer = first != NULL;
    if (status == uform_status_ok_k && !first) {
        *transformer = uform_path_join_(directory->path, "");
        if (!*transformer) status = uform_status_out_of_memory_k;
    } else if (status == uform_status_ok_k) {
        char const *name = NULL;
        status = read_type(first, path, &name);
        bool const known = status == uform_status_ok_k && (!strcmp(name, "Transformer") || !strcmp(name, "CLIPModel"));
        if (status == uform_status_ok_k && !known)
            status = uform_fail_(
                uform_status_unsupported_k, "%s: type: expected a Transformer first, found \"%s\"", path, name);
        if (status == uform_status_ok_k) status = read_folder(directory, first, path, transformer);
    }
    uform_json_close_(&document);
    uform_free_(path);
    return status;
}

static uform_status_t read_chain(chain_t *chain, uform_json_t const *first, char const *path) {
    uform_tower_t *tower = chain->tower;
    bool const both = uform_directory_has_both_(chain->directory);
    if (!both) {
        tower->dense = uform_allocate_(module_limit_k, sizeof(*tower->dense));
        if (!tower->dense) return uform_status_out_of_memory_k;
    }
    uform_status_t status = uform_status_ok_k;
    for (uform_json_t const *entry = first->next; entry && status == uform_status_ok_k; entry = entry->next)
        status = read_module(chain, entry, path);
    bool const unpooled = status == uform_status_ok_k && !both && !tower->pooling_count;
    if (unpooled && tower == &chain->directory->text)
        status = uform_fail_(uform_status_unsupported_k, "%s: expected a Pooling module, found none", path);
    if (unpooled && !tower->dense_count) {
        // The tower by itself, with what it has of a pooler.
        uform_free_(tower->dense);
        tower->dense = NULL;
    }
    chain->directory->text.normalize = chain->directory->image.normalize = chain->normalized;
    return status;
}

/// How a family pools where no modules.json says. Rows of attention pooling are one each.
static void pool_by_summary(uform_tower_t *tower) {
    static uform_pooling_t const by_summary[] = {
        [uform_summary_mean_k] = uform_pooling_mean_k,
        [uform_summary_first_k] = uform_pooling_cls_k,
        [uform_summary_padded_last_k] = uform_pooling_lasttoken_k,
        [uform_summary_end_k] = uform_pooling_lasttoken_k,
        [uform_summary_attention_k] = uform_pooling_cls_k,
        [uform_summary_file_k] = uform_pooling_cls_k,
    };
    if (!tower->architecture || tower->pooling_count) return;
    tower->pooling[tower->pooling_count++] = by_summary[tower->architecture->summary];
}

uform_status_t uform_directory_read_modules_(uform_directory_t *directory) {
    directory->include_prompt = true;
    char *path;
    uform_json_document_t document;
    uform_json_t const *first;
    uform_status_t status = open_modules(directory, &path, &document, &first);
    uform_tower_t *const tower = directory->text.architecture ? &directory->text : &directory->image;
    chain_t chain = {.directory = directory, .tower = tower, .width = tower->sizes.width};
    directory->text.normalize = directory->image.normalize = directory->family->normalize;
    if (status == uform_status_ok_k && first) status = read_chain(&chain, first, path);
    pool_by_summary(&directory->text);
    pool_by_summary(&directory->image);
    uform_json_close_(&document);
    uform_free_(path);
    return status;
}
