/**
 *  Borrowed pools whose functions are part of the program itself.
 */
#include "forkunion_test.h"
#include "standin.h"

int main(void) {
    maker = (maker_t){fu_pool_new, fu_pool_spawn, fu_pool_terminate, fu_pool_delete, standin_faults};
    return run_pool_tests("linked");
}
