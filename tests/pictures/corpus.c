#include "pictures/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER UFORM_TESTS_DIRECTORY "/pictures/"

static void require(int truth, char const *name) {
    if (truth) return;
    fprintf(stderr, "%s: can't be read\n", name);
    exit(1);
}

static uint8_t *read_file(char const *name, size_t *length) {
    char path[sizeof(FOLDER) + 80];
    (void)snprintf(path, sizeof(path), FOLDER "corpus/%s", name);
    FILE *file = fopen(path, "rb");
    require(file && !fseek(file, 0, SEEK_END), path);
    *length = (size_t)ftell(file);
    rewind(file);
    uint8_t *const bytes = malloc(*length ? *length : 1);
    require(bytes && fread(bytes, 1, *length, file) == *length, path);
    (void)fclose(file);
    return bytes;
}

picture_t *corpus_read(size_t *count) {
    FILE *table = fopen(FOLDER "corpus.txt", "r");
    require(table != NULL, FOLDER "corpus.txt");
    picture_t *pictures = NULL;
    char line[256];
    for (*count = 0; fgets(line, sizeof(line), table); ++*count) {
        pictures = realloc(pictures, (*count + 1) * sizeof(*pictures));
        require(pictures != NULL, "memory");
        picture_t *const picture = pictures + *count;
        unsigned digest = 0;
        int const words =
            sscanf(line, "%63s %15s %31s %x", picture->name, picture->option, picture->expectation, &digest);
        require(words >= 3, line);
        picture->digest = digest;
        picture->bytes = read_file(picture->name, &picture->length);
    }
    (void)fclose(table);
    require(*count > 0, FOLDER "corpus.txt");
    return pictures;
}

void corpus_free(picture_t *pictures, size_t count) {
    for (size_t i = 0; i < count; ++i) free(pictures[i].bytes);
    free(pictures);
}
