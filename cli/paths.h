/**
 *  Parts of paths, and paths put together.
 */
#ifndef UFORM_CLI_PATHS_H
#define UFORM_CLI_PATHS_H

/// What stands behind the last slash.
char const *path_name_(char const *path);

/// The folder a file stands in, links resolved, in memory of its own; NULL, with errno, if there is no such folder.
char *path_folder_(char const *path);

/// "folder/name", in memory of its own, or NULL without.
char *path_join_(char const *folder, char const *name);

/// The file from the root: its folder with links resolved, and its own name, whatever that links to. In memory of its
/// own; NULL, with errno, if there is no such folder.
char *path_from_root_(char const *path);

#endif
