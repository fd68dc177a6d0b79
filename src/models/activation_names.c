/**
 *  What configuration files call activations, and which of ours computes exactly that.
 */
#include <string.h>

#include "base/detail.h"
#include "models/directory_parts.h"

typedef struct activation_name_t {
    char const *name;
    uform_activation_t activation;
} activation_name_t;

/// transformers' names. `prelu` and `xielu` are missing because they have learned parameters.
static activation_name_t const hidden_acts[] = {
    {"gelu", uform_activation_gelu_k},
    {"gelu_python", uform_activation_gelu_k},
    {"gelu_10", uform_activation_gelu_clipped_k},
    {"gelu_new", uform_activation_gelu_tanh_k},
    {"gelu_fast", uform_activation_gelu_tanh_k},
    {"gelu_accurate", uform_activation_gelu_tanh_k},
    {"gelu_pytorch_tanh", uform_activation_gelu_tanh_k},
    {"gelu_python_tanh", uform_activation_gelu_tanh_k},
    {"quick_gelu", uform_activation_quick_gelu_k},
    {"hardswish", uform_activation_hardswish_k},
    {"laplace", uform_activation_laplace_k},
    {"leaky_relu", uform_activation_leaky_relu_k},
    {"linear", uform_activation_identity_k},
    {"mish", uform_activation_mish_k},
    {"relu", uform_activation_relu_k},
    {"relu2", uform_activation_relu_squared_k},
    {"relu6", uform_activation_relu6_k},
    {"sigmoid", uform_activation_sigmoid_k},
    {"silu", uform_activation_silu_k},
    {"swish", uform_activation_silu_k},
    {"sqrtsoftplus", uform_activation_sqrt_softplus_k},
    {"tanh", uform_activation_tanh_k},
};

/// Classes of torch.nn that are built without arguments and have no parameters.
static activation_name_t const torch_classes[] = {
    {"Identity", uform_activation_identity_k},
    {"Tanh", uform_activation_tanh_k},
    {"GELU", uform_activation_gelu_k},
    {"ReLU", uform_activation_relu_k},
    {"ReLU6", uform_activation_relu6_k},
    {"SiLU", uform_activation_silu_k},
    {"Mish", uform_activation_mish_k},
    {"Sigmoid", uform_activation_sigmoid_k},
    {"ELU", uform_activation_elu_k},
    {"CELU", uform_activation_elu_k}, // the same function while alpha is one
    {"SELU", uform_activation_selu_k},
    {"LeakyReLU", uform_activation_leaky_relu_k},
    {"Softplus", uform_activation_softplus_k},
    {"Hardswish", uform_activation_hardswish_k},
};

static bool find(activation_name_t const *names, size_t count, char const *name, uform_activation_t *activation) {
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(names[i].name, name) != 0) continue;
        *activation = names[i].activation;
        return true;
    }
    return false;
}

static uform_status_t refuse(char const *where, char const *key, char const *name) {
    return uform_fail_(uform_status_unsupported_k, "%s: %s: the activation \"%s\" is not supported", where, key, name);
}

uform_status_t uform_hidden_act_parse_(
    uform_json_t const *object, char const *where, char const *key, uform_activation_t *activation) {
    char const *name = NULL;
    uform_status_t const status = uform_json_string_(object, where, key, uform_json_optional_k, &name, NULL);
    if (status != uform_status_ok_k || !name) return status;
    size_t const count = sizeof(hidden_acts) / sizeof(hidden_acts[0]);
    return find(hidden_acts, count, name, activation) ? uform_status_ok_k : refuse(where, key, name);
}

uform_status_t uform_gated_act_parse_(
    uform_json_t const *object, char const *where, char const *key, bool *gated, uform_activation_t *activation) {
    static char const prefix[] = "gated-";
    char const *name = "relu";
    uform_status_t const status = uform_json_string_(object, where, key, uform_json_optional_k, &name, NULL);
    if (status != uform_status_ok_k) return status;
    *gated = !strncmp(name, prefix, sizeof(prefix) - 1);
    // This one stands for another GELU in the reference.
    char const *const function = !strcmp(name, "gated-gelu") ? "gelu_new" : *gated ? name + sizeof(prefix) - 1 : name;
    size_t const count = sizeof(hidden_acts) / sizeof(hidden_acts[0]);
    return find(hidden_acts, count, function, activation) ? uform_status_ok_k : refuse(where, key, name);
}

uform_status_t uform_torch_activation_parse_(
    uform_json_t const *object, char const *where, char const *key, uform_activation_t *activation) {
    static char const package[] = "torch.nn.";
    char const *path = "torch.nn.modules.activation.Tanh";
    uform_status_t const status = uform_json_string_(object, where, key, uform_json_optional_k, &path, NULL);
    if (status != uform_status_ok_k) return status;
    char const *name = strrchr(path, '.');
    size_t const count = sizeof(torch_classes) / sizeof(torch_classes[0]);
    if (strncmp(path, package, sizeof(package) - 1) != 0 || !find(torch_classes, count, name + 1, activation))
        return refuse(where, key, path);
    return uform_status_ok_k;
}
