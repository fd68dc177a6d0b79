/**
 *  Names and texts of the statuses, from the one table.
 */
#include "uform/status.h"

#include <stddef.h>

static struct {
    char const *name, *text;
} const rows[] = {
#define ROW(token, value, sentence) [value] = {#token, sentence},
    UFORM_STATUSES(ROW)
#undef ROW
};

enum { row_count_k = sizeof(rows) / sizeof(rows[0]) };

char const *uform_status_name(uform_status_t status) {
    return (size_t)status < row_count_k ? rows[status].name : "unknown";
}

char const *uform_status_text(uform_status_t status) {
    return (size_t)status < row_count_k ? rows[status].text : "an unknown status";
}
