/**
 *  A stand-in for the HIP runtime: the few functions that listing devices takes, over a machine that the environment
 *  describes in STANDIN_HIP, items separated by semicolons:
 *
 *      count=8             how many devices it counts, any number
 *      counting=100        what hipGetDeviceCount answers
 *      broken=1            the ordinal of a device about which nothing can be asked
 *      device=NAME|gfx942:sramecc+|304|206141652992    the next device; the last one is repeated
 *
 *  STANDIN_OLD leaves out the function that ROCm 6 brought, STANDIN_CUT the functions that tell single facts,
 *  STANDIN_COUNT all but the number of devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { invalid_device_k = 101 };

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int hipGetDeviceCount(int *count);
EXPORTED int hipGetDevicePropertiesR0600(void *properties, int device);
EXPORTED int hipGetDeviceProperties(void *properties, int device);
EXPORTED int hipDeviceGetName(char *name, int name_bytes, int device);
EXPORTED int hipDeviceTotalMem(size_t *bytes, int device);
EXPORTED int hipDeviceGetAttribute(int *value, int attribute, int device);

/// Finds the `nth` item with this key and copies what follows the '='; false without one.
static int find(char const *key, int nth, char *value, size_t capacity) {
    char const *items = getenv("STANDIN_HIP");
    size_t const key_length = strlen(key);
    for (; items && *items; items += strcspn(items, ";"), items += *items == ';') {
        if (strncmp(items, key, key_length) || items[key_length] != '=' || nth--) continue;
        char const *const begin = items + key_length + 1;
        snprintf(value, capacity, "%.*s", (int)strcspn(begin, ";"), begin);
        return 1;
    }
    return 0;
}

static int number(char const *key, int otherwise) {
    char text[32];
    return find(key, 0, text, sizeof(text)) ? atoi(text) : otherwise;
}

int hipGetDeviceCount(int *count) {
    *count = number("count", 0);
    return number("counting", 0);
}

#ifndef STANDIN_COUNT

typedef struct machine_device_t {
    char name[256], architecture[256];
    int units;
    size_t bytes;
} machine_device_t;

static int read_device(int device, machine_device_t *facts) {
    char text[1024];
    if (device < 0 || device >= number("count", 0) || device == number("broken", -1)) return invalid_device_k;
    while (!find("device", device, text, sizeof(text)))
        if (--device < 0) return invalid_device_k;
    int const read =
        sscanf(text, "%255[^|]|%255[^|]|%d|%zu", facts->name, facts->architecture, &facts->units, &facts->bytes);
    return read == 4 ? 0 : invalid_device_k;
}

/// Fills what the structure holds of these facts; everything else is not zero, as in a real one.
static int fill(char *properties, size_t bytes, int device, size_t memory, size_t units, size_t architecture) {
    machine_device_t facts = {.name = ""};
    int const result = read_device(device, &facts);
    if (result) return result;
    memset(properties, 1, bytes);
    memcpy(properties, facts.name, sizeof(facts.name));
    memcpy(properties + memory, &facts.bytes, sizeof(facts.bytes));
    memcpy(properties + units, &facts.units, sizeof(facts.units));
    memcpy(properties + architecture, facts.architecture, sizeof(facts.architecture));
    return 0;
}

#ifndef STANDIN_OLD
int hipGetDevicePropertiesR0600(void *properties, int device) {
    return fill(properties, 1472, device, 288, 388, 1160);
}
#endif

int hipGetDeviceProperties(void *properties, int device) {
    return fill(properties, 792, device, 256, 336, 396);
}

#ifndef STANDIN_CUT
int hipDeviceGetName(char *name, int name_bytes, int device) {
    machine_device_t facts;
    int const result = read_device(device, &facts);
    if (!result) snprintf(name, (size_t)name_bytes, "%s", facts.name);
    return result;
}

int hipDeviceTotalMem(size_t *bytes, int device) {
    machine_device_t facts;
    int const result = read_device(device, &facts);
    if (!result) *bytes = facts.bytes;
    return result;
}

int hipDeviceGetAttribute(int *value, int attribute, int device) {
    machine_device_t facts;
    int const result = read_device(device, &facts);
    if (!result) *value = attribute == 63 ? facts.units : -1;
    return result;
}
#endif

#endif
