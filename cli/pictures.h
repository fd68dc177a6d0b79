/**
 *  Pictures on their way from files into calls: as many at a time as a call is worth and memory is set aside for.
 */
#ifndef UFORM_CLI_PICTURES_H
#define UFORM_CLI_PICTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "setup.h"

/// The files of one call, in the order they were added.
typedef struct pictures_t {
    uform_image_t *images;      ///< [limit], their bytes in memory of their own
    uform_item_report_t *items; ///< [limit], what became of them
    size_t count, limit;
    size_t bytes; ///< of the files in memory
} pictures_t;

/// What became of a file that was to be added.
typedef enum picture_outcome_t {
    picture_added_k,
    picture_refused_k, ///< it can't be read; `status` and `problem` tell why, but not its path
    picture_full_k,    ///< the others have to be encoded first
} picture_outcome_t;

enum { picture_problem_bytes_k = 256 };

/// Pictures a call is given: enough to keep every thread busy, few enough for results to appear soon.
size_t pictures_a_call_(setup_t const *setup);

/// Room for so many pictures. False, with a message, without memory.
bool pictures_open_(pictures_t *pictures, size_t limit);

/// Reads a file. Those beyond a gigabyte are refused by their size, and what isn't a file by its kind.
picture_outcome_t pictures_add_(pictures_t *pictures, char const *path, uform_status_t *status, char *problem);

/// Encodes the pictures into rows, [count, row_bytes], and tells in `items` what became of each. False, with a message,
/// when the call as a whole failed.
bool pictures_encode_(pictures_t *pictures, setup_t const *setup, void *rows);

/// Encodes a picture that failed again, alone: a call keeps the words for one failure only, in `uform_last_detail`.
uform_status_t pictures_encode_again_(pictures_t *pictures, setup_t const *setup, size_t position, void *row);

/// Takes the last picture out; its bytes are the caller's to free with `picture_free_`.
uform_image_t pictures_take_(pictures_t *pictures);
void picture_free_(uform_image_t picture);

/// Forgets the pictures; the room stays.
void pictures_clear_(pictures_t *pictures);

void pictures_close_(pictures_t *pictures);

#endif
