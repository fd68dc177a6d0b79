/**
 *  Topologies of other machines.
 */
#ifndef UFORM_TESTS_REPLAY_H
#define UFORM_TESTS_REPLAY_H

#include "cpu/topology.h"

/// hwloc's topology of a synthetic description, or of a file under tests/machines/topologies if it ends in ".xml". The
/// caller destroys it.
void *replay_load(char const *machine);
void replay_unload(void *hwloc);

/// The copy alone. The caller frees it.
uform_topology_t *replay(char const *machine);

#endif
