/**
 *  Borrowed pools whose functions come from a library: named by the environment, under each name that is looked for, and
 *  where something is missing.
 *
 *      test_forkunion STANDINS           the folder of the stand-ins
 *      test_forkunion found LIBRARY      in a child whose library path leads to the library
 */
#include "forkunion_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char const variable[] = "UFORM_FORKUNION_LIBRARY";
static char const *own_path, *standins;

static void look_up(void *library, char const *name, void *function) {
    void *const address = dlsym(library, name);
    if (!address) fail_msg("%s is missing", name);
    memcpy(function, &address, sizeof(address));
}

/// Pools are made with this library from now on.
static void open_maker(char const *path) {
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    look_up(library, "fu_pool_new", &maker.make);
    look_up(library, "fu_pool_spawn", &maker.spawn);
    look_up(library, "fu_pool_terminate", &maker.terminate);
    look_up(library, "fu_pool_delete", &maker.destroy);
    look_up(library, "standin_faults", &maker.faults);
}

static char const *in_standins(char const *name) {
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", standins, name);
    return path;
}

/// Without the functions, the detail says which one was looked for, and where.
static void test_missing(void **state) {
    (void)state;
    static struct {
        char const *library, *words[3];
    } const cases[] = {
        {NULL, {"fu_pool_count_threads", "libfork_union_dynamic.so", variable}},
        {"", {"fu_pool_count_threads", "libforkunion_dynamic.so", "-rdynamic"}},
        {"named/nothing.so", {variable, "nothing.so", "No such file"}},
        {"named/forkunion_cut.so", {variable, "forkunion_cut.so", "has no fu_pool_for_threads"}},
    };
    int not_a_pool = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uform_executor_t executor = (uform_executor_t)(uintptr_t)1;
        char const *const library = cases[i].library;
        if (library) setenv(variable, *library ? in_standins(library) : library, 1);
        else unsetenv(variable);
        assert_int_equal(borrow(&not_a_pool, &executor), uform_status_unsupported_k);
        assert_null(executor);
        for (size_t word = 0; word < 3; word++) assert_non_null(strstr(uform_last_detail(), cases[i].words[word]));
    }
    unsetenv(variable);
}

/// Under either of the names that releases install, and loaded with the program under any other.
static void test_names(void **state) {
    (void)state;
    static char const *const libraries[] = {
        "old/libfork_union_dynamic.so",
        "new/libforkunion_dynamic.so",
#if !SANITIZED // whose libraries want to be the first ones
        "named/forkunion.so"
#endif
    };
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        pid_t const child = fork();
        if (!child) {
            char folder[4096];
            snprintf(folder, sizeof(folder), "%s/%.3s", standins, libraries[i]);
            if (i < 2) setenv("LD_LIBRARY_PATH", folder, 1);
            else setenv("LD_PRELOAD", in_standins(libraries[i]), 1);
            execl(own_path, own_path, "found", in_standins(libraries[i]), (char *)NULL);
            _exit(127);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static int run_named(char const *library) {
    setenv(variable, in_standins(library), 1);
    open_maker(in_standins(library));
    return run_pool_tests(library);
}

int main(int count, char **arguments) {
    if (count == 3) {
        open_maker(arguments[2]);
        return run_pool_tests(arguments[2]);
    }
    own_path = arguments[0];
    standins = arguments[1];
    struct CMUnitTest const finding_tests[] = {
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_names),
    };
    int const failures = cmocka_run_group_tests_name("finding", finding_tests, NULL, NULL);
    return failures + run_named("named/forkunion.so") + run_named("named/forkunion_status.so");
}
