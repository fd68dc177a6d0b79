/**
 *  Which way up a picture is: the orientation tag of EXIF data, which is a small TIFF file, or of an XMP packet.
 */
#include <string.h>

#include "images/decoder.h"

enum { orientation_tag_k = 0x0112, entry_bytes_k = 12 };

/// The first value of a directory's entry, of whatever integer type; 0 for other types and for what lies outside.
static unsigned entry_value(uint8_t const *tiff, size_t length, uint8_t const *entry, bool big_endian) {
    // Bytes a value by TIFF's number of the type; unsigned and signed bytes, shorts, longs, and directories as longs.
    static uint8_t const value_bytes[14] = {[3] = 2, [4] = 4, [6] = 1, [8] = 2, [9] = 4, [13] = 4};
    unsigned const type = uform_read_u16_(entry + 2, big_endian);
    uint32_t const count = uform_read_u32_(entry + 4, big_endian);
    if (type >= sizeof(value_bytes) || !value_bytes[type] || !count) return 0;
    uint64_t const bytes = (uint64_t)count * value_bytes[type];
    uint8_t const *value = entry + 8;
    if (bytes > 4) {
        uint64_t const offset = uform_read_u32_(entry + 8, big_endian);
        if (offset + bytes > length) return 0;
        value = tiff + offset;
    }
    if (value_bytes[type] == 1) return value[0];
    return value_bytes[type] == 2 ? uform_read_u16_(value, big_endian) : uform_read_u32_(value, big_endian);
}

unsigned uform_exif_orientation_(uint8_t const *exif, size_t exif_bytes) {
    // Some writers repeat the prefix that a JPEG's segment already carries.
    for (unsigned i = 0; i < 2 && exif_bytes >= 6 && !memcmp(exif, "Exif\0\0", 6); ++i) exif += 6, exif_bytes -= 6;
    if (exif_bytes < 8) return 0;
    bool const big_endian = exif[0] == 'M';
    // Some writers mix up the order of the magic number.
    bool const magic = (exif[2] == 42 && !exif[3]) || (!exif[2] && exif[3] == 42);
    if ((exif[0] != 'I' && exif[0] != 'M') || exif[1] != exif[0] || !magic) return 0;
    size_t const start = uform_read_u32_(exif + 4, big_endian);
    if (start > exif_bytes - 2) return 0;
    size_t count = uform_read_u16_(exif + start, big_endian);
    size_t const room = (exif_bytes - start - 2) / entry_bytes_k;
    if (count > room) count = room;
    for (size_t i = 0; i < count; ++i) {
        uint8_t const *const entry = exif + start + 2 + i * entry_bytes_k;
        if (uform_read_u16_(entry, big_endian) == orientation_tag_k)
            return entry_value(exif, exif_bytes, entry, big_endian);
    }
    return 0;
}

/// Finds `tiff:Orientation="6"` or `<tiff:Orientation>6<`.
static unsigned xmp_orientation(uint8_t const *xmp, size_t xmp_bytes) {
    static char const name[] = "tiff:Orientation";
    uint8_t const *const end = xmp + xmp_bytes;
    while (xmp_bytes) {
        uint8_t const *const found = memmem(xmp, xmp_bytes, name, sizeof(name) - 1);
        if (!found) return 0;
        xmp = found + sizeof(name) - 1, xmp_bytes = (size_t)(end - xmp);
        size_t const separator = xmp_bytes >= 3 && xmp[0] == '=' && xmp[1] == '"' ? 2 : xmp_bytes && *xmp == '>';
        if (separator && separator < xmp_bytes && xmp[separator] >= '0' && xmp[separator] <= '9')
            return xmp[separator] - '0';
    }
    return 0;
}

unsigned uform_orientation_(uint8_t const *exif, size_t exif_bytes, uint8_t const *xmp, size_t xmp_bytes) {
    unsigned orientation = exif_bytes ? uform_exif_orientation_(exif, exif_bytes) : 0;
    if (!orientation && xmp_bytes) orientation = xmp_orientation(xmp, xmp_bytes);
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
}
