/**
 *  Words from files and arguments, made fit to be shown.
 */
#ifndef UFORM_CLI_PLAIN_H
#define UFORM_CLI_PLAIN_H

#include <stdbool.h>
#include <stdio.h>

/// Replaces, in place, whatever would break the line, steer a terminal or turn the reading direction around, and every
/// byte that isn't part of valid UTF-8, by '?'. The words never grow.
void make_plain_(char *words);

/// Whether the words are valid UTF-8.
bool is_utf8_(char const *words);

/// Writes such a copy of the words to standard output.
void print_plain_(char const *words);

/// Writes the words as a string of JSON. A byte that isn't part of valid UTF-8 becomes the half of a surrogate pair by
/// which Python's file functions know it again, "\udc80" to "\udcff": names of files may hold any byte.
void print_json_(FILE *stream, char const *words);

#endif
