/**
 *  Post-processors read from tokenizer.json.
 */
#include "tokenizers/post_processor.h"

#include "base/detail.h"
#include "base/memory.h"
#include "tokenizers/identifier.h"
#include "tokenizers/where.h"

// No real template comes near these, and nested ones would multiply.
enum { items_limit_k = 256, pieces_limit_k = 64, parts_limit_k = 64 };

static bool append_item(uform_post_processor_t *processor, uform_template_item_t item) {
    uform_template_item_t *items = uform_reallocate_(processor->items, processor->count + 1, sizeof(*items));
    if (!items) return false;
    processor->items = items;
    items[processor->count++] = item;
    return true;
}

static bool append_template(uform_post_processor_t *processor, uform_post_processor_t const *before) {
    for (size_t i = 0; i < before->count; ++i)
        if (!append_item(processor, before->items[i])) return false;
    return true;
}

static bool append_special_token(uform_post_processor_t *processor, uint32_t id, uint8_t type_id) {
    ++processor->added_count;
    return append_item(processor, (uform_template_item_t){.id = id, .type_id = type_id});
}

/// `{"id": name or letter, "type_id": n}` under the only key of a template's piece.
static uform_status_t read_piece(
    uform_json_t const *piece, uform_where_t const *where, char const *key, char const **name, uint8_t *type_id) {
    enum { type_limit_k = 255 };
    uform_json_t const *body = NULL;
    size_t type = 0;
    uform_status_t status =
        uform_json_member_(piece, where->text, key, uform_json_object_k, uform_json_required_k, &body);
    if (status != uform_status_ok_k) return status;
    status = uform_json_string_(body, where->text, "id", uform_json_required_k, name, NULL);
    if (status != uform_status_ok_k) return status;
    status = uform_json_size_(body, where->text, "type_id", 0, type_limit_k, uform_json_required_k, &type);
    *type_id = (uint8_t)type;
    return status;
}

static uform_status_t append_special(uform_json_t const *specials, uform_where_t const *where, char const *name,
    uint8_t type_id, uform_post_processor_t *processor) {
    uform_json_t const *special = NULL, *ids = NULL;
    uform_status_t status =
        uform_json_member_(specials, where->text, name, uform_json_object_k, uform_json_required_k, &special);
    if (status != uform_status_ok_k) return status;
    status = uform_json_member_(special, where->text, "ids", uform_json_array_k, uform_json_required_k, &ids);
    if (status != uform_status_ok_k) return status;
    for (uform_json_t const *item = ids->first; item; item = item->next) {
        uint32_t id;
        if (!uform_identifier_read_(item, &id))
            return uform_json_unexpected_(where->text, "ids", UFORM_IDENTIFIER_EXPECTED_, item);
        if (!append_special_token(processor, id, type_id)) return uform_status_out_of_memory_k;
    }
    return uform_status_ok_k;
}

static uform_status_t read_template(uform_json_t const *json, uform_where_t const *where,
    uform_post_processor_t const *before, uform_post_processor_t *processor) {
    uform_json_t const *single = NULL, *specials = NULL;
    uform_status_t status =
        uform_json_member_(json, where->text, "single", uform_json_array_k, uform_json_required_k, &single);
    if (status != uform_status_ok_k) return status;
    status =
        uform_json_member_(json, where->text, "special_tokens", uform_json_object_k, uform_json_required_k, &specials);
    if (status != uform_status_ok_k) return status;
    if (single->length > pieces_limit_k)
        return uform_fail_(
            uform_status_unsupported_k, "%s: single: expected at most %d pieces", where->text, (int)pieces_limit_k);
    uform_where_t special_where;
    uform_where_key_(where, &special_where, "special_tokens");
    size_t index = 0;
    for (uform_json_t const *piece = single->first; piece; piece = piece->next, ++index) {
        uform_where_t inner;
        char const *name = NULL;
        uint8_t type_id = 0;
        if (!uform_where_enter_(where, &inner, "single", index)) return uform_status_unsupported_k;
        bool const is_text = uform_json_find_(piece, "Sequence") != NULL;
        status = read_piece(piece, &inner, is_text ? "Sequence" : "SpecialToken", &name, &type_id);
        if (status != uform_status_ok_k) return status;
        if (is_text && strcmp(name, "A")) {
            uform_json_t const *const body = uform_json_find_(piece, "Sequence");
            return uform_json_unexpected_(inner.text, "id", "\"A\"", uform_json_find_(body, "id"));
        }
        size_t const first = processor->count;
        if (is_text && !append_template(processor, before)) return uform_status_out_of_memory_k;
        for (size_t i = first; i < processor->count; ++i) processor->items[i].type_id = type_id;
        if (!is_text) status = append_special(specials, &special_where, name, type_id, processor);
        if (status != uform_status_ok_k) return status;
    }
    return uform_status_ok_k;
}

/// `["[SEP]", 102]`
static uform_status_t read_pair(uform_json_t const *json, uform_where_t const *where, char const *key, uint32_t *id) {
    uform_json_t const *const pair = uform_json_find_(json, key);
    bool const two = pair && pair->kind == uform_json_array_k && pair->length == 2;
    if (!two || pair->first->kind != uform_json_string_k || !uform_identifier_read_(pair->first->next, id))
        return uform_json_unexpected_(where->text, key, "a list of a token and its id", pair);
    return uform_status_ok_k;
}

static uform_status_t read_bert(uform_json_t const *json, uform_where_t const *where,
    uform_post_processor_t const *before, uform_post_processor_t *processor) {
    uint32_t opening = 0, closing = 0;
    uform_status_t status = read_pair(json, where, "cls", &opening);
    if (status == uform_status_ok_k) status = read_pair(json, where, "sep", &closing);
    if (status != uform_status_ok_k) return status;
    if (!append_special_token(processor, opening, 0) || !append_template(processor, before) ||
        !append_special_token(processor, closing, 0))
        return uform_status_out_of_memory_k;
    return uform_status_ok_k;
}

/// Like BertProcessing, but every type is zero.
static uform_status_t read_roberta(uform_json_t const *json, uform_where_t const *where,
    uform_post_processor_t const *before, uform_post_processor_t *processor) {
    uform_status_t const status = read_bert(json, where, before, processor);
    for (size_t i = 0; i < processor->count; ++i) processor->items[i].type_id = 0;
    return status;
}

static uform_status_t read_sequence(uform_json_t const *json, uform_where_t const *where,
    uform_post_processor_t const *before, uform_post_processor_t *processor);

/// It only moves offsets, which nobody sees.
static uform_status_t read_byte_level(uform_json_t const *json, uform_where_t const *where,
    uform_post_processor_t const *before, uform_post_processor_t *processor) {
    (void)json, (void)where;
    return append_template(processor, before) ? uform_status_ok_k : uform_status_out_of_memory_k;
}

/// The kinds of post-processors: each builds a template from its keys and the template `before` it.
static struct {
    char const *type;
    uform_status_t (*read)(uform_json_t const *json, uform_where_t const *where, uform_post_processor_t const *before,
        uform_post_processor_t *processor);
} const kinds[] = {
    {"TemplateProcessing", read_template},
    {"BertProcessing", read_bert},
    {"RobertaProcessing", read_roberta},
    {"ByteLevel", read_byte_level},
    {"Sequence", read_sequence},
};

enum { kinds_count_k = sizeof(kinds) / sizeof(*kinds) };

static uform_status_t read_processor(uform_json_t const *json, uform_where_t const *where,
    uform_post_processor_t const *before, uform_post_processor_t *processor) {
    processor->parts = before->parts + 1;
    if (processor->parts > parts_limit_k)
        return uform_fail_(
            uform_status_unsupported_k, "%s: expected at most %d post-processors", where->text, (int)parts_limit_k);
    uform_json_t const *const type = uform_json_find_(json, "type");
    for (size_t i = 0; i < kinds_count_k; ++i) {
        if (!uform_json_equals_(type, kinds[i].type)) continue;
        uform_status_t const status = kinds[i].read(json, where, before, processor);
        if (status != uform_status_ok_k || processor->count <= items_limit_k) return status;
        return uform_fail_(
            uform_status_unsupported_k, "%s: expected at most %d tokens", where->text, (int)items_limit_k);
    }
    return uform_where_unknown_type_(where, json, "a post-processor", kinds, kinds_count_k, sizeof(*kinds));
}

static uform_status_t read_sequence(uform_json_t const *json, uform_where_t const *where,
    uform_post_processor_t const *before, uform_post_processor_t *processor) {
    uform_json_t const *list = NULL;
    uform_status_t status =
        uform_json_member_(json, where->text, "processors", uform_json_array_k, uform_json_required_k, &list);
    if (status != uform_status_ok_k) return status;
    if (!append_template(processor, before)) return uform_status_out_of_memory_k;
    size_t index = 0;
    for (uform_json_t const *item = list->first; item; item = item->next, ++index) {
        uform_where_t inner;
        if (!uform_where_enter_(where, &inner, "processors", index)) return uform_status_unsupported_k;
        uform_post_processor_t next = {0};
        status = read_processor(item, &inner, processor, &next);
        next.added_count += processor->added_count;
        uform_post_processor_free_(status == uform_status_ok_k ? processor : &next);
        if (status != uform_status_ok_k) return status;
        *processor = next;
    }
    return uform_status_ok_k;
}

uform_status_t uform_post_processor_load_(
    uform_json_t const *json, char const *path, uform_post_processor_t *post_processor) {
    uform_template_item_t text = {.is_text = true};
    uform_post_processor_t const nothing = {.items = &text, .count = 1};
    *post_processor = (uform_post_processor_t){0};
    if (!json || json->kind == uform_json_null_k)
        return append_item(post_processor, text) ? uform_status_ok_k : uform_status_out_of_memory_k;
    uform_where_t where;
    uform_where_start_(&where, path, "post_processor");
    uform_status_t const status = read_processor(json, &where, &nothing, post_processor);
    if (status != uform_status_ok_k) uform_post_processor_free_(post_processor);
    for (size_t i = 0; i < post_processor->count; ++i) {
        uform_template_item_t const item = post_processor->items[i];
        if (!item.is_text && item.id > post_processor->largest_id) post_processor->largest_id = item.id;
    }
    return status;
}

void uform_post_processor_free_(uform_post_processor_t *post_processor) {
    uform_free_(post_processor->items);
    *post_processor = (uform_post_processor_t){0};
}
