/**
 *  The temporary file stands in the same folder, since a file can only be renamed within a file system.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"
#include "progress.h"
#include "replace.h"

enum { signature_bytes_k = 32, watched_limit_k = 4 };

/// Files that are begun. A handler of signals reads them.
static char const *volatile watched[watched_limit_k];

static void remove_watched(int number) {
    for (size_t place = 0; place != watched_limit_k; ++place)
        if (watched[place]) unlink(watched[place]);
    // The handler was for this once; now the signal does what it would have done.
    raise(number);
}

void replace_watch_(char const *temporary) {
    static int const signals[] = {SIGINT, SIGTERM, SIGHUP};
    size_t place = 0;
    while (place != watched_limit_k && watched[place]) ++place;
    if (place != watched_limit_k) watched[place] = temporary;
    for (size_t row = 0; row != sizeof(signals) / sizeof(signals[0]); ++row) {
        struct sigaction action = {.sa_handler = remove_watched, .sa_flags = (int)SA_RESETHAND}, before;
        // Who started the tool may have wanted a signal to be ignored.
        if (sigaction(signals[row], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(signals[row], &action, NULL);
    }
}

void replace_forget_(char const *temporary) {
    for (size_t place = 0; place != watched_limit_k; ++place)
        if (watched[place] == temporary) watched[place] = NULL;
}

bool replace_fail_(replacement_t *replacement, char const *problem) {
    if (!replacement->failed) message_("--%s: %s: %s", replacement->option, replacement->path, problem);
    replacement->failed = true;
    return false;
}

/// Whether the file that stands there may go.
static bool may_replace(replacement_t *replacement, char const *signature) {
    struct stat facts;
    if (stat(replacement->path, &facts) != 0) return errno == ENOENT || replace_fail_(replacement, strerror(errno));
    if (!S_ISREG(facts.st_mode)) return replace_fail_(replacement, "expected a file");
    if (facts.st_size == 0) return true;
    char found[signature_bytes_k] = "";
    FILE *const file = fopen(replacement->path, "rb");
    if (!file) return replace_fail_(replacement, strerror(errno));
    size_t const length = fread(found, 1, sizeof(found), file);
    fclose(file);
    size_t const wanted = strlen(signature);
    if (length >= wanted && strncasecmp(found, signature, wanted) == 0) return true;
    return replace_fail_(replacement, "exists and isn't a file that this command wrote; remove it first");
}

/// Makes a file, and has it watched before a signal can end the process.
static int make_watched(char *temporary) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int const descriptor = mkstemp(temporary);
    int const error = errno;
    if (descriptor >= 0) replace_watch_(temporary);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return descriptor;
}

/// An unused name in the same folder, with the permissions a new file gets.
static bool open_temporary(replacement_t *replacement) {
    size_t const length = strlen(replacement->path);
    replacement->temporary = malloc(length + 8);
    if (!replacement->temporary) return replace_fail_(replacement, strerror(ENOMEM));
    memcpy(replacement->temporary, replacement->path, length);
    memcpy(replacement->temporary + length, ".XXXXXX", 8);
    int const descriptor = make_watched(replacement->temporary);
    if (descriptor < 0) {
        free(replacement->temporary);
        replacement->temporary = NULL;
        return replace_fail_(replacement, strerror(errno));
    }
    mode_t const mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
    replacement->stream = fdopen(descriptor, "wb");
    if (replacement->stream) return true;
    close(descriptor);
    return replace_fail_(replacement, strerror(errno));
}

bool replace_open_(replacement_t *replacement, char const *option, char const *path, char const *signature) {
    memset(replacement, 0, sizeof(*replacement));
    replacement->option = option;
    // Through a link, the file it points to is replaced; realpath knows only files that exist.
    replacement->path = realpath(path, NULL);
    if (!replacement->path) replacement->path = strdup(path);
    if (!replacement->path) return message_("--%s: %s: %s", option, path, strerror(ENOMEM)), false;
    if (may_replace(replacement, signature) && open_temporary(replacement)) return true;
    replace_abandon_(replacement);
    return false;
}

bool replace_write_(replacement_t *replacement, void const *bytes, size_t length) {
    if (replacement->failed) return false;
    if (!length) return true; // `bytes` may be NULL then
    return fwrite(bytes, 1, length, replacement->stream) == length || replace_fail_(replacement, strerror(errno));
}

bool replace_rewrite_(replacement_t *replacement, uint64_t offset, void const *bytes, size_t length) {
    if (replacement->failed) return false;
    return fseeko(replacement->stream, (off_t)offset, SEEK_SET) == 0 ? replace_write_(replacement, bytes, length)
                                                                     : replace_fail_(replacement, strerror(errno));
}

char *replace_folder_(replacement_t *replacement) {
    char *const folder = path_folder_(replacement->temporary);
    if (!folder) replace_fail_(replacement, strerror(errno));
    return folder;
}

bool replace_commit_(replacement_t *replacement) {
    // Some file systems tell only now that there was no room.
    if (!replacement->failed && fflush(replacement->stream) != 0) replace_fail_(replacement, strerror(errno));
    if (!replacement->failed && rename(replacement->temporary, replacement->path) != 0)
        replace_fail_(replacement, strerror(errno));
    bool const written = !replacement->failed;
    if (written) {
        replace_forget_(replacement->temporary);
        free(replacement->temporary);
        replacement->temporary = NULL;
    }
    replace_abandon_(replacement);
    return written;
}

void replace_abandon_(replacement_t *replacement) {
    if (replacement->stream) fclose(replacement->stream);
    if (replacement->temporary) {
        unlink(replacement->temporary);
        replace_forget_(replacement->temporary);
    }
    free(replacement->temporary);
    free(replacement->path);
    memset(replacement, 0, sizeof(*replacement));
}
