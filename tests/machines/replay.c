/**
 *  Replaying through hwloc's own loaders.
 */
#include "machines/replay.h"

#include "machines/machine_test.h"

#include <hwloc.h>
#include <stdio.h>
#include <string.h>

void *replay_load(char const *machine) {
    hwloc_topology_t hwloc;
    assert_int_equal(hwloc_topology_init(&hwloc), 0);
    if (strstr(machine, ".xml")) {
        static char text[1 << 16];
        char path[1024];
        snprintf(path, sizeof(path), "%s/machines/topologies/%s", UFORM_TESTS_DIRECTORY, machine);
        FILE *const file = fopen(path, "r");
        assert_non_null(file);
        size_t const length = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
        text[length] = '\0';
        assert_int_equal(hwloc_topology_set_xmlbuffer(hwloc, text, (int)length + 1), 0);
    } else assert_int_equal(hwloc_topology_set_synthetic(hwloc, machine), 0);
    assert_int_equal(hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED), 0);
    assert_int_equal(hwloc_topology_load(hwloc), 0);
    return hwloc;
}

void replay_unload(void *hwloc) {
    hwloc_topology_destroy(hwloc);
}

uform_topology_t *replay(char const *machine) {
    void *const hwloc = replay_load(machine);
    uform_topology_t *topology;
    assert_int_equal(uform_topology_copy_(hwloc, &topology), uform_status_ok_k);
    replay_unload(hwloc);
    return topology;
}
