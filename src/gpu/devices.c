/**
 *  The list of devices, asked of the drivers once in a process and constant afterwards, so that positions keep their
 *  meaning.
 *
 *  One thread looks, others wait. A child forked meanwhile can't finish what another thread of its parent began, and
 *  must not enter a driver that is half initialised: a fork handler settles it there with an empty list.
 */
#include "gpu/devices.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/detail.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "gpu/backend.h"

/// In the order of the list.
static uform_gpu_backend_t const *const backends[] = {&uform_gpu_nvidia_backend_, &uform_gpu_amd_backend_};

enum {
    backend_count_k = sizeof(backends) / sizeof(backends[0]),
    devices_limit_k = backend_count_k * uform_gpu_devices_limit_k,
};

struct uform_gpu_list_t {
    uform_gpu_device_t *devices; ///< [count], room for [capacity]
    size_t count, capacity;
    size_t begins[backend_count_k + 1];          ///< first device of each backend
    uform_gpu_reason_t reasons[backend_count_k]; ///< why a backend found none
};

typedef enum stage_t { stage_untouched_k, stage_looking_k, stage_settled_k } stage_t;
static atomic_int stage;
static uform_gpu_list_t const *found; ///< valid once settled
static atomic_bool fork_watched;

static void settle_forked_child(void) {
    static uform_gpu_list_t empty;
    if (atomic_load(&stage) != stage_looking_k) return;
    for (size_t i = 0; i < backend_count_k; i++)
        strcpy(empty.reasons[i].text, "the process was forked while its parent asked the drivers");
    found = &empty;
    atomic_store(&stage, stage_settled_k);
}

/// Valid UTF-8 without control characters, cut before a character that wouldn't fit whole. `raw` may lack a NUL.
static void copy_name(char const *raw, size_t raw_bytes, char *name, size_t capacity) {
    static char const replacement[] = "\xEF\xBF\xBD";
    size_t const length = strnlen(raw, raw_bytes);
    size_t used = 0;
    for (size_t done = 0; done < length;) {
        size_t const bytes = uform_utf8_valid_length_(raw + done, length - done);
        bool const plain = bytes > 1 || (bytes == 1 && (unsigned char)raw[done] >= 0x20 && raw[done] != 0x7F);
        size_t const taken = plain ? bytes : sizeof(replacement) - 1;
        if (used + taken >= capacity) break;
        memcpy(name + used, plain ? raw + done : replacement, taken);
        used += taken, done += bytes ? bytes : 1;
    }
    name[used] = '\0';
}

static uform_status_t reserve(uform_gpu_list_t *list) {
    if (list->count < list->capacity) return uform_status_ok_k;
    size_t const capacity = list->capacity ? 2 * list->capacity : 8;
    void *const grown = list->devices ? uform_reallocate_(list->devices, capacity, sizeof(*list->devices))
                                      : uform_allocate_(capacity, sizeof(*list->devices));
    if (!grown) return uform_status_out_of_memory_k;
    list->devices = grown;
    list->capacity = capacity;
    return uform_status_ok_k;
}

uform_status_t uform_gpu_list_append_(uform_gpu_list_t *list, uform_gpu_facts_t const *facts) {
    uform_status_t const status = reserve(list);
    if (status != uform_status_ok_k) return status;
    uform_gpu_device_t *const device = &list->devices[list->count++];
    *device = (uform_gpu_device_t){
        .vendor = facts->vendor,
        .vendor_ordinal = (uint32_t)facts->ordinal,
        .gpu_class = uform_gpu_class_of_(facts->vendor, facts->architecture),
        .compute_units = facts->compute_units > 0 ? (uint32_t)facts->compute_units : 0,
        .memory_bytes = facts->memory_bytes,
    };
    copy_name(facts->name, sizeof(facts->name), device->name, sizeof(device->name));
    return uform_status_ok_k;
}

static void release(uform_gpu_list_t *list) {
    if (!list) return;
    uform_free_(list->devices);
    uform_free_(list);
}

/// Asks every driver.
static uform_status_t look(uform_gpu_list_t const **list) {
    uform_gpu_list_t *const made = uform_allocate_(1, sizeof(*made));
    uform_status_t status = made ? uform_status_ok_k : uform_status_out_of_memory_k;
    for (size_t i = 0; i < backend_count_k && status == uform_status_ok_k; i++) {
        status = backends[i]->list(made, &made->reasons[i]);
        made->begins[i + 1] = made->count;
        if (made->begins[i + 1] > made->begins[i]) made->reasons[i].text[0] = '\0';
    }
    if (status == uform_status_ok_k) *list = made;
    else release(made);
    return status;
}

/// The list, made by whoever comes first. Without memory nobody gets it, and the next one tries again.
static uform_status_t settled(uform_gpu_list_t const **list) {
    if (!atomic_load(&fork_watched)) {
        if (pthread_atfork(NULL, NULL, settle_forked_child))
            return uform_fail_(uform_status_out_of_memory_k, "devices: the fork handler could not be registered");
        // Two threads may come here at once; a handler that runs twice does no harm.
        atomic_store(&fork_watched, true);
    }
    uform_status_t status = uform_status_ok_k;
    for (;;) {
        int expected = stage_untouched_k;
        if (atomic_compare_exchange_strong(&stage, &expected, stage_looking_k)) {
            status = look(&found);
            atomic_store(&stage, status == uform_status_ok_k ? stage_settled_k : stage_untouched_k);
            break;
        }
        if (expected == stage_settled_k) break;
        // Starting a driver takes up to seconds, once: asking every millisecond needs no lock that a fork could break.
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    *list = status == uform_status_ok_k ? found : NULL;
    return status;
}

uform_status_t uform_gpu_devices(uform_gpu_device_t *devices, size_t capacity, size_t *count) {
    if (!count) return uform_fail_(uform_status_invalid_argument_k, "count: expected a pointer, found NULL");
    *count = 0;
    if (capacity && !devices)
        return uform_fail_(
            uform_status_invalid_argument_k, "devices: expected room for %zu of them, found NULL", capacity);
    uform_gpu_list_t const *list;
    uform_status_t const status = settled(&list);
    if (status != uform_status_ok_k) return status;
    size_t const copied = list->count < capacity ? list->count : capacity;
    if (copied) memcpy(devices, list->devices, copied * sizeof(*devices));
    *count = list->count;
    return uform_status_ok_k;
}

uform_status_t uform_gpu_vendor_describe(uform_gpu_vendor_t vendor, uform_gpu_vendor_description_t *description) {
    if (!description)
        return uform_fail_(uform_status_invalid_argument_k, "description: expected a pointer, found NULL");
    memset(description, 0, sizeof(*description));
    if (vendor < uform_gpu_vendor_nvidia_k || vendor > uform_gpu_vendor_apple_k)
        return uform_fail_(uform_status_invalid_argument_k, "vendor: expected %d to %d, found %d",
            (int)uform_gpu_vendor_nvidia_k, (int)uform_gpu_vendor_apple_k, (int)vendor);
    uform_gpu_list_t const *list;
    uform_status_t const status = settled(&list);
    if (status != uform_status_ok_k) return status;
    description->vendor = vendor;
    strcpy(description->reason, "this build can't drive its devices");
    for (size_t i = 0; i < backend_count_k; i++) {
        if (backends[i]->vendor != vendor) continue;
        description->device_count = list->begins[i + 1] - list->begins[i];
        memcpy(description->reason, list->reasons[i].text, sizeof(description->reason));
    }
    return uform_status_ok_k;
}

/// `devices[i]` is none that is listed: says why as far as it is known.
static uform_status_t no_such_device(uform_gpu_list_t const *list, int32_t const *devices, size_t i) {
    if (list->count)
        return uform_fail_(uform_status_unsupported_k,
            "devices[%zu]: expected a position below %zu, the number of GPUs listed, found %d", i, list->count,
            (int)devices[i]);
    char reasons[backend_count_k * (sizeof(uform_gpu_reason_t) + 16)] = "";
    for (size_t k = 0; k < backend_count_k; k++) {
        size_t const used = strlen(reasons);
        snprintf(reasons + used, sizeof(reasons) - used, "%s: %s; ", uform_gpu_vendor_name(backends[k]->vendor),
            list->reasons[k].text);
    }
    return uform_fail_(uform_status_unsupported_k,
        "devices[%zu]: this process finds no GPU, %sand this build has no kernels for any", i, reasons);
}

uform_status_t uform_gpu_devices_check_(int32_t const *devices, size_t device_count) {
    if (!device_count || device_count > devices_limit_k)
        return uform_fail_(uform_status_invalid_argument_k, "devices: expected 1 to %d positions, found %zu",
            (int)devices_limit_k, device_count);
    if (!devices)
        return uform_fail_(
            uform_status_invalid_argument_k, "devices: expected %zu positions, found NULL", device_count);
    for (size_t i = 0; i < device_count; i++) {
        if (devices[i] < 0)
            return uform_fail_(
                uform_status_invalid_argument_k, "devices[%zu]: expected a position, found %d", i, (int)devices[i]);
        for (size_t j = 0; j < i; j++)
            if (devices[i] == devices[j])
                return uform_fail_(uform_status_invalid_argument_k,
                    "devices[%zu]: expected each position once, found %d again", i, (int)devices[i]);
    }
    uform_gpu_list_t const *list;
    uform_status_t const status = settled(&list);
    if (status != uform_status_ok_k) return status;
    for (size_t i = 0; i < device_count; i++)
        if ((size_t)devices[i] >= list->count) return no_such_device(list, devices, i);
    return uform_status_ok_k;
}

uform_status_t uform_gpu_kernels_require_(int32_t const *devices, uform_gpu_class_t gpu_class, char const *instead) {
    uform_gpu_list_t const *list;
    uform_status_t const status = settled(&list);
    if (status != uform_status_ok_k) return status;
    uform_gpu_device_t const *const first = &list->devices[devices[0]];
    uform_gpu_class_t const wanted = gpu_class ? gpu_class : first->gpu_class;
    if (!wanted)
        return uform_fail_(uform_status_unsupported_k,
            "devices[0]: no class has kernels for %s, and this build has none for any GPU: %s", first->name, instead);
    return uform_fail_(uform_status_unsupported_k, "%s: this build has no kernels for %s, nor for any other GPU: %s",
        gpu_class ? "gpu_class" : "devices[0]", uform_gpu_class_name(wanted), instead);
}
