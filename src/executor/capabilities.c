/**
 *  What this build and this machine offer, as the public header describes it. No state.
 */
#include "uform/capabilities.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/detail.h"
#include "cpu/cpu.h"
#include "executor/executor.h"
#include "executor/placement.h"
#include "kernels/kernels.h"

char const *uform_version(void) {
    return UFORM_VERSION;
}

uform_status_t uform_machine_describe(uform_machine_description_t *description) {
    if (!description)
        return uform_fail_(uform_status_invalid_argument_k, "description: expected a pointer, found NULL");
    uform_machine_description_t machine = {0};
    memset(description, 0, sizeof(*description));
    uform_status_t status = uform_cpu_class_derive_(&machine.cpu_class);
    if (status != uform_status_ok_k) return status;
    uform_placement_t placement;
    uform_capacity_t capacity;
    status = uform_placement_find_("", NULL, 0, &placement, &capacity);
    uform_placement_free_(&placement);
    if (status == uform_status_ok_k) status = uform_cpu_quota_("", &machine.cores_quota);
    if (status != uform_status_ok_k) return status;
    machine.cores_online = capacity.online;
    machine.cores_allowed = capacity.allowed;
    machine.threads_default = uform_cpu_default_threads_(capacity.online, capacity.allowed, machine.cores_quota);
    uform_cpu_name_(machine.processor, sizeof(machine.processor));
    *description = machine;
    return uform_status_ok_k;
}

/// A measurement of the multiply-add limit, taken by one worker.
typedef struct limit_run_t {
    double (*limit)(size_t rounds);
    double seconds;
    double mean_flops, best_flops;
} limit_run_t;

/// Long enough for the clock, short enough that some windows are undisturbed.
static double const window_seconds = 0.005;

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void measure_limit(void *context, uform_worker_t const *worker) {
    if (worker->index) return;
    limit_run_t *const run = context;
    double const window = run->seconds / 4 < window_seconds ? run->seconds / 4 : window_seconds;
    size_t rounds = 1;
    double operations = 0, begin = now_seconds(), window_begin = begin, end = begin;
    do {
        double const done = run->limit(rounds);
        end = now_seconds();
        double const elapsed = end - window_begin;
        operations += done;
        // Windows too short to be timed only make the next one longer.
        if (elapsed < window / 2) rounds *= 2;
        else if (done / elapsed > run->best_flops) run->best_flops = done / elapsed;
        window_begin = end;
    } while (end - begin < run->seconds);
    run->mean_flops = operations / (end - begin);
    // With few windows, all of them disturbed, the whole run can have been the better one.
    if (run->best_flops < run->mean_flops) run->best_flops = run->mean_flops;
}

/// The multiplication that a precision uses; zero derives, as models do.
static uform_status_t find_limit(uform_cpu_class_t cpu_class, uform_scalar_t precision, limit_run_t *run) {
    uform_kernels_t const *const kernels = uform_kernels_(cpu_class);
    if (precision == uform_scalar_derived_k)
        precision = uform_kernels_prefer_bf16_(cpu_class) ? uform_scalar_bf16_k : uform_scalar_f32_k;
    uform_gemm_t const *gemm = NULL;
    if (kernels && precision == uform_scalar_f32_k) gemm = kernels->gemm_f32;
    if (kernels && precision == uform_scalar_bf16_k) gemm = kernels->gemm_bf16;
    if (kernels && precision == uform_scalar_i8_k) gemm = kernels->gemm_i8;
    if (!gemm)
        return uform_fail_(uform_status_unsupported_k, "precision: %s has no kernels that multiply %s",
            uform_cpu_class_name(cpu_class), uform_scalar_name(precision));
    run->limit = gemm->limit;
    return uform_status_ok_k;
}

uform_status_t uform_limit_measure(
    uform_executor_t executor, uform_scalar_t precision, double seconds, double *mean_flops, double *best_flops) {
    if (!mean_flops) return uform_fail_(uform_status_invalid_argument_k, "mean_flops: expected a pointer, found NULL");
    *mean_flops = 0;
    if (best_flops) *best_flops = 0;
    if (!(seconds > 0) || !isfinite(seconds))
        return uform_fail_(uform_status_invalid_argument_k, "seconds: expected a positive number, found %g", seconds);
    uform_cpu_class_t cpu_class;
    uform_status_t status = uform_executor_class_(executor, &cpu_class);
    if (status != uform_status_ok_k) return status;
    limit_run_t run = {.seconds = seconds};
    status = find_limit(cpu_class, precision, &run);
    if (status == uform_status_ok_k) status = uform_executor_run_(executor, measure_limit, &run);
    if (status != uform_status_ok_k) return status;
    *mean_flops = run.mean_flops;
    if (best_flops) *best_flops = run.best_flops;
    return uform_status_ok_k;
}
