/**
 *  Added tokens: reading them, and finding them in a text in linear time.
 */
#include "tokenizers/added_tokens.h"

#include <stdio.h>

#include "base/detail.h"
#include "base/memory.h"
#include "tokenizers/identifier.h"
#include "tokenizers/unicode.h"
#include "tokenizers/where.h"

/// What is needed while the tokens are read.
typedef struct loading_t {
    uform_token_model_t const *model;
    uform_normalizer_t const *normalizer;
    uform_normalizer_work_t work;
    uform_token_map_t places; ///< where in the tokens an id, its four bytes, stands
    uform_bytes_t patterns;   ///< what tokens are found by
    size_t *offsets;          ///< [count], owned, of the patterns
    uint32_t next_id;
} loading_t;

static uform_status_t read_token(uform_json_t const *json, uform_where_t const *where, uform_added_token_t *token,
    char const **content, size_t *length) {
    uform_status_t status = uform_json_string_(json, where->text, "content", uform_json_required_k, content, length);
    if (status != uform_status_ok_k) return status;
    uform_json_t const *const id = uform_json_find_(json, "id");
    if (!uform_identifier_read_(id, &token->id))
        return uform_json_unexpected_(where->text, "id", UFORM_IDENTIFIER_EXPECTED_, id);
    struct {
        char const *key;
        bool *value;
    } const switches[] = {{"special", &token->special}, {"single_word", &token->single_word},
        {"lstrip", &token->lstrip}, {"rstrip", &token->rstrip}, {"normalized", &token->normalized}};
    for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); ++i) {
        status = uform_json_boolean_(json, where->text, switches[i].key, uform_json_required_k, switches[i].value);
        if (status != uform_status_ok_k) return status;
    }
    return status;
}

/// Gives the token its id, and the place another one with that
/// id had or a new one. False without memory, with a detail.
static bool place_token(uform_added_tokens_t *added, loading_t *loading, uform_added_token_t *token,
    char const *content, size_t length, uint32_t *place) {
    // The lookups read eight bytes beyond the end, which the text of the file may not have.
    uform_bytes_t *const copy = &loading->work.bytes[1];
    copy->length = 0;
    if (!uform_bytes_append_(copy, content, length)) return false;
    uform_token_model_t const *const model = loading->model;
    bool const again = uform_token_map_find_(&added->ids, copy->data, length, &token->id);
    if (!again && !model->kind->find(model->state, copy->data, length, &token->id)) token->id = loading->next_id++;
    if (!uform_token_map_set_(&added->ids, content, length, token->id)) return false;
    uform_bytes_t *const key = &loading->work.bytes[0];
    key->length = 0;
    if (!uform_bytes_append_(key, (char const *)&token->id, sizeof(token->id))) return false;
    if (!uform_token_map_find_(&loading->places, key->data, sizeof(token->id), place)) {
        *place = (uint32_t)added->count++;
        return uform_token_map_set_(&loading->places, key->data, sizeof(token->id), *place);
    }
    token->special |= again && added->tokens[*place].special;
    return true;
}

static bool add_token(
    uform_added_tokens_t *added, loading_t *loading, uform_added_token_t token, char const *content, size_t length) {
    uint32_t place;
    if (!place_token(added, loading, &token, content, length, &place)) return false;
    uform_bytes_t const *normal = NULL;
    if (token.normalized) {
        if (!uform_normalizer_run_(loading->normalizer, content, length, &loading->work, &normal)) return false;
        content = normal->data, length = normal->length;
    }
    loading->offsets[place] = loading->patterns.length;
    token.length = (uint32_t)length;
    added->tokens[place] = token;
    if (token.id > added->largest_id) added->largest_id = token.id;
    return uform_bytes_append_(&loading->patterns, content, length);
}

static uform_status_t build_sets(uform_added_tokens_t *added, loading_t const *loading) {
    added->raw.automaton.backward = added->normalized.automaton.backward = true;
    for (size_t i = 0; i < added->count; ++i) {
        uform_added_token_t const *const token = &added->tokens[i];
        // What the normalizer leaves nothing of is never found. (The library would find it between any two characters.)
        if (!token->length) continue;
        char const *const pattern = loading->patterns.data + loading->offsets[i];
        uform_token_set_t *const set = token->normalized ? &added->normalized : &added->raw;
        uform_status_t const status = uform_automaton_add_(&set->automaton, pattern, token->length, (uint32_t)i);
        if (status != uform_status_ok_k) return status;
        set->begins[(unsigned char)pattern[0]] = true;
    }
    uform_status_t const status = uform_automaton_finish_(&added->raw.automaton);
    return status != uform_status_ok_k ? status : uform_automaton_finish_(&added->normalized.automaton);
}

/// Adds tokens that tokenizer.json doesn't, where it has none of that content.
static uform_status_t load_named(
    uform_named_token_t const *named, size_t count, uform_added_tokens_t *added, loading_t *loading) {
    for (size_t i = 0; i < count; ++i) {
        uform_bytes_t *const key = &loading->work.bytes[0];
        uint32_t id;
        key->length = 0;
        if (!named[i].length) continue;
        if (!uform_bytes_append_(key, named[i].content, named[i].length)) return uform_status_out_of_memory_k;
        if (uform_token_map_find_(&added->ids, key->data, key->length, &id)) continue;
        uform_added_token_t const token = {.special = named[i].special,
            .single_word = named[i].single_word,
            .lstrip = named[i].lstrip,
            .rstrip = named[i].rstrip,
            .normalized = named[i].normalized};
        if (!add_token(added, loading, token, named[i].content, named[i].length)) return uform_status_out_of_memory_k;
    }
    return uform_status_ok_k;
}

static uform_status_t load_tokens(uform_json_t const *json, char const *path, uform_named_token_t const *more,
    size_t more_count, uform_added_tokens_t *added, loading_t *loading) {
    size_t const count = (json ? json->length : 0) + more_count;
    added->tokens = uform_allocate_(count, sizeof(*added->tokens));
    if (!added->tokens) return uform_status_out_of_memory_k;
    loading->offsets = uform_allocate_(count, sizeof(*loading->offsets));
    if (!loading->offsets) return uform_status_out_of_memory_k;
    size_t index = 0;
    for (uform_json_t const *item = json ? json->first : NULL; item; item = item->next, ++index) {
        uform_where_t outer, where;
        uform_added_token_t token = {0};
        char const *content = NULL;
        size_t length = 0;
        uform_where_start_(&outer, path, "added_tokens");
        uform_where_item_(&outer, &where, index);
        uform_status_t const status = read_token(item, &where, &token, &content, &length);
        if (status != uform_status_ok_k) return status;
        if (length && !add_token(added, loading, token, content, length)) return uform_status_out_of_memory_k;
    }
    uform_status_t status = load_named(more, more_count, added, loading);
    if (status == uform_status_ok_k) status = build_sets(added, loading);
    return status == uform_status_unsupported_k ? uform_fail_prefixed_(status, "%s: added_tokens: ", path) : status;
}

uform_status_t uform_added_tokens_load_(uform_json_t const *json, char const *path, uform_token_model_t const *model,
    uform_normalizer_t const *normalizer, uform_named_token_t const *more, size_t more_count,
    uform_added_tokens_t *added) {
    *added = (uform_added_tokens_t){0};
    if (json && json->kind == uform_json_null_k) json = NULL;
    if (!json && !more_count) return uform_status_ok_k;
    if (json && json->kind != uform_json_array_k) return uform_json_unexpected_(path, "added_tokens", "an array", json);
    loading_t loading = {.model = model, .normalizer = normalizer};
    size_t count;
    uint32_t largest;
    model->kind->measure(model->state, &count, &largest);
    loading.next_id = (uint32_t)count;
    uform_status_t const status = load_tokens(json, path, more, more_count, added, &loading);
    uform_normalizer_work_free_(&loading.work);
    uform_token_map_free_(&loading.places);
    uform_bytes_free_(&loading.patterns);
    uform_free_(loading.offsets);
    if (status != uform_status_ok_k) uform_added_tokens_free_(added);
    return status;
}

void uform_added_tokens_free_(uform_added_tokens_t *added) {
    uform_free_(added->tokens);
    uform_token_map_free_(&added->ids);
    uform_automaton_free_(&added->raw.automaton);
    uform_automaton_free_(&added->normalized.automaton);
    *added = (uform_added_tokens_t){0};
}

static bool add_match(uform_token_search_t *search, size_t position, uint32_t token) {
    if (search->count == search->capacity) {
        size_t const capacity = search->capacity ? 2 * search->capacity : 64;
        uform_token_match_t *matches = uform_reallocate_(search->matches, capacity, sizeof(*matches));
        if (!matches) return false;
        search->matches = matches, search->capacity = capacity;
    }
    search->matches[search->count++] = (uform_token_match_t){position, token};
    return true;
}

bool uform_token_search_begin_(
    uform_token_set_t const *set, char const *text, size_t length, uform_token_search_t *search) {
    search->count = search->found_end = search->done = 0;
    search->white = (uform_span_t){0}, search->has_token = false;
    if (!set->automaton.node_count) return true;
    size_t first = 0;
    while (first < length && !set->begins[(unsigned char)text[first]]) ++first;
    uint32_t node = 0;
    for (size_t at = length; at-- > first;) {
        node = uform_automaton_step_(&set->automaton, node, (unsigned char)text[at]);
        uint32_t const value = set->automaton.values[node];
        if (value && !add_match(search, at, value - 1)) return false;
    }
    return true;
}

static bool is_word_at(char const *text, size_t at) {
    size_t bytes;
    return (uform_unicode_flags_(text + at, &bytes) & uform_unicode_word_k) != 0;
}

/// Start of the white space that ends at `end`, but not before `least`.
static size_t white_before(char const *text, size_t least, size_t end) {
    while (end > least) {
        size_t bytes;
        size_t const before = uform_unicode_before_(text, end);
        if (!(uform_unicode_flags_(text + before, &bytes) & uform_unicode_white_k)) break;
        end = before;
    }
    return end;
}

/// End of the white space at `start`. It is remembered: tokens inside it would make many read the same.
static size_t white_after(uform_token_search_t *search, char const *text, size_t start, size_t length) {
    if (start >= search->white.start && start < search->white.end) return search->white.end;
    size_t end = start;
    for (size_t bytes; end < length; end += bytes)
        if (!(uform_unicode_flags_(text + end, &bytes) & uform_unicode_white_k)) break;
    search->white = (uform_span_t){start, end};
    return end;
}

bool uform_token_search_next_(uform_added_tokens_t const *added, char const *text, size_t length, bool literal_specials,
    uform_token_search_t *search, uform_span_t *part, bool *is_token, uint32_t *id) {
    while (!search->has_token && search->count) {
        uform_token_match_t const match = search->matches[--search->count];
        if (match.position < search->found_end) continue;
        uform_added_token_t const *const token = &added->tokens[match.token];
        size_t start = match.position, end = start + token->length;
        search->found_end = end;
        if (literal_specials && token->special) continue;
        if (token->single_word && start && is_word_at(text, uform_unicode_before_(text, start))) continue;
        if (token->single_word && end < length && is_word_at(text, end)) continue;
        if (token->lstrip) {
            size_t const white = white_before(text, search->done, start);
            start = white > search->done ? white : search->done;
        }
        if (token->rstrip) end = white_after(search, text, end, length);
        *part = (uform_span_t){search->done, start};
        *is_token = false;
        // A token that takes white space may take tokens made of it, too; those still count.
        search->done = end, search->has_token = start < end;
        search->token_span = (uform_span_t){start, end}, search->token_id = token->id;
        if (part->start < part->end) return true;
    }
    if (search->has_token) {
        search->has_token = false;
        *part = search->token_span, *is_token = true, *id = search->token_id;
        return true;
    }
    *part = (uform_span_t){search->done, length}, *is_token = false;
    search->done = length;
    return part->start < part->end;
}

void uform_token_search_free_(uform_token_search_t *search) {
    uform_free_(search->matches);
    *search = (uform_token_search_t){0};
}
