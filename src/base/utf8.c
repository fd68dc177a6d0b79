/**
 *  UTF-8 after table 3-7 of the Unicode standard.
 */
#include "base/utf8.h"

/// Well-formed sequences: the lead byte's range, the second byte's range, how many bytes in all.
static struct {
    unsigned char lead_first, lead_last, second_first, second_last, bytes;
} const sequences[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 2},
    {0xE0, 0xE0, 0xA0, 0xBF, 3},
    {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3},
    {0xEE, 0xEF, 0x80, 0xBF, 3},
    {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4},
    {0xF4, 0xF4, 0x80, 0x8F, 4},
};

size_t uform_utf8_valid_length_(char const *text, size_t length) {
    if (!length) return 0;
    unsigned char const *bytes = (unsigned char const *)text;
    if (bytes[0] < 0x80) return 1;
    for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); ++i) {
        if (bytes[0] < sequences[i].lead_first || bytes[0] > sequences[i].lead_last) continue;
        if (length < sequences[i].bytes) return 0;
        if (bytes[1] < sequences[i].second_first || bytes[1] > sequences[i].second_last) return 0;
        for (size_t j = 2; j < sequences[i].bytes; ++j)
            if ((bytes[j] & 0xC0u) != 0x80u) return 0;
        return sequences[i].bytes;
    }
    return 0;
}

size_t uform_utf8_encode_(uint32_t code_point, char *output) {
    if (code_point < 0x80) {
        output[0] = (char)code_point;
        return 1;
    }
    size_t const bytes = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    unsigned char const lead = bytes == 2 ? 0xC0 : bytes == 3 ? 0xE0 : 0xF0;
    for (size_t i = bytes - 1; i > 0; --i, code_point >>= 6) output[i] = (char)(0x80 | (code_point & 0x3Fu));
    output[0] = (char)(lead | code_point);
    return bytes;
}
