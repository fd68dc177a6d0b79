/**
 *  Words from files and arguments, made fit to be shown.
 */
#ifndef UFORM_CLI_PLAIN_H
#define UFORM_CLI_PLAIN_H

/// Replaces, in place, whatever would break the line, steer a terminal or turn the reading direction around, and every
/// byte that isn't part of valid UTF-8, by '?'. The words never grow.
void make_plain_(char *words);

/// Writes such a copy of the words to standard output.
void print_plain_(char const *words);

#endif
