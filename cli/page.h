/**
 *  A contact sheet: one HTML page with the pictures that answered queries, and their scores.
 */
#ifndef UFORM_CLI_PAGE_H
#define UFORM_CLI_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "replace.h"

typedef struct page_t {
    replacement_t file;
    char *folder;    ///< the page's, links resolved
    bool in_section; ///< a query's matches are being written
} page_t;

/// Begins a page. On failure a message has been written.
bool page_open_(page_t *page, char const *path);

/// Begins the section of a query by a text, or by a picture.
void page_text_query_(page_t *page, char const *text);
void page_picture_query_(page_t *page, char const *path);

/// A match: a picture, linked from where the page is, and its score.
void page_match_(page_t *page, size_t rank, float score, char const *path);

/// Completes the page. False when anything of it was lost.
bool page_close_(page_t *page);

/// Forgets the page.
void page_abandon_(page_t *page);

#endif
