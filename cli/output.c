/**
 *  The writer. A NumPy file begins with the number of its rows, which isn't known before the last one: into a regular
 *  file room is left for the header and filled at the end; for a pipe the rows wait in a temporary file.
 *
 *      npy:  [ header, 128 bytes | row | row | ... ]        f32:  [ row | row | ... ]
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numbers.h"
#include "output.h"
#include "progress.h"

enum { buffer_bytes_k = 256 * 1024, npy_header_bytes_k = 128, value_text_bytes_k = number_text_bytes_k + 2 };

/// What the writer must know of each scalar. NumPy has no bfloat16; the type is what it writes itself for extensions'.
static struct scalar_facts_t {
    uform_scalar_t scalar;
    size_t bits;
    char const *npy_type;
    uint16_t null_pattern; ///< of each two bytes of a null row
} const scalar_facts[] = {
    {uform_scalar_f32_k, 32, "<f4", 0},
    {uform_scalar_f16_k, 16, "<f2", 0x7E00},
    {uform_scalar_bf16_k, 16, "|V2", 0x7FC0},
    {uform_scalar_i8_k, 8, "|i1", 0},
    {uform_scalar_b1_k, 1, "|u1", 0},
};

static struct scalar_facts_t const *facts_of(uform_scalar_t scalar) {
    for (size_t row = 0; row != sizeof(scalar_facts) / sizeof(scalar_facts[0]); ++row)
        if (scalar_facts[row].scalar == scalar) return &scalar_facts[row];
    return &scalar_facts[0];
}

size_t output_row_bytes_(uform_scalar_t scalar, size_t dimensions) {
    return (facts_of(scalar)->bits * dimensions + 7) / 8;
}

static bool ends_in(char const *name, char const *ending) {
    size_t const length = name ? strlen(name) : 0, ending_length = strlen(ending);
    return length >= ending_length && strcmp(name + length - ending_length, ending) == 0;
}

bool output_format_resolve_(settings_t const *settings, output_format_t *format) {
    *format = settings->output_format;
    if (*format == output_format_derived_k)
        *format = ends_in(settings->output, ".npy")   ? output_format_npy_k
                  : ends_in(settings->output, ".f32") ? output_format_f32_k
                                                      : output_format_jsonl_k;
    bool const fits = *format != output_format_f32_k || settings->scalar == uform_scalar_derived_k ||
                      settings->scalar == uform_scalar_f32_k;
    if (!fits)
        message_("embed: --output-format: f32 holds f32 only, found --scalar %s; use npy or jsonl",
            uform_scalar_name(settings->scalar));
    return fits;
}

static void fail(output_t *output, int error) {
    // A reader that has seen enough closes its end; that needs no words.
    if (!output->failed && error != EPIPE) message_("%s: %s", output->name, strerror(error));
    output->failed = true;
}

static bool write_fully(output_t *output, int descriptor, char const *bytes, size_t count) {
    while (count && !output->failed) {
        ssize_t const written = write(descriptor, bytes, count);
        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd waiting = {.fd = descriptor, .events = POLLOUT};
            poll(&waiting, 1, -1);
        } else if (errno != EINTR) {
            fail(output, errno);
        }
    }
    return !output->failed;
}

bool output_flush_(output_t *output) {
    size_t const count = output->used;
    output->used = 0;
    return write_fully(output, output->spool >= 0 ? output->spool : output->descriptor, output->buffer, count);
}

static bool append(output_t *output, void const *bytes, size_t count) {
    if (output->used + count > buffer_bytes_k && !output_flush_(output)) return false;
    if (count > buffer_bytes_k)
        return write_fully(output, output->spool >= 0 ? output->spool : output->descriptor, bytes, count);
    memcpy(output->buffer + output->used, bytes, count);
    output->used += count;
    return !output->failed;
}

/// The header of a NumPy file, padded so that the rows after it are aligned.
static void format_npy_header(output_t const *output, char *header) {
    size_t const columns = output->scalar == uform_scalar_b1_k ? output->row_bytes : output->dimensions;
    memset(header, ' ', npy_header_bytes_k);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    char row_shape[64];
    if (output->inner) snprintf(row_shape, sizeof(row_shape), "%zu, %zu", columns / output->inner, output->inner);
    else snprintf(row_shape, sizeof(row_shape), "%zu", columns);
    int const length =
        snprintf(header + 10, npy_header_bytes_k - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%llu, %s), }",
            facts_of(output->scalar)->npy_type, (unsigned long long)output->rows, row_shape);
    header[10 + length] = ' ';
    header[npy_header_bytes_k - 1] = '\n';
}

/// An unnamed file in the directory for temporary files, gone when it is closed.
static int open_spool(void) {
    char const *const chosen = getenv("TMPDIR");
    char path[4096];
    int const length = snprintf(path, sizeof(path), "%s/uform-XXXXXX", chosen && chosen[0] ? chosen : "/tmp");
    if (length < 0 || (size_t)length >= sizeof(path)) return errno = ENAMETOOLONG, -1;
    int const descriptor = mkstemp(path);
    if (descriptor >= 0) unlink(path);
    return descriptor;
}

/// Decides between room for the header and a temporary file.
static void begin_npy(output_t *output) {
    struct stat facts;
    bool const regular = fstat(output->descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
    // What is opened for appending (>>) can't be written to anywhere but at its end.
    bool const appends = (fcntl(output->descriptor, F_GETFL) & O_APPEND) != 0;
    off_t const start = regular && !appends ? lseek(output->descriptor, 0, SEEK_CUR) : -1;
    output->start = start;
    if (start < 0) {
        output->spool = open_spool();
        if (output->spool < 0) {
            message_("%s: a temporary file for its rows: %s", output->name, strerror(errno));
            output->failed = true;
        }
        return;
    }
    char header[npy_header_bytes_k];
    format_npy_header(output, header);
    append(output, header, sizeof(header));
}

bool output_open_(
    output_t *output, char const *path, output_format_t format, uform_scalar_t scalar, size_t dimensions) {
    bool const standard = !path || strcmp(path, "-") == 0;
    memset(output, 0, sizeof(*output));
    output->name = standard ? "standard output" : path;
    output->format = format;
    output->scalar = scalar;
    output->dimensions = dimensions;
    output->row_bytes = output_row_bytes_(scalar, dimensions);
    output->spool = -1;
    output->buffer = malloc(buffer_bytes_k);
    output->null_row = malloc(output->row_bytes + 1);
    output->descriptor = standard ? STDOUT_FILENO : -1;
    if (!output->buffer || !output->null_row) {
        message_("%s: not enough memory", output->name);
        output->failed = true;
        return output_close_(output);
    }
    uint16_t const pattern = facts_of(scalar)->null_pattern;
    for (size_t at = 0; at + 2 <= output->row_bytes; at += 2) memcpy(output->null_row + at, &pattern, 2);
    if (output->row_bytes % 2) output->null_row[output->row_bytes - 1] = 0;
    uint32_t const quiet_nan = 0x7FC00000u;
    if (scalar == uform_scalar_f32_k)
        for (size_t at = 0; at != dimensions; ++at) memcpy(output->null_row + 4 * at, &quiet_nan, 4);
    if (!standard) output->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (output->descriptor < 0) {
        message_("--output: %s: %s", path, strerror(errno));
        output->failed = true;
        return output_close_(output);
    }
    if (format == output_format_npy_k) begin_npy(output);
    if (output->failed) return output_close_(output);
    return true;
}

static size_t format_value(uform_scalar_t scalar, char const *row, size_t index, char *text) {
    if (scalar == uform_scalar_b1_k)
        return *text = (char)('0' + ((unsigned char)row[index / 8] >> (7 - index % 8) & 1)), 1;
    if (scalar == uform_scalar_i8_k) {
        int const value = (signed char)row[index];
        *text = '-';
        return value < 0 ? 1 + number_from_unsigned_((uint32_t)-value, text + 1)
                         : number_from_unsigned_((uint32_t)value, text);
    }
    if (scalar == uform_scalar_f32_k) {
        float value;
        memcpy(&value, row + 4 * index, sizeof(value));
        return number_from_float_(value, text);
    }
    uint16_t bits;
    memcpy(&bits, row + 2 * index, sizeof(bits));
    return number_from_float_(scalar == uform_scalar_f16_k ? float_from_f16_(bits) : float_from_bf16_(bits), text);
}

/// Room for the text of one more value, and for what stands around it.
static bool reserve_value(output_t *output) {
    return output->used + value_text_bytes_k <= buffer_bytes_k || output_flush_(output);
}

static bool output_json_row(output_t *output, void const *row) {
    if (!row) return append(output, "null\n", 5);
    for (size_t index = 0; index != output->dimensions; ++index) {
        if (!reserve_value(output)) return false;
        output->buffer[output->used++] = index ? ',' : '[';
        output->used += format_value(output->scalar, row, index, output->buffer + output->used);
    }
    return append(output, "]\n", 2);
}

bool output_row_(output_t *output, void const *row) {
    bool const written = output->format == output_format_jsonl_k
                             ? output_json_row(output, row)
                             : append(output, row ? row : output->null_row, output->row_bytes);
    output->rows += written;
    return written;
}

bool output_ids_(output_t *output, uint32_t const *ids, size_t count) {
    if (!ids) return append(output, "null\n", 5);
    if (!count) return append(output, "[]\n", 3);
    for (size_t index = 0; index != count; ++index) {
        if (!reserve_value(output)) return false;
        output->buffer[output->used++] = index ? ',' : '[';
        output->used += number_from_unsigned_(ids[index], output->buffer + output->used);
    }
    return append(output, "]\n", 2);
}

/// Copies what waited in the temporary file.
static void empty_spool(output_t *output) {
    if (lseek(output->spool, 0, SEEK_SET) < 0) fail(output, errno);
    while (!output->failed) {
        ssize_t const count = read(output->spool, output->buffer, buffer_bytes_k);
        if (count == 0) return;
        if (count > 0) write_fully(output, output->descriptor, output->buffer, (size_t)count);
        else if (errno != EINTR) fail(output, errno);
    }
}

static void finish_npy(output_t *output) {
    char header[npy_header_bytes_k];
    format_npy_header(output, header);
    if (output->spool >= 0) {
        if (write_fully(output, output->descriptor, header, sizeof(header))) empty_spool(output);
        return;
    }
    if (pwrite(output->descriptor, header, sizeof(header), output->start) != (ssize_t)sizeof(header))
        fail(output, errno);
}

bool output_close_(output_t *output) {
    if (!output->failed && output_flush_(output) && output->format == output_format_npy_k) finish_npy(output);
    if (output->spool >= 0) close(output->spool);
    // Some file systems tell only now that there was no room.
    if (output->descriptor >= 0 && close(output->descriptor) != 0) fail(output, errno);
    free(output->buffer);
    free(output->null_row);
    output->buffer = output->null_row = NULL;
    output->descriptor = output->spool = -1;
    return !output->failed;
}
