/**
 *  What the files beside tokenizer.json say of the tokenizer: tokenizer_config.json, the older special_tokens_map.json and
 *  added_tokens.json, and the arguments a Transformer module passes to the tokenizer.
 *
 *  transformers makes its tokenizers from these and tokenizer.json together. Here tokenizer.json is what holds, with what the others
 *  say otherwise: where a switch only repeats the default of its class, or a token is in tokenizer.json already, the latter is the
 *  one that was written on purpose.
 */
#include <stdlib.h>
#include <string.h>

#include "base/detail.h"
#include "base/file.h"
#include "base/memory.h"
#include "models/directory_parts.h"
#include "tokenizers/token_map.h"

enum { argument_sources_k = 2 };

/// Where settings stand. Arguments go before everything else.
typedef struct sources_t {
    uform_config_t config, map, added;                 ///< owned; the latter two only where they count
    uform_json_t const *arguments[argument_sources_k]; ///< objects of the module's options, or NULL
    char const *arguments_path;
} sources_t;

/// A token with the id the file gives it, by which tokens are added in order.
typedef struct numbered_token_t {
    double id;
    uform_named_token_t token;
} numbered_token_t;

/// The value of an argument, NULL when there is none.
static uform_json_t const *find_argument(sources_t const *sources, char const *key) {
    for (size_t i = 0; i < argument_sources_k; ++i) {
        uform_json_t const *found = uform_json_find_(sources->arguments[i], key);
        if (found && found->kind != uform_json_null_k) return found;
    }
    return NULL;
}

/// The first source's value for a key about tokens; `where` gets its file.
static uform_json_t const *find_setting(sources_t const *sources, char const *key, char const **where) {
    uform_json_t const *found = find_argument(sources, key);
    *where = sources->arguments_path;
    uform_config_t const *const files[] = {&sources->map, &sources->config};
    for (size_t i = 0; i < 2 && !found; ++i) {
        found = uform_json_find_(files[i]->root, key);
        *where = files[i]->path;
        if (found && found->kind == uform_json_null_k) found = NULL;
    }
    return found;
}

static uform_status_t read_flag(uform_json_t const *found, char const *where, char const *key, bool *flag) {
    if (found->kind != uform_json_boolean_k) return uform_json_unexpected_(where, key, "true or false", found);
    *flag = found->truth;
    return uform_status_ok_k;
}

/// A switch that is an argument, or that tokenizer_config.json sets otherwise than its class has it by default.
static uform_status_t read_switch(
    sources_t const *sources, char const *key, uform_switch_t by_default, uform_switch_t *setting) {
    uform_json_t const *const argument = find_argument(sources, key);
    uform_json_t const *const found = argument ? argument : uform_json_find_(sources->config.root, key);
    if (!found || found->kind == uform_json_null_k) return uform_status_ok_k;
    bool on = false;
    uform_status_t const status = read_flag(found, argument ? sources->arguments_path : sources->config.path, key, &on);
    if (status != uform_status_ok_k) return status;
    uform_switch_t const value = on ? uform_switch_on_k : uform_switch_off_k;
    if (argument || value != by_default) *setting = value;
    return uform_status_ok_k;
}

bool uform_config_names_class_(uform_json_t const *name, char const *class_name) {
    static char const suffix[] = "Fast";
    size_t const length = strlen(class_name);
    if (!name || name->kind != uform_json_string_k || name->length < length || memcmp(name->text, class_name, length))
        return false;
    char const *const rest = name->text + length;
    size_t const rest_length = name->length - length;
    return !rest_length || (rest_length == sizeof(suffix) - 1 && !memcmp(rest, suffix, rest_length));
}

/// Classes whose normalizer transformers makes from keys of tokenizer_config.json; the first two have BERT's vocabulary, too.
static char const *const bert_classes[] = {"BertTokenizer", "DistilBertTokenizer", "MPNetTokenizer"};

enum { bert_class_count_k = sizeof(bert_classes) / sizeof(*bert_classes), bert_vocabulary_count_k = 2 };

/// Whether the class is one of the first [count], or has no name, which means BertTokenizer where only its normalizer could be meant.
static bool is_bert_tokenizer(sources_t const *sources, size_t count) {
    uform_json_t const *name = uform_json_find_(sources->config.root, "tokenizer_class");
    if (!name) return true;
    for (size_t i = 0; i < count; ++i)
        if (uform_config_names_class_(name, bert_classes[i])) return true;
    return false;
}

/// transformers makes BertTokenizer's normalizer from these keys, whatever tokenizer.json holds.
static uform_status_t read_bert_switches(sources_t const *sources, uform_tokenizer_settings_t *settings) {
    if (!is_bert_tokenizer(sources, bert_class_count_k)) return uform_status_ok_k;
    uform_status_t status = read_switch(sources, "do_lower_case", uform_switch_on_k, &settings->bert_lowercase);
    if (status == uform_status_ok_k)
        status = read_switch(sources, "tokenize_chinese_chars", uform_switch_on_k, &settings->bert_chinese);
    if (status == uform_status_ok_k)
        status = read_switch(sources, "strip_accents", uform_switch_auto_k, &settings->bert_strip_accents);
    return status;
}

/// So it does with the space before a text, of some classes, whose defaults differ.
static uform_status_t read_prefix_space(sources_t const *sources, uform_switch_t *setting) {
    static struct {
        char const *name;
        uform_switch_t by_default;
    } const classes[] = {
        {"RobertaTokenizer", uform_switch_off_k},
        {"XLMRobertaTokenizer", uform_switch_on_k},
        {"CamembertTokenizer", uform_switch_on_k},
        {"Qwen2Tokenizer", uform_switch_off_k},
    };
    uform_json_t const *name = uform_json_find_(sources->config.root, "tokenizer_class");
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); ++i)
        if (uform_config_names_class_(name, classes[i].name))
            return read_switch(sources, "add_prefix_space", classes[i].by_default, setting);
    return uform_status_ok_k;
}

uform_status_t uform_config_read_side_(
    uform_json_t const *side, char const *where, char const *key, uform_switch_t *left) {
    if (uform_json_equals_(side, "left")) *left = uform_switch_on_k;
    if (uform_json_equals_(side, "right")) *left = uform_switch_off_k;
    if (!side || side->kind == uform_json_null_k || *left) return uform_status_ok_k;
    return uform_json_unexpected_(where, key, "\"left\" or \"right\"", side);
}

static uform_status_t read_side(sources_t const *sources, uform_switch_t *left) {
    uform_json_t const *const argument = find_argument(sources, "truncation_side");
    uform_json_t const *side = argument ? argument : uform_json_find_(sources->config.root, "truncation_side");
    return uform_config_read_side_(
        side, argument ? sources->arguments_path : sources->config.path, "truncation_side", left);
}

static uform_status_t copy_text(char const *text, size_t length, char **copy) {
    *copy = uform_allocate_(length + 1, 1);
    if (!*copy) return uform_status_out_of_memory_k;
    memcpy(*copy, text, length);
    return uform_status_ok_k;
}

/// Arguments that would make another tokenizer of the same file.
static uform_status_t refuse_arguments(sources_t const *sources) {
    static char const *const keys[] = {
        "add_bos_token", "add_eos_token", "subfolder", "gguf_file", "tokenizer_type", "add_special_tokens"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        char found[96];
        uform_json_t const *const argument = find_argument(sources, keys[i]);
        if (argument && !uform_json_equals_(argument, ""))
            return uform_fail_(uform_status_unsupported_k,
                "%s: %s: not supported as an argument of the tokenizer, found %s", sources->arguments_path, keys[i],
                uform_json_describe_(argument, found, sizeof(found)));
    }
    return uform_status_ok_k;
}

/// A token's content, or an object with its switches: those that are absent have the library's defaults.
static uform_status_t read_token(
    uform_json_t const *json, char const *where, char const *key, bool special, uform_named_token_t *token) {
    *token = (uform_named_token_t){.special = true};
    char const *content = json->text;
    size_t length = json->length;
    if (json->kind == uform_json_object_k) {
        struct {
            char const *key;
            bool *value;
        } const switches[] = {{"special", &token->special}, {"single_word", &token->single_word},
            {"lstrip", &token->lstrip}, {"rstrip", &token->rstrip}, {"normalized", &token->normalized}};
        uform_status_t status = uform_json_string_(json, where, "content", uform_json_required_k, &content, &length);
        token->special = special;
        for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]) && status == uform_status_ok_k; ++i) {
            // The last one's default depends on the first one.
            if (switches[i].value == &token->normalized) token->normalized = !token->special;
            status = uform_json_boolean_(json, where, switches[i].key, uform_json_optional_k, switches[i].value);
        }
        if (status != uform_status_ok_k) return status;
        token->special |= special;
    } else if (json->kind != uform_json_string_k)
        return uform_json_unexpected_(where, key, "a token or an object that holds one", json);
    token->length = length;
    return copy_text(content, length, &token->content);
}

static int compare_by_id(void const *left, void const *right) {
    numbered_token_t const *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/// The tokens with a role, in transformers' order; the last keys hold lists or objects of more.
static char const *const roles[] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
static char const *const extras[] = {"extra_special_tokens", "additional_special_tokens"};

enum { role_count_k = sizeof(roles) / sizeof(roles[0]), extra_count_k = sizeof(extras) / sizeof(extras[0]) };

/// The list or object of further special tokens: the newer key, unless it is empty.
static uform_json_t const *find_extras(sources_t const *sources, char const **where, char const **key) {
    for (size_t i = 0; i < extra_count_k; ++i) {
        uform_json_t const *found = find_setting(sources, extras[i], where);
        *key = extras[i];
        if (found && (found->kind == uform_json_array_k || found->kind == uform_json_object_k) && found->length)
            return found;
    }
    return NULL;
}

/// The names of the roles that vocab.txt has to know.
static void name_roles(sources_t const *sources, uform_token_name_t names[uform_role_count_k]) {
    static struct {
        char const *key, *fallback;
    } const rows[] = {
        [uform_role_unknown_k] = {"unk_token", "[UNK]"},
        [uform_role_sep_k] = {"sep_token", "[SEP]"},
        [uform_role_pad_k] = {"pad_token", "[PAD]"},
        [uform_role_cls_k] = {"cls_token", "[CLS]"},
        [uform_role_mask_k] = {"mask_token", "[MASK]"},
    };
    for (size_t i = 0; i < uform_role_count_k; ++i) {
        char const *where;
        uform_json_t const *found = find_setting(sources, rows[i].key, &where);
        if (found && found->kind == uform_json_object_k) found = uform_json_find_(found, "content");
        bool const named = found && found->kind == uform_json_string_k;
        names[i] = (uform_token_name_t){
            named ? found->text : rows[i].fallback, named ? found->length : strlen(rows[i].fallback)};
    }
}

/// Where vocab.txt stands without tokenizer.json, a tokenizer is made of it, for the one class whose vocabulary it is.
static uform_status_t read_vocabulary(char const *transformer, sources_t const *sources, uform_directory_t *directory) {
    char *const whole = uform_path_join_(transformer, "tokenizer.json");
    char *const lines = whole ? uform_path_join_(transformer, "vocab.txt") : NULL;
    uform_status_t status = lines ? uform_status_ok_k : uform_status_out_of_memory_k;
    bool const needed = lines && !uform_file_exists_(whole) && uform_file_exists_(lines);
    // Without a name the family decides, of which these two have BertTokenizer.
    char const *const family = directory->family->model_type;
    bool const fits = family && (!strcmp(family, "bert") || !strcmp(family, "distilbert"));
    if (needed && fits && is_bert_tokenizer(sources, bert_vocabulary_count_k)) {
        uform_token_name_t names[uform_role_count_k];
        name_roles(sources, names);
        status = uform_directory_make_tokenizer_(lines, names, &directory->made_tokenizer);
    }
    uform_free_(whole);
    uform_free_(lines);
    return status;
}

/// Reads [count] entries of `added_tokens_decoder`, whose keys are ids.
static uform_status_t read_decoder(uform_json_t const *decoder, char const *where, numbered_token_t *numbered) {
    uform_status_t status = uform_status_ok_k;
    for (uform_json_t const *entry = decoder->first; entry && status == uform_status_ok_k; entry = entry->next) {
        char *end;
        numbered->id = strtod(entry->key, &end);
        if (end == entry->key || *end || entry->kind != uform_json_object_k)
            status = uform_json_unexpected_(where, "added_tokens_decoder", "tokens by their ids", entry);
        else status = read_token(entry, where, entry->key, false, &numbered++->token);
    }
    return status;
}

/// Reads [count] entries of added_tokens.json, whose values are ids. Those among [named_count] named tokens are special.
static uform_status_t read_added(
    uform_config_t const *added, uform_named_token_t const *named, size_t named_count, numbered_token_t *numbered) {
    uform_token_map_t specials = {0};
    uform_bytes_t content = {0};
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < named_count && status == uform_status_ok_k; ++i)
        if (named[i].content && !uform_token_map_set_(&specials, named[i].content, named[i].length, 0))
            status = uform_status_out_of_memory_k;
    for (uform_json_t const *entry = added->root->first; entry && status == uform_status_ok_k; entry = entry->next) {
        if (entry->kind != uform_json_number_k) {
            status = uform_json_unexpected_(added->path, entry->key, "the id of a token", entry);
            break;
        }
        content.length = 0;
        uint32_t unused;
        if (!uform_bytes_append_(&content, entry->key, entry->key_length)) status = uform_status_out_of_memory_k;
        else {
            bool const special = uform_token_map_find_(&specials, content.data, content.length, &unused);
            numbered->id = entry->number;
            numbered->token =
                (uform_named_token_t){.length = entry->key_length, .special = special, .normalized = !special};
            status = copy_text(entry->key, entry->key_length, &numbered++->token.content);
        }
    }
    uform_token_map_free_(&specials);
    uform_bytes_free_(&content);
    return status;
}

/// Roles and further special tokens go to `named`, which has room for them. `padded` says that padding takes part in texts: then its
/// token has to be known already, see directory_padding.c.
static uform_status_t read_named(sources_t const *sources, bool padded, uform_json_t const *more, char const *where,
    char const *key, uform_named_token_t *named) {
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < role_count_k && status == uform_status_ok_k; ++i) {
        char const *file;
        uform_json_t const *found = find_setting(sources, roles[i], &file);
        if (padded && !strcmp(roles[i], "pad_token")) continue;
        if (found) status = read_token(found, file, roles[i], true, named++);
    }
    for (uform_json_t const *item = more ? more->first : NULL; item && status == uform_status_ok_k; item = item->next)
        status = read_token(item, where, key, true, named++);
    return status;
}

/// Every token that is added where tokenizer.json lacks it, in the order in which ids are given: by id, then by name.
static uform_status_t read_tokens(sources_t const *sources, uform_directory_t *directory) {
    char const *where, *key;
    uform_json_t const *decoder = uform_json_find_(sources->config.root, "added_tokens_decoder");
    if (decoder && decoder->kind != uform_json_object_k)
        return uform_json_unexpected_(sources->config.path, "added_tokens_decoder", "an object", decoder);
    uform_json_t const *const all = decoder ? decoder : sources->added.root;
    uform_json_t const *const more = find_extras(sources, &where, &key);
    size_t const by_id = all ? all->length : 0, by_name = role_count_k + (more ? more->length : 0);
    uform_named_token_t *const tokens = uform_allocate_(by_id + by_name, sizeof(*tokens));
    if (!tokens) return uform_status_out_of_memory_k;
    directory->named_tokens = tokens, directory->named_token_count = by_id + by_name;
    bool const padded = directory->text.architecture->summary == uform_summary_padded_last_k;
    uform_status_t status = read_named(sources, padded, more, where, key, tokens + by_id);
    if (status != uform_status_ok_k || !by_id) return status;
    numbered_token_t *numbered = uform_allocate_(by_id, sizeof(*numbered));
    if (!numbered) return uform_status_out_of_memory_k;
    status = decoder ? read_decoder(decoder, sources->config.path, numbered)
                     : read_added(&sources->added, tokens + by_id, by_name, numbered);
    qsort(numbered, by_id, sizeof(*numbered), compare_by_id);
    for (size_t i = 0; i < by_id; ++i) tokens[i] = numbered[i].token;
    uform_free_(numbered);
    return status;
}

static uform_status_t open_sources(char const *transformer, uform_config_t const *module, sources_t *sources) {
    static char const *const keys[argument_sources_k] = {"tokenizer_args", "processor_kwargs"};
    *sources = (sources_t){.arguments_path = module->path};
    for (size_t i = 0; i < argument_sources_k; ++i) sources->arguments[i] = uform_json_find_(module->root, keys[i]);
    uform_status_t status =
        uform_config_open_(transformer, "tokenizer_config.json", uform_json_optional_k, &sources->config);
    // Whoever wrote the newer key wrote the older files for older readers.
    bool const newer = uform_json_find_(sources->config.root, "added_tokens_decoder") != NULL;
    if (status == uform_status_ok_k && !newer)
        status = uform_config_open_(transformer, "special_tokens_map.json", uform_json_optional_k, &sources->map);
    if (status == uform_status_ok_k && !newer)
        status = uform_config_open_(transformer, "added_tokens.json", uform_json_optional_k, &sources->added);
    return status;
}

uform_status_t uform_directory_read_tokenizer_(char const *transformer, uform_config_t const *module, size_t *limit,
    size_t *tokenizer_limit, uform_directory_t *directory) {
    sources_t sources;
    uform_tokenizer_settings_t *const settings = &directory->tokenizer_settings;
    uform_status_t status = open_sources(transformer, module, &sources);
    uform_config_t const *const config = &sources.config;
    if (status == uform_status_ok_k) // the old name
        status = uform_config_read_limit_(config->root, config->path, "max_len", tokenizer_limit);
    if (status == uform_status_ok_k)
        status = uform_config_read_limit_(config->root, config->path, "model_max_length", tokenizer_limit);
    for (size_t i = 0; i < argument_sources_k && status == uform_status_ok_k; ++i)
        status = uform_config_read_limit_(sources.arguments[i], module->path, "model_max_length", limit);
    if (status == uform_status_ok_k) status = refuse_arguments(&sources);
    if (status == uform_status_ok_k) status = read_bert_switches(&sources, settings);
    if (status == uform_status_ok_k) status = read_prefix_space(&sources, &settings->prefix_space);
    if (status == uform_status_ok_k)
        status = read_switch(&sources, "split_special_tokens", uform_switch_off_k, &settings->literal_specials);
    if (status == uform_status_ok_k) status = read_side(&sources, &directory->truncate_left);
    if (status == uform_status_ok_k) status = uform_directory_read_padding_(config, &sources.map, directory);
    if (status == uform_status_ok_k) status = read_tokens(&sources, directory);
    if (status == uform_status_ok_k) status = read_vocabulary(transformer, &sources, directory);
    settings->tokens = directory->named_tokens, settings->token_count = directory->named_token_count;
    uform_config_close_(&sources.config);
    uform_config_close_(&sources.map);
    uform_config_close_(&sources.added);
    return status;
}
