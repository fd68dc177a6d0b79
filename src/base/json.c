/**
 *  The JSON parser: one pass over a copy of the text, one open container a level, nodes in blocks that double.
 *
 *  A node costs 64 bytes and there are at most 2^24, so a hostile text can't take more than a gigabyte. Strings are
 *  unescaped in place: no escape is shorter than what it stands for, and the closing quote leaves room for the NUL.
 */
#include "base/json.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/detail.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"

enum {
    depth_limit_k = 512,
    first_block_nodes_k = 32,
    last_block_nodes_k = 1 << 14,
};

static size_t const file_limit_bytes = (size_t)256 << 20, node_limit = (size_t)1 << 24;

typedef struct uform_json_block_t {
    struct uform_json_block_t *next;
    size_t used, capacity;
    uform_json_t nodes[];
} uform_json_block_t;

typedef struct parser_t {
    char const *name;           ///< of the file
    char *begin, *cursor, *end; ///< *end is a NUL
    uform_json_document_t *document;
    uform_json_t *open[depth_limit_k]; ///< containers that are not closed yet, outermost first
    uform_json_t *last[depth_limit_k]; ///< the last child of each, NULL without any
    size_t depth;
    size_t node_count;
} parser_t;

/// Fails at the cursor, naming the line as an editor counts it.
static uform_status_t fail_here(parser_t const *parser, char const *expected) {
    size_t line = 1;
    char const *line_begin = parser->begin;
    for (char const *byte = parser->begin; byte < parser->cursor; ++byte)
        if (*byte == '\n') ++line, line_begin = byte + 1;
    return uform_fail_(uform_status_malformed_k, "%s: line %zu, byte %zu: expected %s", parser->name, line,
        (size_t)(parser->cursor - line_begin) + 1, expected);
}

static uform_json_t *new_node(parser_t *parser) {
    uform_json_block_t *block = parser->document->blocks;
    if (!block || block->used == block->capacity) {
        size_t capacity = block ? block->capacity * 2 : first_block_nodes_k;
        if (capacity > last_block_nodes_k) capacity = last_block_nodes_k;
        uform_json_block_t *fresh = uform_allocate_(1, sizeof(*fresh) + capacity * sizeof(uform_json_t));
        if (!fresh) return NULL;
        fresh->next = block, fresh->capacity = capacity;
        parser->document->blocks = block = fresh;
    }
    return &block->nodes[block->used++];
}

static void skip_space(parser_t *parser) {
    while (*parser->cursor == ' ' || *parser->cursor == '\n' || *parser->cursor == '\t' || *parser->cursor == '\r')
        ++parser->cursor;
}

static int hex_digit(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

/// Reads four digits; the NUL behind the text stops it.
static bool read_unit(char **cursor, uint32_t *unit) {
    *unit = 0;
    for (int i = 0; i < 4; ++i, ++*cursor) {
        int const digit = hex_digit(**cursor);
        if (digit < 0) return false;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return true;
}

/// Reads what follows `\u`: one unit, or two that make a pair.
static bool read_code_point(char **cursor, uint32_t *code_point) {
    if (!read_unit(cursor, code_point)) return false;
    if (*code_point < 0xD800 || *code_point > 0xDFFF) return true;
    uint32_t low;
    if (*code_point > 0xDBFF || (*cursor)[0] != '\\' || (*cursor)[1] != 'u') return false;
    *cursor += 2;
    if (!read_unit(cursor, &low) || low < 0xDC00 || low > 0xDFFF) return false;
    *code_point = 0x10000 + ((*code_point - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static uform_status_t parse_escape(parser_t *parser, char **output) {
    static char const escapes[][2] = {
        {'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}};
    char const kind = parser->cursor[1];
    for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); ++i) {
        if (escapes[i][0] != kind) continue;
        *(*output)++ = escapes[i][1];
        parser->cursor += 2;
        return uform_status_ok_k;
    }
    char *cursor = parser->cursor + 2;
    uint32_t code_point;
    if (kind != 'u' || !read_code_point(&cursor, &code_point))
        return fail_here(parser, "an escape of JSON that stands for a Unicode character");
    *output += uform_utf8_encode_(code_point, *output);
    parser->cursor = cursor;
    return uform_status_ok_k;
}

/// Parses a string whose opening quote is at the cursor.
static uform_status_t parse_string(parser_t *parser, char const **text, size_t *length) {
    char *output = ++parser->cursor;
    *text = output;
    while (*parser->cursor != '"') {
        unsigned char const byte = (unsigned char)*parser->cursor;
        if (byte == '\\') {
            uform_status_t const status = parse_escape(parser, &output);
            if (status != uform_status_ok_k) return status;
        } else if (byte < 0x20) {
            return fail_here(
                parser, parser->cursor == parser->end ? "the end of a string" : "no bare control character");
        } else {
            size_t const bytes =
                byte < 0x80 ? 1 : uform_utf8_valid_length_(parser->cursor, (size_t)(parser->end - parser->cursor));
            if (!bytes) return fail_here(parser, "valid UTF-8");
            memmove(output, parser->cursor, bytes);
            output += bytes, parser->cursor += bytes;
        }
    }
    ++parser->cursor;
    *length = (size_t)(output - *text);
    *output = '\0';
    return uform_status_ok_k;
}

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static uform_status_t parse_number(parser_t *parser, uform_json_t *node) {
    char *const begin = parser->cursor;
    char *cursor = begin + (*begin == '-');
    if (!is_digit(*cursor)) return fail_here(parser, "a value");
    char *const digits = cursor;
    double value = 0;
    for (; is_digit(*cursor); ++cursor) value = value * 10 + (*cursor - '0');
    if (*digits == '0' && cursor - digits > 1) return fail_here(parser, "a number without leading zeros");
    bool const exact = cursor - digits <= 15;
    node->integer = true;
    if (*cursor == '.') {
        node->integer = false;
        for (++cursor; is_digit(*cursor); ++cursor) continue;
        if (cursor[-1] == '.') return fail_here(parser, "digits behind the decimal point");
    }
    if (*cursor == 'e' || *cursor == 'E') {
        node->integer = false;
        cursor += cursor[1] == '+' || cursor[1] == '-' ? 2 : 1;
        if (!is_digit(*cursor)) return fail_here(parser, "digits in the exponent");
        for (; is_digit(*cursor); ++cursor) continue;
    }
    node->kind = uform_json_number_k;
    node->number = node->integer && exact ? (*begin == '-' ? -value : value) : strtod(begin, NULL);
    node->text = begin, node->length = (size_t)(cursor - begin);
    parser->cursor = cursor;
    return uform_status_ok_k;
}

static uform_status_t parse_literal(parser_t *parser, uform_json_t *node) {
    static struct {
        char const *text;
        uform_json_kind_t kind;
        bool truth;
    } const literals[] = {{"null", uform_json_null_k, false}, {"true", uform_json_boolean_k, true},
        {"false", uform_json_boolean_k, false}};
    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); ++i) {
        size_t const length = strlen(literals[i].text);
        if (strncmp(parser->cursor, literals[i].text, length) != 0) continue;
        node->kind = literals[i].kind, node->truth = literals[i].truth;
        parser->cursor += length;
        return uform_status_ok_k;
    }
    return fail_here(parser, "a value");
}

static uform_status_t parse_open(parser_t *parser, uform_json_t *node) {
    if (parser->depth == depth_limit_k) return fail_here(parser, "at most 512 levels of nesting");
    node->kind = *parser->cursor++ == '{' ? uform_json_object_k : uform_json_array_k;
    parser->open[parser->depth] = node;
    parser->last[parser->depth++] = NULL;
    return uform_status_ok_k;
}

/// Parses a scalar whole, and of a container just the opening bracket.
static uform_status_t parse_value(parser_t *parser, uform_json_t *node) {
    switch (*parser->cursor) {
        case '{':
        case '[':
            return parse_open(parser, node);
        case '"':
            node->kind = uform_json_string_k;
            return parse_string(parser, &node->text, &node->length);
        case 'n':
        case 't':
        case 'f':
            return parse_literal(parser, node);
        default:
            return parse_number(parser, node);
    }
}

/// Parses the next item or member of the innermost container: comma, key and value.
static uform_status_t parse_child(parser_t *parser) {
    size_t const level = parser->depth - 1;
    uform_json_t *container = parser->open[level], *last = parser->last[level];
    if (last) {
        if (*parser->cursor != ',') return fail_here(parser, "a comma or the closing bracket");
        ++parser->cursor;
        skip_space(parser);
    }
    if (++parser->node_count >= node_limit) return fail_here(parser, "fewer than 16777216 values");
    uform_json_t *node = new_node(parser);
    if (!node) return uform_status_out_of_memory_k;
    if (container->kind == uform_json_object_k) {
        if (*parser->cursor != '"') return fail_here(parser, "a key in quotes");
        uform_status_t const status = parse_string(parser, &node->key, &node->key_length);
        if (status != uform_status_ok_k) return status;
        skip_space(parser);
        if (*parser->cursor != ':') return fail_here(parser, "a colon");
        ++parser->cursor;
        skip_space(parser);
    }
    if (last) last->next = node;
    else container->first = node;
    parser->last[level] = node;
    ++container->length;
    return parse_value(parser, node);
}

static uform_status_t parse_document(parser_t *parser) {
    skip_space(parser);
    uform_json_t *root = new_node(parser);
    if (!root) return uform_status_out_of_memory_k;
    parser->document->root = root;
    uform_status_t status = parse_value(parser, root);
    while (status == uform_status_ok_k && parser->depth) {
        skip_space(parser);
        char const closing = parser->open[parser->depth - 1]->kind == uform_json_object_k ? '}' : ']';
        if (*parser->cursor == closing) ++parser->cursor, --parser->depth;
        else status = parse_child(parser);
    }
    if (status != uform_status_ok_k) return status;
    skip_space(parser);
    return parser->cursor == parser->end ? uform_status_ok_k : fail_here(parser, "nothing behind the value");
}

/// Parses text the document owns, [length] bytes and a NUL.
static uform_status_t parse_owned(char *text, size_t length, char const *name, uform_json_document_t *document) {
    *document = (uform_json_document_t){.text = text};
    parser_t *parser = uform_allocate_(1, sizeof(*parser));
    // The host may have set a locale whose decimal point is a comma; strtod would follow it.
    locale_t const plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    uform_status_t status = uform_status_out_of_memory_k;
    if (parser && plain) {
        locale_t const before = uselocale(plain);
        parser->name = name, parser->document = document;
        parser->begin = parser->cursor = text, parser->end = text + length;
        status = parse_document(parser);
        uselocale(before);
    }
    if (plain) freelocale(plain);
    uform_free_(parser);
    if (status != uform_status_ok_k) uform_json_close_(document);
    return status;
}

uform_status_t uform_json_open_(char const *path, uform_json_document_t *document) {
    *document = (uform_json_document_t){0};
    char *text;
    size_t length;
    uform_status_t const status = uform_file_read_(path, file_limit_bytes, &text, &length);
    return status == uform_status_ok_k ? parse_owned(text, length, path, document) : status;
}

uform_status_t uform_json_parse_(char const *text, size_t length, char const *name, uform_json_document_t *document) {
    *document = (uform_json_document_t){0};
    if (length == SIZE_MAX) return uform_fail_(uform_status_malformed_k, "%s: too long", name);
    char *copy = uform_allocate_(length + 1, 1);
    if (!copy) return uform_status_out_of_memory_k;
    memcpy(copy, text, length);
    return parse_owned(copy, length, name, document);
}

void uform_json_close_(uform_json_document_t *document) {
    for (uform_json_block_t *block = document->blocks; block;) {
        uform_json_block_t *next = block->next;
        uform_free_(block);
        block = next;
    }
    uform_free_(document->text);
    *document = (uform_json_document_t){0};
}
