/**
 *  Files that an output must not overwrite.
 */
#ifndef UFORM_CLI_PROTECT_H
#define UFORM_CLI_PROTECT_H

#include <stdbool.h>

#include "input.h"
#include "options.h"

/// False, with a message, when the output names the file the texts come from or one of the model's directory, by
/// whatever path.
bool output_permitted_(input_t const *input, settings_t const *settings);

#endif
