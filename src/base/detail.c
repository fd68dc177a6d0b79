/**
 *  The calling thread's last failure: one buffer a thread, so that saying why never allocates and never races.
 *  Details are one line of valid UTF-8 whatever a hostile file put into the names they quote.
 */
#include "base/detail.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { detail_bytes_k = 1024 };

static _Thread_local char last_detail[detail_bytes_k];

/// Replaces control characters and broken UTF-8 by question marks, and drops a character the end of the buffer cut in
/// two.
static void store(char const *text, bool cut) {
    size_t const length = strlen(text);
    size_t used = 0;
    for (size_t done = 0; done < length;) {
        size_t const bytes = uform_utf8_valid_length_(text + done, length - done);
        bool const plain = bytes > 1 || (bytes == 1 && (unsigned char)text[done] >= 0x20 && text[done] != 0x7F);
        if (!bytes && cut && length - done < 4) break;
        if (plain) memcpy(last_detail + used, text + done, bytes);
        else last_detail[used] = '?';
        used += plain ? bytes : 1, done += bytes ? bytes : 1;
    }
    last_detail[used] = '\0';
}

uform_status_t uform_fail_(uform_status_t status, char const *format, ...) {
    // The arguments may point into the last detail itself, so the new one is written aside first.
    char detail[detail_bytes_k];
    va_list arguments;
    va_start(arguments, format);
    int const length = vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    if (length < 0) detail[0] = '\0';
    store(detail, length >= detail_bytes_k);
    return status;
}

uform_status_t uform_fail_prefixed_(uform_status_t status, char const *format, ...) {
    char detail[detail_bytes_k];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    if (length < 0) length = 0, detail[0] = '\0';
    if (length < detail_bytes_k) {
        int const rest = snprintf(detail + length, sizeof(detail) - (size_t)length, "%s", last_detail);
        length += rest > 0 ? rest : 0;
    }
    store(detail, length >= detail_bytes_k);
    return status;
}

char const *uform_last_detail(void) {
    return last_detail;
}
