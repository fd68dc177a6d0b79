/**
 *  What stands behind and beside the towers in their own files: the projection into the common space, as a Dense layer, and
 *  the logits' scale and bias.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "models/directory_parts.h"

/// A projection's matrix decides how many dimensions the vectors have.
static uform_status_t check_projection(uform_tower_t const *tower, uform_tensor_t *weight, uform_dense_t *dense) {
    size_t const columns = weight->dimension_count == 2 ? weight->dimensions[1] : 0;
    bool const usable = columns == tower->sizes.width && weight->dimensions[0] >= 1 &&
                        weight->dimensions[0] <= uform_largest_dimensions_k;
    if (!usable)
        return uform_fail_(uform_status_malformed_k, "%s: %s: shape: expected 1 to %d rows of %zu numbers",
            weight->file, weight->name, uform_largest_dimensions_k, tower->sizes.width);
    *dense = (uform_dense_t){.inputs = columns,
        .outputs = weight->dimensions[0],
        .activation = tower->sizes.projection_activation,
        .weight = *weight};
    return uform_tensor_check_(weight);
}

static uform_status_t read_projection(uform_directory_t *directory, uform_tower_t *tower) {
    uform_architecture_t const *architecture = tower->architecture;
    // modules.json names what stands behind a text tower by itself, which is not this.
    if (tower->dense) return uform_status_ok_k;
    if (architecture->projection_is_outer && !directory->family->scale && directory->is_bare) return uform_status_ok_k;
    char const *const *prefixes = architecture->projection_is_outer ? directory->family->outer_prefixes : NULL;
    uform_tensor_t weight, bias;
    if (!uform_directory_find_(directory, tower, prefixes, architecture->projection, 0, "weight", &weight)) {
        // Only a tower by itself can do without: two towers have to end in one space.
        if (architecture->projection_is_optional && !directory->family->scale) return uform_status_ok_k;
        return uform_fail_(uform_status_not_found_k, "%s: %s.weight: missing",
            uform_directory_weights_(directory, tower)->path, architecture->projection);
    }
    tower->dense = uform_allocate_(1, sizeof *tower->dense);
    if (!tower->dense) return uform_status_out_of_memory_k;
    tower->dense_count = 1;
    uform_status_t status = check_projection(tower, &weight, tower->dense);
    if (status != uform_status_ok_k || !architecture->projection_has_bias) return status;
    status =
        uform_directory_tensor_(directory, tower, architecture->projection, 0, "bias", tower->dense->outputs, 0, &bias);
    tower->dense->bias = bias;
    return status;
}

/// A finite number beside the towers, or its power of e; absent, it stays what it is.
static uform_status_t read_number(
    uform_directory_t const *directory, char const *name, bool power, double *number, bool *found) {
    uform_tensor_t tensor;
    *found =
        uform_directory_find_(directory, &directory->text, directory->family->outer_prefixes, name, 0, NULL, &tensor);
    if (!*found) return uform_status_ok_k;
    size_t count = 1;
    for (size_t i = 0; i < tensor.dimension_count && i < 4; ++i) count *= tensor.dimensions[i];
    if (count != 1 || tensor.dimension_count > 4)
        return uform_fail_(uform_status_malformed_k, "%s: %s: expected one number", tensor.file, name);
    tensor.dimension_count = 1;
    tensor.dimensions[0] = 1;
    float value;
    uform_status_t status = uform_tensor_check_(&tensor);
    if (status == uform_status_ok_k) status = uform_tensor_read_(&tensor, 0, 1, &value, 1);
    if (status != uform_status_ok_k) return status;
    *number = power ? exp((double)value) : (double)value;
    if (isfinite(*number)) return uform_status_ok_k;
    return uform_fail_(uform_status_malformed_k, "%s: %s: expected a number to multiply cosines by, found %g",
        tensor.file, name, (double)value);
}

uform_status_t uform_directory_read_projections_(uform_directory_t *directory) {
    uform_tower_t *const towers[] = {&directory->text, &directory->image};
    uform_status_t status = uform_status_ok_k;
    for (size_t i = 0; i < 2 && status == uform_status_ok_k; ++i)
        if (towers[i]->architecture && !towers[i]->missing && towers[i]->architecture->projection)
            status = read_projection(directory, towers[i]);
    if (status != uform_status_ok_k || !directory->family->scale) return status;
    bool has_scale;
    status = read_number(directory, directory->family->scale, true, &directory->logit_scale, &has_scale);
    if (status == uform_status_ok_k)
        status =
            read_number(directory, directory->family->bias, false, &directory->logit_bias, &directory->has_logit_bias);
    if (status != uform_status_ok_k) return status;
    if (directory->text.dense_count && directory->image.dense_count &&
        directory->text.dense->outputs != directory->image.dense->outputs)
        return uform_fail_(uform_status_malformed_k,
            "%s: the projections end in %zu and %zu dimensions: expected as many", directory->weights.path,
            directory->text.dense->outputs, directory->image.dense->outputs);
    return status;
}
