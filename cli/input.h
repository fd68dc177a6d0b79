/**
 *  Texts, and paths of pictures, from a file or a pipe, a window at a time: memory is bounded by the window and the longest single text,
 *  never by the input.
 */
#ifndef UFORM_CLI_INPUT_H
#define UFORM_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/// One text or path of the window, or why there is none. The bytes stand in the input's buffer, before a NUL.
typedef struct input_item_t {
    size_t offset;
    size_t length;
    bool is_picture;       ///< the bytes are a path; none if it was one that no file can have
    uform_status_t status; ///< ok, or what is wrong with the item
    char *problem;         ///< the words for it; NULL for a good item, or without memory for words
} input_item_t;

typedef struct input_t {
    char const *name;
    int descriptor;
    input_format_t format;
    bool ended;           ///< nothing more to read
    bool skips;           ///< within an item that memory can't hold; the buffer has nothing else
    uint64_t number;      ///< items before the window; the first item of all is number one
    uint64_t bytes;       ///< of the input, consumed up to the window's end
    uint64_t bytes_total; ///< zero where the size isn't known
    char *buffer;
    size_t capacity, end; ///< bytes in `buffer` there are room for, and are valid
    size_t consumed;      ///< bytes of `buffer` that belong to the window's items
    size_t scanned;       ///< bytes of `buffer` in which no separator is left to find
    input_item_t *items;  ///< [item_limit]
    size_t item_count, item_limit;
} input_t;

/// Opens a file, or standard input for NULL and "-". On failure a message has been written, which names the option.
bool input_open_(input_t *input, char const *option, char const *path, input_format_t format, size_t item_limit);

/// Reads the next window into `items`; at the end there are none. On failure a message has been written, and the items
/// read before the failure are in the window.
bool input_next_(input_t *input);

/// The text of an item, valid until the next window.
uform_text_t input_text_(input_t const *input, input_item_t const *item);

/// The path of an item that is a picture, valid until the next window.
char const *input_path_(input_t const *input, input_item_t const *item);

/// Writes an item's number, path if it is a picture, status and problem as a message. `position` is the item's in the window. The problem may be
/// the detail of a library's call with this text alone, or NULL or empty, which leaves the status's own sentence.
void input_complain_(input_t const *input, size_t position, uform_status_t status, char const *problem);

void input_close_(input_t *input);

#endif
