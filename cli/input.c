/**
 *  The reader. One buffer holds the window's items and the beginning of the next; items are places in it, so nothing
 *  is copied. A JSON string is never longer than its source, so it is decoded over the line it came from.
 *
 *      [ item | item | ... | item | the beginning of the next window ]
 *      0                          consumed        scanned            end
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "input.h"
#include "progress.h"

enum {
    read_bytes_k = 256 * 1024,
    window_bytes_k = 4 * 1024 * 1024,
    /// A writer that pauses gets its answers: a window with something in it is closed after so long.
    patience_ms_k = 20,
};

bool input_open_(input_t *input, char const *option, char const *path, input_format_t format, size_t item_limit) {
    bool const standard = !path || strcmp(path, "-") == 0;
    memset(input, 0, sizeof(*input));
    input->name = standard ? "standard input" : path;
    input->format = format;
    input->descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (input->descriptor < 0) {
        message_("--%s: %s: %s", option, path, strerror(errno));
        return false;
    }
    struct stat facts;
    if (fstat(input->descriptor, &facts) == 0) {
        if (S_ISDIR(facts.st_mode)) {
            message_("--%s: %s: expected a file, found a directory", option, input->name);
            input_close_(input);
            return false;
        }
        off_t const start = S_ISREG(facts.st_mode) ? lseek(input->descriptor, 0, SEEK_CUR) : -1;
        if (start >= 0 && facts.st_size > start) input->bytes_total = (uint64_t)(facts.st_size - start);
    }
    input->item_limit = item_limit;
    input->capacity = 2 * read_bytes_k;
    input->items = calloc(item_limit, sizeof(*input->items));
    input->buffer = malloc(input->capacity);
    if (input->items && input->buffer) return true;
    message_("%s: not enough memory", input->name);
    input_close_(input);
    return false;
}

static void forget_items(input_t *input) {
    for (size_t position = 0; position != input->item_count; ++position) free(input->items[position].problem);
    input->item_count = 0;
}

void input_close_(input_t *input) {
    forget_items(input);
    free(input->items);
    free(input->buffer);
    if (input->descriptor > STDIN_FILENO) close(input->descriptor);
    memset(input, 0, sizeof(*input));
}

uform_text_t input_text_(input_t const *input, input_item_t const *item) {
    return (uform_text_t){input->buffer + item->offset, item->length};
}

char const *input_path_(input_t const *input, input_item_t const *item) {
    return input->buffer + item->offset;
}

void input_complain_(input_t const *input, size_t position, uform_status_t status, char const *problem) {
    input_item_t const *const item = &input->items[position];
    char place[1024];
    snprintf(place, sizeof(place), "%.*s: item %llu", (int)sizeof(place) - 64, input->name,
        (unsigned long long)(input->number + position + 1));
    message_item_(place, item->is_picture && item->length ? input_path_(input, item) : NULL, status, problem);
}

static void refuse_item(input_item_t *item, uform_status_t status, char const *problem) {
    item->status = status;
    item->problem = strdup(problem);
}

static char const *json_type_name(json_t const *value) {
    static char const *const names[] = {
        "an object", "an array", "a string", "a number", "a number", "true", "false", "null"};
    return value ? names[json_typeof(value)] : "nothing";
}

/// Puts a string where the line stood it came from, which is never shorter.
static void take_string(input_t *input, input_item_t *item, json_t const *string) {
    item->length = json_string_length(string);
    memcpy(input->buffer + item->offset, json_string_value(string), item->length);
}

/// The path of a picture ends in a NUL, for which the closing quote left room.
static void take_path(input_t *input, input_item_t *item) {
    char *const path = input->buffer + item->offset;
    item->is_picture = true;
    path[item->length] = '\0';
    if (!item->length) refuse_item(item, uform_status_malformed_k, "image: expected a path, found nothing");
    if (strlen(path) == item->length) return;
    refuse_item(item, uform_status_malformed_k, "image: a NUL byte in a path");
    item->length = 0; // what stands before the NUL names another file
}

/// Takes the text or the path out of a line of JSON.
static void decode_json(input_t *input, input_item_t *item) {
    json_error_t error;
    char problem[JSON_ERROR_TEXT_LENGTH + 64];
    // Numbers beside the text aren't ours to judge, so whole ones may have any length.
    json_t *const root = json_loadb(
        input->buffer + item->offset, item->length, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    if (!root && json_error_code(&error) == json_error_out_of_memory) {
        refuse_item(item, uform_status_out_of_memory_k, uform_status_text(uform_status_out_of_memory_k));
        return;
    }
    if (!root) {
        snprintf(problem, sizeof(problem), "not JSON: %s, at byte %d", error.text, error.position);
        refuse_item(item, uform_status_malformed_k, problem);
        return;
    }
    json_t const *const text = json_is_object(root) ? json_object_get(root, "text") : root;
    json_t const *const image = json_object_get(root, "image");
    if (text && image) {
        refuse_item(item, uform_status_malformed_k, "expected either text or image, found both");
    } else if (json_is_string(image)) {
        take_string(input, item, image);
        take_path(input, item);
    } else if (json_is_string(text)) {
        take_string(input, item, text);
    } else {
        snprintf(problem, sizeof(problem),
            image                  ? "image: expected the path of a file, found %s"
            : json_is_object(root) ? "text: expected a string, found %s"
                                   : "expected an object or a string, found %s",
            json_type_name(image ? image : text));
        refuse_item(item, uform_status_malformed_k, problem);
    }
    json_decref(root);
}

/// Whether the first item of all, of so many bytes, begins with a byte order mark.
static bool begins_with_mark(input_t const *input, size_t length) {
    static char const byte_order_mark[] = {'\xEF', '\xBB', '\xBF'};
    bool const first = input->format != input_format_nul_k && input->number + input->item_count == 0;
    return first && length >= 3 && memcmp(input->buffer + input->consumed, byte_order_mark, 3) == 0;
}

/// Whether all there is, of the whole input, is a byte order mark.
static bool is_bare_mark(input_t const *input) {
    size_t const length = input->end - input->consumed;
    return length == 3 && begins_with_mark(input, length);
}

/// Makes an item of the bytes from `consumed` to `stop`; `next` is where the following one begins.
static void take_item(input_t *input, size_t stop, size_t next) {
    input_item_t *const item = &input->items[input->item_count];
    *item = (input_item_t){.offset = input->consumed, .length = stop - input->consumed};
    if (input->format != input_format_nul_k) {
        if (begins_with_mark(input, item->length)) item->offset += 3, item->length -= 3;
        if (item->length && input->buffer[item->offset + item->length - 1] == '\r') --item->length;
    }
    if (input->format == input_format_jsonl_k) decode_json(input, item);
    if (input->format == input_format_images_k) take_path(input, item);
    ++input->item_count;
    input->bytes += next - input->consumed;
    input->consumed = input->scanned = next;
}

/// Forgets what there is of an item that memory can't hold; when its separator is found, or the input ends, the item is
/// one without a text.
static void skip_item(input_t *input, int separator) {
    char const *const found = memchr(input->buffer + input->consumed, separator, input->end - input->consumed);
    size_t const next = found ? (size_t)(found - input->buffer) + 1 : input->end;
    input->bytes += next - input->consumed;
    if (!found) input->end = 0;
    input->consumed = input->scanned = found ? next : 0;
    input->skips = !found && !input->ended;
    if (input->skips) return;
    input_item_t *const item = &input->items[input->item_count++];
    *item = (input_item_t){.length = 0};
    refuse_item(item, uform_status_out_of_memory_k, "not enough memory for its text");
}

/// Takes the items whose separators are in the buffer, as many as the window still holds.
static void take_items(input_t *input) {
    int const separator = input->format == input_format_nul_k ? '\0' : '\n';
    if (input->skips) skip_item(input, separator);
    while (input->item_count != input->item_limit) {
        char const *const found = memchr(input->buffer + input->scanned, separator, input->end - input->scanned);
        if (!found) {
            input->scanned = input->end;
            return;
        }
        size_t const stop = (size_t)(found - input->buffer);
        take_item(input, stop, stop + 1);
    }
}

/// Room for a read. False without memory.
static bool reserve(input_t *input) {
    if (input->capacity - input->end >= read_bytes_k) return true;
    size_t const capacity = input->capacity * 2;
    char *const buffer = capacity > input->capacity ? realloc(input->buffer, capacity) : NULL;
    if (!buffer) return false;
    input->buffer = buffer;
    input->capacity = capacity;
    return true;
}

static bool read_more(input_t *input) {
    while (true) {
        ssize_t const count = read(input->descriptor, input->buffer + input->end, read_bytes_k);
        if (count >= 0) {
            input->ended = count == 0;
            input->end += (size_t)count;
            return true;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd waiting = {.fd = input->descriptor, .events = POLLIN};
            poll(&waiting, 1, -1);
        } else if (errno != EINTR) {
            message_("%s: %s", input->name, strerror(errno));
            return false;
        }
    }
}

/// Whether a read would find something, or the end, before the window's patience is over.
static bool more_is_near(input_t const *input, uint64_t deadline_ns) {
    uint64_t const now = clock_ns_();
    int const wait_ms = now < deadline_ns ? (int)((deadline_ns - now) / 1000000) : 0;
    struct pollfd waiting = {.fd = input->descriptor, .events = POLLIN};
    return poll(&waiting, 1, wait_ms) != 0;
}

bool input_next_(input_t *input) {
    input->number += input->item_count;
    forget_items(input);
    memmove(input->buffer, input->buffer + input->consumed, input->end - input->consumed);
    input->end -= input->consumed;
    input->scanned -= input->consumed;
    input->consumed = 0;
    uint64_t deadline_ns = 0;
    while (true) {
        take_items(input);
        if (input->item_count == input->item_limit) return true;
        if (input->ended) {
            // A last line needs no separator.
            if (input->end > input->consumed && !is_bare_mark(input)) take_item(input, input->end, input->end);
            return true;
        }
        if (input->item_count) {
            if (!deadline_ns) deadline_ns = clock_ns_() + (uint64_t)patience_ms_k * 1000000;
            if (input->end >= window_bytes_k || !more_is_near(input, deadline_ns)) return true;
        }
        if (!reserve(input)) {
            // The window's own texts take room that the next window has.
            if (input->item_count) return true;
            input->skips = true;
        } else if (!read_more(input)) {
            return false;
        }
    }
}
