/**
 *  The calling thread's last failure: one buffer a thread, so that saying why never allocates and never races.
 */
#include "base/detail.h"

#include <stdio.h>
#include <string.h>

enum { detail_bytes_k = 1024 };

static _Thread_local char last_detail[detail_bytes_k];

/// Drops a character the end of the buffer cut in two: bindings hand the detail on as UTF-8.
static void drop_cut_character(char *text) {
    size_t const length = strlen(text);
    if (length + 1 < detail_bytes_k) return;
    size_t start = length;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0u) == 0x80u) --start;
    if (start == 0) return;
    unsigned char const lead = (unsigned char)text[start - 1];
    size_t const expected = lead >= 0xF0u ? 4 : lead >= 0xE0u ? 3 : lead >= 0xC0u ? 2 : 1;
    if (length - (start - 1) < expected) text[start - 1] = '\0';
}

uform_status_t uform_fail_(uform_status_t status, char const *format, ...) {
    // The arguments may point into the last detail itself, so the new one is written aside first.
    char detail[detail_bytes_k];
    va_list arguments;
    va_start(arguments, format);
    int const length = vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    if (length < 0) detail[0] = '\0';
    if ((size_t)length >= sizeof(detail)) drop_cut_character(detail);
    memcpy(last_detail, detail, sizeof(detail));
    return status;
}

uform_status_t uform_fail_prefixed_(uform_status_t status, char const *format, ...) {
    char detail[detail_bytes_k];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    if (length < 0) length = 0, detail[0] = '\0';
    if ((size_t)length < sizeof(detail)) {
        int const rest = snprintf(detail + length, sizeof(detail) - (size_t)length, "%s", last_detail);
        length += rest > 0 ? rest : 0;
    }
    if ((size_t)length >= sizeof(detail)) drop_cut_character(detail);
    memcpy(last_detail, detail, sizeof(detail));
    return status;
}

char const *uform_last_detail(void) {
    return last_detail;
}
