/**
 *  A child's environment is the test's own but for the loader's path and the variables of drivers.
 */
#include "child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

char const *standins_folder;

static void set_machine(machine_t const *machine) {
    char path[8192] = "";
    char const *const folders[] = {machine->cuda_folder, machine->hip_folder};
    for (size_t i = 0; i < 2; i++) {
        if (!folders[i] || !*folders[i]) continue;
        size_t const length = strlen(path);
        // A folder with a slash is the caller's own.
        if (strchr(folders[i], '/')) snprintf(path + length, sizeof(path) - length, "%s:", folders[i]);
        else snprintf(path + length, sizeof(path) - length, "%s/%s:", standins_folder, folders[i]);
    }
    if (*path) path[strlen(path) - 1] = '\0';
    setenv("LD_LIBRARY_PATH", path, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("STANDIN_CUDA", machine->cuda ? machine->cuda : "", 1);
    setenv("STANDIN_HIP", machine->hip ? machine->hip : "", 1);
}

char const *run_on_machine(machine_t const *machine, char const *const *words) {
    static char output[1 << 20];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t const child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]), close(ends[1]);
        set_machine(machine);
        alarm(60);
        execv(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got; (got = read(ends[0], output + used, sizeof(output) - 1 - used)) > 0;) used += (size_t)got;
    output[used] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fail_msg("%s %s: status %#x, output:\n%s", words[0], words[1], (unsigned)status, output);
    return output;
}

char const *run_self_on_machine(machine_t const *machine, char const *mode) {
    return run_on_machine(machine, (char const *const[]){"/proc/self/exe", "--child", mode, NULL});
}
