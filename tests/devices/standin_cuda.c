/**
 *  A stand-in for the CUDA driver: the few functions that listing devices takes, over a machine that the environment
 *  describes in STANDIN_CUDA, items separated by semicolons:
 *
 *      init=100            what cuInit answers
 *      delay=300           milliseconds cuInit takes
 *      count=8             how many devices it counts, any number
 *      counting=3          what cuDeviceGetCount answers
 *      broken=1            the ordinal of a device about which nothing can be asked
 *      mute=1              the ordinal of a device that tells its compute capability only
 *      bare=1              names fill the buffer and have no NUL
 *      device=NAME|9.0|132|85899345920     the next device; the last one is repeated as often as the count asks
 *
 *  Like the real one it answers 3 to everything before cuInit and in a process forked after it, and 100 if
 *  CUDA_VISIBLE_DEVICES is empty. STANDIN_OLD leaves out what old drivers lack, STANDIN_EMPTY everything.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef STANDIN_EMPTY

enum { not_initialized_k = 3, no_device_k = 100, invalid_device_k = 101 };

#define EXPORTED __attribute__((visibility("default")))

/// Calls of cuInit, for tests to look at.
EXPORTED atomic_int standin_cuda_inits;

EXPORTED int cuInit(unsigned flags);
EXPORTED int cuDeviceGetCount(int *count);
EXPORTED int cuDeviceGet(int *device, int ordinal);
EXPORTED int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORTED int cuDeviceGetName(char *name, int name_bytes, int device);
EXPORTED int cuDeviceTotalMem_v2(size_t *bytes, int device);

static pid_t initialized;

/// Finds the `nth` item with this key and copies what follows the '='; false without one.
static int find(char const *key, int nth, char *value, size_t capacity) {
    char const *items = getenv("STANDIN_CUDA");
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

typedef struct machine_device_t {
    char name[512];
    int major, minor, units;
    size_t bytes;
} machine_device_t;

static int read_device(int device, machine_device_t *facts) {
    char text[1024];
    if (initialized != getpid()) return not_initialized_k;
    if (device < 0 || device >= number("count", 0) || device == number("broken", -1)) return invalid_device_k;
    while (!find("device", device, text, sizeof(text)))
        if (--device < 0) return invalid_device_k;
    size_t const length = strcspn(text, "|");
    snprintf(facts->name, sizeof(facts->name), "%.*s", (int)length, text);
    int const read = sscanf(text + length, "|%d.%d|%d|%zu", &facts->major, &facts->minor, &facts->units, &facts->bytes);
    return read == 4 ? 0 : invalid_device_k;
}

int cuInit(unsigned flags) {
    atomic_fetch_add(&standin_cuda_inits, 1);
    int const delay = number("delay", 0);
    nanosleep(&(struct timespec){delay / 1000, delay % 1000 * 1000000L}, NULL);
    char const *const visible = getenv("CUDA_VISIBLE_DEVICES");
    if (flags || (visible && !*visible)) return no_device_k;
    int const result = number("init", 0);
    if (!result) initialized = getpid();
    return result;
}

int cuDeviceGetCount(int *count) {
    if (initialized != getpid()) return not_initialized_k;
    *count = number("count", 0);
    return number("counting", 0);
}

/// Handles differ from ordinals, so that nobody takes one for the other.
int cuDeviceGet(int *device, int ordinal) {
    machine_device_t facts;
    int const result = read_device(ordinal, &facts);
    if (!result) *device = ordinal + 1000;
    return result;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    machine_device_t facts;
    int const result = read_device(device - 1000, &facts);
    if (result) return result;
    if (attribute == 16 && device - 1000 == number("mute", -1)) return invalid_device_k;
    *value = attribute == 75 ? facts.major : attribute == 76 ? facts.minor : attribute == 16 ? facts.units : -1;
    return 0;
}

int cuDeviceGetName(char *name, int name_bytes, int device) {
    machine_device_t facts;
    int const result = read_device(device - 1000, &facts);
    if (result) return result;
    if (device - 1000 == number("mute", -1)) return invalid_device_k;
    memset(name, number("bare", 0) ? 'x' : 0, (size_t)name_bytes);
    size_t const length = strnlen(facts.name, (size_t)name_bytes - 1);
    memcpy(name, facts.name, length);
    return 0;
}

#ifndef STANDIN_OLD
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    machine_device_t facts;
    int const result = read_device(device - 1000, &facts);
    if (result) return result;
    if (device - 1000 == number("mute", -1)) return invalid_device_k;
    *bytes = facts.bytes;
    return 0;
}
#endif

#endif
