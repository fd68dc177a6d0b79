/**
 *  Runs a program in a process of its own that finds stand-ins instead of drivers, and reads what it prints. Drivers are
 *  opened once in a process, so every machine takes one.
 */
#ifndef UFORM_TESTS_DEVICES_CHILD_H
#define UFORM_TESTS_DEVICES_CHILD_H

#include <stddef.h>

/// Which drivers the process finds and what they stand for. NULL and "" are none.
typedef struct machine_t {
    char const *cuda_folder, *cuda; ///< a folder of stand-ins, and the environment's STANDIN_CUDA
    char const *hip_folder, *hip;   ///< likewise for STANDIN_HIP
} machine_t;

/// Where the folders are.
extern char const *standins_folder;

/// Runs `words`, [NULL-terminated], the first of which is the program's path, and returns what it printed on standard
/// output, in static storage. Dies as a test does unless the program exits with zero within a minute.
char const *run_on_machine(machine_t const *machine, char const *const *words);

/// Likewise this very program with "--child" and a mode.
char const *run_self_on_machine(machine_t const *machine, char const *mode);

#endif
