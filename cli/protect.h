/**
 *  Files that an output must not overwrite.
 */
#ifndef UFORM_CLI_PROTECT_H
#define UFORM_CLI_PROTECT_H

#include <stdbool.h>

#include "options.h"

/// False, with a message, when the output names the file that `source` reads, one of the model's directory, by whatever
/// path, or a picture, or has a picture's name. `source` is -1 where nothing is open.
bool output_permitted_(int source, settings_t const *settings);

#endif
