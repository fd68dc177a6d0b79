/**
 *  From a vendor's name for an architecture to UForm's class, by the table in classes.inc. No state.
 */
#include <string.h>

#include "gpu/devices.h"

typedef struct class_row_t {
    uform_gpu_class_t gpu_class;
    uform_gpu_vendor_t vendor;
    char const *architectures; ///< separated by spaces
} class_row_t;

static class_row_t const rows[] = {
#define UFORM_GPU_CLASS(token, vendor, architectures)                                                                  \
    {uform_gpu_class_##token##_k, uform_gpu_vendor_##vendor##_k, architectures},
#include "gpu/classes.inc"
#undef UFORM_GPU_CLASS
};

static bool has_word(char const *words, char const *word) {
    size_t const length = strlen(word);
    while (*words) {
        size_t const own = strcspn(words, " ");
        if (own == length && !memcmp(words, word, length)) return true;
        words += own;
        words += strspn(words, " ");
    }
    return false;
}

static uform_gpu_class_t find(uform_gpu_vendor_t vendor, char const *architecture) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].vendor == vendor && has_word(rows[i].architectures, architecture)) return rows[i].gpu_class;
    return uform_gpu_class_derived_k;
}

uform_gpu_class_t uform_gpu_class_of_(uform_gpu_vendor_t vendor, char const *architecture) {
    uform_gpu_class_t const own = find(vendor, architecture);
    return own ? own : find(vendor, "*");
}
