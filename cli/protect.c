/**
 *  Files are compared by device and inode, so that links don't deceive: a model's directory is often made of links
 *  into a store.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "progress.h"
#include "protect.h"

/// Folders of a model's modules, and a tool's own folders in them.
enum { folder_depth_k = 2, beginning_bytes_k = 32 };

static bool same_file(struct stat const *left, struct stat const *right) {
    return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

/// Whether the file is one of a folder's, or of the folders in it. Takes the folder's descriptor over.
static bool folder_holds(int folder, struct stat const *file, int depth) {
    DIR *const listing = folder >= 0 ? fdopendir(folder) : NULL;
    if (!listing) {
        if (folder >= 0) close(folder);
        return false;
    }
    bool found = false;
    for (struct dirent const *entry; !found && (entry = readdir(listing));) {
        struct stat facts;
        bool const parent = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (parent || fstatat(folder, entry->d_name, &facts, 0) != 0) continue;
        if (S_ISDIR(facts.st_mode) && depth)
            found = folder_holds(openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), file, depth - 1);
        else found = same_file(&facts, file);
    }
    closedir(listing);
    return found;
}

/// Whether a file begins as a picture does.
static bool is_picture(char const *path) {
    unsigned char beginning[beginning_bytes_k];
    int const descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t const length = descriptor < 0 ? -1 : read(descriptor, beginning, sizeof(beginning));
    if (descriptor >= 0) close(descriptor);
    return length > 0 && begins_as_picture_(beginning, (size_t)length);
}

bool output_permitted_(int source, settings_t const *settings) {
    struct stat input, target;
    if (!settings->output || strcmp(settings->output, "-") == 0) return true;
    bool const found = stat(settings->output, &target) == 0;
    if (found && !S_ISREG(target.st_mode)) return true;
    if (found && source >= 0 && fstat(source, &input) == 0 && same_file(&input, &target))
        return message_("--output: %s: is the input", settings->output), false;
    if (found && is_picture(settings->output)) return message_("--output: %s: is a picture", settings->output), false;
    if (ends_as_picture_(settings->output))
        return message_("--output: %s: is named like a picture, and none is written", settings->output), false;
    if (!found) return true;
    int const model = open(settings->model, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!folder_holds(model, &target, folder_depth_k)) return true;
    message_("--output: %s: is a file of the model's directory", settings->output);
    return false;
}
