/**
 *  The pictures of tests/pictures/corpus and the table of what becomes of them, made by tools/golden_pictures.py.
 *  Failures of the helpers end the program.
 */
#ifndef UFORM_TESTS_PICTURES_CORPUS_H
#define UFORM_TESTS_PICTURES_CORPUS_H

#include <stddef.h>
#include <stdint.h>

enum { picture_name_bytes_k = 64 };

typedef struct picture_t {
    char name[picture_name_bytes_k];
    char option[16];      ///< "-", "flatten" or "stored"
    char expectation[32]; ///< a status, or WIDTHxHEIGHT
    uint32_t digest;      ///< CRC-32 of the pixels
    uint8_t *bytes;       ///< [length], followed by nothing: reading on is an error that sanitizers see
    size_t length;
} picture_t;

/// Every line of the table; the caller gives them back.
picture_t *corpus_read(size_t *count);
void corpus_free(picture_t *pictures, size_t count);

#endif
