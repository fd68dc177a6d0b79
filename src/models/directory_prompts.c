/**
 *  config_sentence_transformers.json: prompts by name, the default one, and the Matryoshka cut.
 */
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "models/directory_parts.h"

enum { prompt_limit_k = 4096 }; // a bound on what a hostile file can make us compare

static char *copy_text(char const *text, size_t length) {
    char *copy = uform_allocate_(length + 1, 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

static uform_status_t add_prompt(char const *path, uform_json_t const *entry, uform_directory_t *directory) {
    bool const null = entry->kind == uform_json_null_k;
    if (entry->kind != uform_json_string_k && !null)
        return uform_fail_(uform_status_malformed_k, "%s: prompts: expected a string for \"%s\"", path, entry->key);
    if (strlen(entry->key) != entry->key_length)
        return uform_fail_(uform_status_malformed_k, "%s: prompts: expected a name without U+0000", path);
    uform_prompt_t *prompt = &directory->prompts[directory->prompt_count++];
    prompt->name = copy_text(entry->key, entry->key_length);
    prompt->text = null ? copy_text("", 0) : copy_text(entry->text, entry->length);
    prompt->text_length = null ? 0 : entry->length;
    return prompt->name && prompt->text ? uform_status_ok_k : uform_status_out_of_memory_k;
}

static uform_status_t read_prompts(uform_config_t const *config, uform_directory_t *directory) {
    uform_json_t const *prompts = NULL;
    uform_status_t status =
        uform_json_member_(config->root, config->path, "prompts", uform_json_object_k, uform_json_optional_k, &prompts);
    if (status != uform_status_ok_k || !prompts) return status;
    if (prompts->length > prompt_limit_k)
        return uform_fail_(uform_status_malformed_k, "%s: prompts: expected at most %d, found %zu", config->path,
            prompt_limit_k, prompts->length);
    directory->prompts = uform_allocate_(prompts->length, sizeof(*directory->prompts));
    if (!directory->prompts) return uform_status_out_of_memory_k;
    for (uform_json_t const *entry = prompts->first; entry && status == uform_status_ok_k; entry = entry->next) {
        bool const overridden = uform_json_find_(prompts, entry->key) != entry;
        if (!overridden || strlen(entry->key) != entry->key_length) status = add_prompt(config->path, entry, directory);
    }
    return status;
}

/// sentence-transformers itself knows an empty "query" and "document", so they need not be in the file.
static uform_status_t find_default(uform_config_t const *config, uform_directory_t *directory) {
    directory->default_prompt = directory->prompt_count;
    char const *name = NULL;
    uform_status_t const status =
        uform_json_string_(config->root, config->path, "default_prompt_name", uform_json_optional_k, &name, NULL);
    if (status != uform_status_ok_k || !name) return status;
    for (size_t i = 0; i < directory->prompt_count; ++i)
        if (!strcmp(directory->prompts[i].name, name)) directory->default_prompt = i;
    bool const built_in = !strcmp(name, "query") || !strcmp(name, "document");
    if (directory->default_prompt < directory->prompt_count || built_in) return uform_status_ok_k;
    return uform_fail_(uform_status_malformed_k, "%s: default_prompt_name: expected the name of a prompt, found \"%s\"",
        config->path, name);
}

static uform_status_t read_options(uform_config_t const *config, uform_directory_t *directory) {
    uform_json_t const *model_type = uform_json_find_(config->root, "model_type");
    if (model_type && !uform_json_equals_(model_type, "SentenceTransformer")) {
        char found[96];
        return uform_fail_(uform_status_unsupported_k, "%s: model_type: expected \"SentenceTransformer\", found %s",
            config->path, uform_json_describe_(model_type, found, sizeof(found)));
    }
    uform_status_t status = read_prompts(config, directory);
    if (status == uform_status_ok_k) status = find_default(config, directory);
    if (status == uform_status_ok_k)
        status = uform_json_size_(config->root, config->path, "truncate_dim", 1, (size_t)1 << 30, uform_json_optional_k,
            &directory->truncate_dimensions);
    return status;
}

uform_status_t uform_directory_read_prompts_(uform_directory_t *directory) {
    uform_config_t config;
    uform_status_t status =
        uform_config_open_(directory->path, "config_sentence_transformers.json", uform_json_optional_k, &config);
    if (status == uform_status_ok_k && config.root) status = read_options(&config, directory);
    uform_config_close_(&config);
    return status;
}
