/**
 *  CPU quotas of cgroups, version 1 and 2, hybrid setups included.
 *
 *  /proc/self/cgroup says which group of each hierarchy the process is in, /proc/self/mountinfo where the hierarchies
 *  are mounted and which part of each is visible there. Every ancestor limits too, so the tightest quota on the way
 *  up to the mount point counts.
 */
#include "cpu/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { path_bytes_k = 4096 };

/// One line of /proc/self/cgroup: "hierarchy:controllers:path". Its fields point into the text, which is cut up in
/// place.
typedef struct membership_t {
    bool unified; ///< version 2
    char const *path;
} membership_t;

/// One line of /proc/self/mountinfo, as far as it matters here.
typedef struct mount_t {
    char *root;  ///< which directory of the hierarchy is mounted
    char *point; ///< where
    bool unified;
    bool has_cpu; ///< version 1 with the cpu controller
} mount_t;

/// Whether a comma-separated list has the word.
static bool lists(char const *list, char const *word) {
    size_t const length = strlen(word);
    for (char const *item = list;; item++) {
        size_t const item_length = strcspn(item, ",");
        if (item_length == length && !memcmp(item, word, length)) return true;
        item += item_length;
        if (!*item) return false;
    }
}

/// Ends the text at its next separator and moves past it; NULL once there is nothing left.
static char *cut(char **text, char const *separators) {
    char *const field = *text;
    if (!field) return NULL;
    char *const end = field + strcspn(field, separators);
    *text = *end ? end + 1 : NULL;
    *end = '\0';
    return field;
}

/// Undoes the octal escapes that mountinfo has for blanks, in place.
static void unescape(char *text) {
    char *out = text;
    for (char const *in = text; *in; out++) {
        bool const escaped = in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' &&
                             in[3] >= '0' && in[3] <= '7';
        *out = escaped ? (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0')) : *in;
        in += escaped ? 4 : 1;
    }
    *out = '\0';
}

/// Reads "id parent major:minor root point options [optional ...] - type source options".
static bool parse_mount(char *line, mount_t *mount) {
    for (size_t i = 0; i < 3; i++) (void)cut(&line, " ");
    mount->root = cut(&line, " ");
    mount->point = cut(&line, " ");
    char const *field = "";
    while (field && strcmp(field, "-") != 0) field = cut(&line, " ");
    char const *const type = cut(&line, " ");
    (void)cut(&line, " ");
    char const *const options = cut(&line, " ");
    if (!type || !options) return false;
    unescape(mount->root);
    unescape(mount->point);
    mount->unified = !strcmp(type, "cgroup2");
    mount->has_cpu = !strcmp(type, "cgroup") && lists(options, "cpu");
    return mount->unified || mount->has_cpu;
}

static bool parse_membership(char *line, membership_t *membership) {
    char const *const hierarchy = cut(&line, ":");
    char const *const controllers = cut(&line, ":");
    if (!controllers || !line) return false;
    membership->path = line;
    membership->unified = !strcmp(hierarchy, "0") && !*controllers;
    return membership->unified || lists(controllers, "cpu");
}

/// Reads a file of a group's directory; without one the text is NULL.
static uform_status_t read_text(char const *root, char const *directory, char const *name, char **text) {
    char path[path_bytes_k];
    *text = NULL;
    int const length = snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof(path)) return uform_status_ok_k;
    uform_status_t const status = uform_kernel_file_read_(root, path, text);
    return status == uform_status_out_of_memory_k ? status : uform_status_ok_k;
}

/// Lowers `cores` to the quota of one group; a group without a quota, or with one that makes no sense, changes nothing.
static uform_status_t apply_group(char const *root, char const *directory, bool unified, double *cores) {
    long long quota = 0, period = 0;
    char *text, *period_text = NULL;
    uform_status_t status = read_text(root, directory, unified ? "cpu.max" : "cpu.cfs_quota_us", &text);
    if (status != uform_status_ok_k) return status;
    if (text && unified && sscanf(text, "%lld %lld", &quota, &period) == 1) period = 100000;
    if (text && !unified && sscanf(text, "%lld", &quota) == 1) {
        status = read_text(root, directory, "cpu.cfs_period_us", &period_text);
        if (!period_text || sscanf(period_text, "%lld", &period) != 1) period = 0;
    }
    uform_free_(text);
    uform_free_(period_text);
    if (quota <= 0 || period <= 0) return status;
    double const granted = (double)quota / (double)period;
    if (!*cores || granted < *cores) *cores = granted;
    return status;
}

/// The part of a group's path below the mounted directory; NULL when it lies outside.
static char const *below(char const *path, char const *mounted) {
    size_t const length = strcmp(mounted, "/") ? strlen(mounted) : 0;
    bool const inside = !strncmp(path, mounted, length) && (path[length] == '/' || !path[length]);
    // A process outside of its namespace's root has a path that climbs.
    return inside && strncmp(path + length, "/..", 3) ? path + length : NULL;
}

/// Applies every group from `relative` below the mount point up to the mount point itself.
static uform_status_t apply_ancestors(char const *root, mount_t const *mount, char const *relative, double *cores) {
    char directory[path_bytes_k];
    int const written = snprintf(directory, sizeof(directory), "%s%s", mount->point, relative);
    if (written < 0 || (size_t)written >= sizeof(directory)) return uform_status_ok_k;
    size_t const shortest = strlen(mount->point);
    for (;;) {
        size_t length = strlen(directory);
        while (length > shortest && directory[length - 1] == '/') directory[--length] = '\0';
        uform_status_t const status = apply_group(root, directory, mount->unified, cores);
        if (status != uform_status_ok_k || length <= shortest) return status;
        while (length > shortest && directory[length - 1] != '/') directory[--length] = '\0';
    }
}

/// Applies one membership through every mount that shows its group; where none does, through the mount's own top, which
/// is what a container sees of the group it was put into.
static uform_status_t apply_membership(
    char const *root, membership_t const *membership, char const *mounts, double *cores) {
    uform_status_t status = uform_status_ok_k;
    bool found = false;
    for (int pass = 0; pass < 2 && !found && status == uform_status_ok_k; pass++) {
        size_t const bytes = strlen(mounts) + 1;
        char *const copy = uform_allocate_(bytes, 1);
        if (!copy) return uform_status_out_of_memory_k;
        memcpy(copy, mounts, bytes);
        char *rest = copy;
        for (char *line; status == uform_status_ok_k && (line = cut(&rest, "\n"));) {
            mount_t mount;
            if (!parse_mount(line, &mount) || mount.unified != membership->unified) continue;
            char const *const relative = pass ? "" : below(membership->path, mount.root);
            if (!relative) continue;
            found = true;
            status = apply_ancestors(root, &mount, relative, cores);
        }
        uform_free_(copy);
    }
    return status;
}

uform_status_t uform_cpu_quota_(char const *root, double *cores) {
    *cores = 0;
    char *groups, *mounts;
    uform_status_t status = uform_kernel_file_read_(root, "/proc/self/cgroup", &groups);
    if (status != uform_status_ok_k) return status == uform_status_out_of_memory_k ? status : uform_status_ok_k;
    status = uform_kernel_file_read_(root, "/proc/self/mountinfo", &mounts);
    char *rest = groups;
    for (char *line; status == uform_status_ok_k && (line = cut(&rest, "\n"));) {
        membership_t membership;
        if (parse_membership(line, &membership)) status = apply_membership(root, &membership, mounts, cores);
    }
    uform_free_(mounts);
    uform_free_(groups);
    return status == uform_status_out_of_memory_k ? status : uform_status_ok_k;
}
