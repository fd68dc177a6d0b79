/**
 *  uform info: what this build and this machine offer, and what a model is. One JSON object is made of it, and the
 *  text for people is written from that object, so the two can't tell different stories.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "options.h"
#include "plain.h"
#include "progress.h"

/// What stands for a pooling that has no name in the library, since no option asks for it.
#define POOLING_BY_ATTENTION "attention"

enum { cpu_class_first_k = 1, cpu_class_last_k = 18 };

static json_t *describe_classes(void) {
    json_t *const classes = json_array();
    for (int value = cpu_class_first_k; value <= cpu_class_last_k; ++value) {
        uform_cpu_class_description_t facts;
        if (uform_cpu_class_describe((uform_cpu_class_t)value, &facts) != uform_status_ok_k) continue;
        json_array_append_new(
            classes, json_pack("{s:s, s:b, s:b, s:b, s:s}", "class", uform_cpu_class_name(facts.cpu_class), "compiled",
                         facts.compiled, "available", facts.available, "chosen", facts.chosen, "reason", facts.reason));
    }
    return classes;
}

/// NULL, with a message, if they can't be listed.
static json_t *describe_domains(void) {
    size_t count = 0, room = 0;
    uform_memory_domain_t *domains = NULL;
    uform_status_t status = uform_memory_domains(NULL, 0, &room);
    if (status == uform_status_ok_k && room && !(domains = malloc(room * sizeof(*domains))))
        status = uform_status_out_of_memory_k;
    if (status == uform_status_ok_k) status = uform_memory_domains(domains, room, &count);
    if (status != uform_status_ok_k) return message_status_(status), free(domains), NULL;
    json_t *const listed = json_array();
    for (size_t index = 0; index != count; ++index) {
        uform_memory_domain_t const *const facts = &domains[index];
        json_array_append_new(
            listed, json_pack("{s:I, s:I, s:I, s:I, s:b, s:b}", "memory_domain", (json_int_t)facts->memory_domain,
                        "cores", (json_int_t)facts->cores, "cores_allowed", (json_int_t)facts->cores_allowed,
                        "memory_bytes", (json_int_t)facts->memory_bytes, "memory_only", facts->memory_only,
                        "memory_allowed", facts->memory_allowed));
    }
    free(domains);
    return listed;
}

static json_t *describe_machine(uform_machine_description_t const *facts, json_t *domains) {
    json_t *const machine = json_pack("{s:s, s:I, s:I, s:o, s:I, s:s}", "processor", facts->processor, "cores_online",
        (json_int_t)facts->cores_online, "cores_allowed", (json_int_t)facts->cores_allowed, "cores_quota",
        facts->cores_quota > 0 ? json_real(facts->cores_quota) : json_null(), "threads_default",
        (json_int_t)facts->threads_default, "cpu_class", uform_cpu_class_name(facts->cpu_class));
    json_object_set_new(machine, "memory_domains", domains);
    return machine;
}

/// Two arrays: the devices, and each vendor's reason for having none. NULL, with a message, if they can't be listed.
static json_t *describe_devices(json_t **vendors) {
    size_t count = 0, room = 0;
    uform_gpu_device_t *devices = NULL;
    uform_status_t status = uform_gpu_devices(NULL, 0, &room);
    if (status == uform_status_ok_k && room && !(devices = malloc(room * sizeof(*devices))))
        status = uform_status_out_of_memory_k;
    if (status == uform_status_ok_k) status = uform_gpu_devices(devices, room, &count);
    if (status != uform_status_ok_k) return message_status_(status), free(devices), NULL;
    json_t *const listed = json_array();
    for (size_t index = 0; index != count; ++index) {
        uform_gpu_device_t const *const facts = &devices[index];
        json_array_append_new(
            listed, json_pack("{s:I, s:s, s:I, s:o, s:I, s:I, s:s}", "position", (json_int_t)index, "vendor",
                        uform_gpu_vendor_name(facts->vendor), "vendor_ordinal", (json_int_t)facts->vendor_ordinal,
                        "class", facts->gpu_class ? json_string(uform_gpu_class_name(facts->gpu_class)) : json_null(),
                        "compute_units", (json_int_t)facts->compute_units, "memory_bytes",
                        (json_int_t)facts->memory_bytes, "name", facts->name));
    }
    free(devices);
    *vendors = json_array();
    for (int value = uform_gpu_vendor_nvidia_k; value <= uform_gpu_vendor_apple_k; ++value) {
        uform_gpu_vendor_description_t facts;
        if (uform_gpu_vendor_describe((uform_gpu_vendor_t)value, &facts) != uform_status_ok_k) continue;
        json_array_append_new(*vendors, json_pack("{s:s, s:I, s:s}", "vendor", uform_gpu_vendor_name(facts.vendor),
                                            "devices", (json_int_t)facts.device_count, "reason", facts.reason));
    }
    return listed;
}

static json_t *describe_prompts(uform_model_t model, size_t count) {
    json_t *const prompts = json_object();
    for (size_t index = 0; index != count; ++index) {
        char const *name = NULL, *text = NULL;
        if (uform_model_prompt(model, index, &name, &text) == uform_status_ok_k)
            json_object_set_new(prompts, name, json_string(text));
    }
    return prompts;
}

/// Pooling modes as the option --pooling takes them.
static void join_poolings(uint32_t pooling, char *words, size_t capacity) {
    words[0] = '\0';
    for (uint32_t left = pooling; left; left &= left - 1) {
        size_t const length = strlen(words);
        snprintf(words + length, capacity - length, "%s%s", length ? "+" : "", uform_pooling_name(left & (~left + 1)));
    }
}

/// How one vector is made of the tokens. A tower that pools by attention takes no other pooling, not even the one that
/// its description names for want of a better, and is known by that.
static json_t *describe_pooling(uform_model_t model, uform_model_description_t const *facts) {
    char pooling[128];
    size_t dimensions = 0;
    uform_encode_options_t const options = {.size = sizeof(options), .pooling = facts->pooling};
    if (uform_encode_dimensions(model, &options, &dimensions) == uform_status_unsupported_k)
        return json_string(POOLING_BY_ATTENTION);
    join_poolings(facts->pooling, pooling, sizeof(pooling));
    return json_string(pooling);
}

static json_t *describe_text_tower(uform_model_t model, uform_model_description_t const *facts) {
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:f}", "activation", facts->activation, "width",
        (json_int_t)facts->width, "layers", (json_int_t)facts->layers, "heads", (json_int_t)facts->heads,
        "feed_forward_width", (json_int_t)facts->feed_forward_width, "vocabulary_count",
        (json_int_t)facts->vocabulary_count, "max_tokens", (json_int_t)facts->max_tokens, "prompts",
        describe_prompts(model, facts->prompt_count), "default_prompt",
        facts->default_prompt[0] ? json_string(facts->default_prompt) : json_null(), "flops_per_token",
        facts->flops_per_token);
}

/// A number that depends on the picture is null.
static json_t *number_or_null(size_t number) {
    return number ? json_integer((json_int_t)number) : json_null();
}

static json_t *describe_image_tower(uform_model_description_t const *facts) {
    return json_pack("{s:o, s:o, s:I, s:o, s:I, s:I, s:o}", "image_height", number_or_null(facts->image_height),
        "image_width", number_or_null(facts->image_width), "patch_size", (json_int_t)facts->patch_size, "image_tokens",
        number_or_null(facts->image_tokens), "image_layers", (json_int_t)facts->image_layers, "image_hidden_width",
        (json_int_t)facts->image_hidden_width, "flops_per_image",
        facts->flops_per_image > 0 ? json_real(facts->flops_per_image) : json_null());
}

/// Puts a part's keys into the whole, which a missing part spoils.
static bool update(json_t *whole, json_t *part) {
    bool const updated = whole && part && json_object_update(whole, part) == 0;
    json_decref(part);
    return updated;
}

static json_t *describe_model(char const *directory) {
    uform_model_t model = NULL;
    uform_model_description_t facts;
    uform_status_t status = uform_model_load_ram(directory, NULL, 0, NULL, &model);
    if (status == uform_status_ok_k) status = uform_model_describe(model, &facts);
    if (status != uform_status_ok_k) {
        message_status_(status);
        uform_model_free(model);
        return NULL;
    }
    json_t *const described = json_pack("{s:s, s:s, s:s, s:s, s:I, s:o, s:I, s:b, s:I, s:b, s:b, s:o, s:o}",
        "directory", directory, "architecture", facts.architecture, "precision", uform_scalar_name(facts.precision),
        "cpu_class", uform_cpu_class_name(facts.cpu_class), "dimensions", (json_int_t)facts.dimensions, "pooling",
        describe_pooling(model, &facts), "dense_count", (json_int_t)facts.dense_count, "normalize", facts.normalize,
        "weights_bytes", (json_int_t)facts.weights_bytes, "encodes_texts", facts.encodes_texts, "encodes_images",
        facts.encodes_images, "logit_scale", facts.logit_scale > 0 ? json_real(facts.logit_scale) : json_null(),
        "logit_bias", facts.has_logit_bias ? json_real(facts.logit_bias) : json_null());
    // The parts are checked with the whole: a failed one leaves NULL, which the update refuses.
    bool complete = described != NULL;
    if (facts.encodes_texts) complete &= update(described, describe_text_tower(model, &facts));
    if (facts.encodes_images) complete &= update(described, describe_image_tower(&facts));
    uform_model_free(model);
    if (complete) return described;
    message_("%s: not enough memory to describe it, or a name in it that isn't UTF-8", directory);
    json_decref(described);
    return NULL;
}

static char const *words_of(json_t const *object, char const *key) {
    return json_string_value(json_object_get(object, key));
}

static long long number_of(json_t const *object, char const *key) {
    return json_integer_value(json_object_get(object, key));
}

static void print_classes(json_t const *classes, bool verbose) {
    for (size_t index = 0; index != json_array_size(classes); ++index) {
        json_t const *const row = json_array_get(classes, index);
        bool const available = json_is_true(json_object_get(row, "available"));
        if (!available && !verbose) continue;
        bool const chosen = json_is_true(json_object_get(row, "chosen"));
        printf("  %-17s %s%s\n", words_of(row, "class"),
            chosen      ? "chosen"
            : available ? "available"
                        : "declined: ",
            available ? "" : words_of(row, "reason"));
    }
}

static void print_machine(json_t const *machine) {
    json_t const *const quota = json_object_get(machine, "cores_quota");
    printf("processor        %s\n", words_of(machine, "processor")[0] ? words_of(machine, "processor") : "unknown");
    printf("cores            %lld online, %lld allowed by affinity", number_of(machine, "cores_online"),
        number_of(machine, "cores_allowed"));
    if (json_is_real(quota)) printf(", quota of %.2f\n", json_real_value(quota));
    else printf(", no quota\n");
    printf("default threads  %lld\n", number_of(machine, "threads_default"));
    json_t const *const domains = json_object_get(machine, "memory_domains");
    printf("memory domains   %zu\n", json_array_size(domains));
    for (size_t index = 0; index != json_array_size(domains); ++index) {
        json_t const *const row = json_array_get(domains, index);
        printf("  %-17lld%lld cores%s, %lld allowed, %.1f GB%s\n", number_of(row, "memory_domain"),
            number_of(row, "cores"), json_is_true(json_object_get(row, "memory_only")) ? " close by" : "",
            number_of(row, "cores_allowed"), (double)number_of(row, "memory_bytes") * 1e-9,
            json_is_true(json_object_get(row, "memory_allowed")) ? "" : ", not for this process");
    }
}

static void print_devices(json_t const *devices, json_t const *vendors, bool verbose) {
    size_t const count = json_array_size(devices);
    if (count) printf("gpus             %zu found, but this build computes on the CPU only\n", count);
    else printf("gpus             none\n");
    for (size_t index = 0; index != count; ++index) {
        json_t const *const row = json_array_get(devices, index);
        char const *const gpu_class = words_of(row, "class");
        printf("  %-17zu %s, %lld units, %.1f GB, %s\n", index, gpu_class ? gpu_class : "no class",
            number_of(row, "compute_units"), (double)number_of(row, "memory_bytes") * 1e-9, words_of(row, "name"));
    }
    for (size_t index = 0; verbose && index != json_array_size(vendors); ++index) {
        json_t const *const row = json_array_get(vendors, index);
        if (!number_of(row, "devices")) printf("  %-17s none: %s\n", words_of(row, "vendor"), words_of(row, "reason"));
    }
}

static struct pooling_words_t {
    char const *name, *words;
} const pooling_words[] = {
    {"cls", "first token"},
    {"max", "largest of every dimension"},
    {"mean", "mean of the tokens"},
    {"mean_sqrt_len", "sum over the root of their number"},
    {"weightedmean", "mean that weighs later tokens more"},
    {"lasttoken", "last token"},
    {POOLING_BY_ATTENTION, "attention over all tokens"},
};

/// Which vector it is that comes out.
static void print_pooling(json_t const *model) {
    char const *const names = words_of(model, "pooling");
    long long const dense_count = number_of(model, "dense_count");
    printf("pooling          ");
    if (json_is_true(json_object_get(model, "encodes_texts")) && json_is_true(json_object_get(model, "encodes_images")))
        printf("of texts, ");
    for (char const *name = names; *name; name += strspn(name, "+")) {
        size_t const length = strcspn(name, "+");
        for (size_t row = 0; row != sizeof(pooling_words) / sizeof(pooling_words[0]); ++row)
            if (strlen(pooling_words[row].name) == length && strncmp(pooling_words[row].name, name, length) == 0)
                printf("%s%s", name == names ? "" : " + ", pooling_words[row].words);
        name += length;
    }
    printf(" (%s), ", names);
    if (dense_count)
        printf("then %lld dense layer%s (projection or pooler)\n", dense_count, dense_count == 1 ? "" : "s");
    else printf("no projection or pooler behind it\n");
}

static void print_text_tower(json_t const *model) {
    printf("texts            up to %lld tokens, vocabulary of %lld\n", number_of(model, "max_tokens"),
        number_of(model, "vocabulary_count"));
    printf("  tower            %lld layers of %lld, %lld heads, %s\n", number_of(model, "layers"),
        number_of(model, "width"), number_of(model, "heads"), words_of(model, "activation"));
    printf("  work             %.4g million operations a token, attention excluded\n",
        json_real_value(json_object_get(model, "flops_per_token")) * 1e-6);
}

static void print_image_tower(json_t const *model) {
    json_t const *const tokens = json_object_get(model, "image_tokens");
    if (json_is_null(json_object_get(model, "image_height"))) printf("images           of any size");
    else
        printf("images           of %lld by %lld pixels", number_of(model, "image_height"),
            number_of(model, "image_width"));
    printf(", patches of %lld", number_of(model, "patch_size"));
    if (json_is_integer(tokens)) printf(", %lld tokens", number_of(model, "image_tokens"));
    printf("\n  tower            %lld layers of %lld\n", number_of(model, "image_layers"),
        number_of(model, "image_hidden_width"));
    json_t const *const flops = json_object_get(model, "flops_per_image");
    if (json_is_real(flops))
        printf(
            "  work             %.4g billion operations an image, attention excluded\n", json_real_value(flops) * 1e-9);
}

static void print_prompts(json_t const *model) {
    char const *const chosen = words_of(model, "default_prompt");
    json_t *const prompts = json_object_get(model, "prompts");
    char const *name = NULL;
    json_t *text = NULL;
    json_object_foreach(prompts, name, text) {
        char *const quoted = json_dumps(text, JSON_ENCODE_ANY);
        printf("prompt           ");
        print_plain_(name);
        printf(": ");
        print_plain_(quoted ? quoted : "");
        printf("%s\n", chosen && strcmp(chosen, name) == 0 ? " (default)" : "");
        free(quoted);
    }
}

static void print_model(json_t const *model) {
    printf("\nmodel            ");
    print_plain_(words_of(model, "directory"));
    putchar('\n');
    printf("architecture     %s\n", words_of(model, "architecture"));
    printf("embeddings       %lld dimensions, %s\n", number_of(model, "dimensions"),
        json_is_true(json_object_get(model, "normalize")) ? "normalized" : "not normalized");
    print_pooling(model);
    if (json_is_true(json_object_get(model, "encodes_texts"))) print_text_tower(model);
    if (json_is_true(json_object_get(model, "encodes_images"))) print_image_tower(model);
    json_t const *const scale = json_object_get(model, "logit_scale");
    json_t const *const bias = json_object_get(model, "logit_bias");
    if (json_is_number(scale)) printf("logits           %g times the cosine", json_number_value(scale));
    if (json_is_number(scale) && json_is_number(bias)) printf(", plus %g", json_number_value(bias));
    if (json_is_number(scale)) putchar('\n');
    printf("weights          %.1f MB, packed in %s for %s\n", (double)number_of(model, "weights_bytes") * 1e-6,
        words_of(model, "precision"), words_of(model, "cpu_class"));
    if (json_is_true(json_object_get(model, "encodes_texts"))) print_prompts(model);
}

/// Describes the machine. A class that UFORM_CPU_CLASS can't force ends every other command; this one is asked why, so
/// it tells the words for it, "" if there are none, and goes on as if the variable weren't set.
static uform_status_t describe_machine_anyway(uform_machine_description_t *facts, char *problem, size_t capacity) {
    uform_status_t const status = uform_machine_describe(facts);
    problem[0] = '\0';
    char const *const detail = uform_last_detail();
    if (status == uform_status_ok_k || strncmp(detail, "UFORM_CPU_CLASS: ", 17) != 0) return status;
    snprintf(problem, capacity, "%s", detail);
    // The words are cut at any byte, and JSON takes whole characters only.
    make_plain_(problem);
    unsetenv("UFORM_CPU_CLASS");
    return uform_machine_describe(facts);
}

static exit_status_t run_info(settings_t const *settings) {
    uform_machine_description_t facts;
    char problem[1024];
    uform_status_t const status = describe_machine_anyway(&facts, problem, sizeof(problem));
    if (status != uform_status_ok_k) return message_status_(status), exit_status_failed_k;
    json_t *const domains = describe_domains();
    if (!domains) return exit_status_failed_k;
    json_t *const model = settings->model ? describe_model(settings->model) : json_null();
    if (!model) return json_decref(domains), exit_status_usage_k;
    json_t *vendors = NULL, *const devices = describe_devices(&vendors);
    if (!devices) return json_decref(domains), json_decref(model), exit_status_failed_k;
    json_t *const all = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "version", uform_version(),
        "compiled", uform_capabilities_compiled(), "available", uform_capabilities_available(), "machine",
        describe_machine(&facts, domains), "classes", describe_classes(), "gpus", devices, "gpu_vendors", vendors,
        "model", model, "cpu_class_problem", problem[0] ? json_string(problem) : json_null());
    if (!all) return message_("not enough memory"), exit_status_failed_k;
    if (settings->json) {
        if (!settings->model) json_object_del(all, "model");
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        printf("uform            %s\n", uform_version());
        print_machine(json_object_get(all, "machine"));
        print_devices(devices, vendors, settings->verbose);
        printf("cpu classes      compiled: %s\n", uform_capabilities_compiled());
        if (problem[0]) printf("  ignored          %s\n", problem);
        print_classes(json_object_get(all, "classes"), settings->verbose);
        if (settings->model) print_model(json_object_get(all, "model"));
    }
    json_decref(all);
    return exit_status_ok_k;
}

command_t const command_info_ = {
    .name = "info",
    .bit = command_info_k,
    .summary = "say what this build, this machine and a model offer",
    .synopsis = "[--json] [--verbose] [--model DIR]",
    .manual =
        "The classes are families of processors with kernels of their own; the best one that the processor has and the\n"
        "system permits is chosen. --cpu-class of the other commands, or UFORM_CPU_CLASS in the environment, picks\n"
        "another; a class in it that can't be used is told here, and the status stays 0. The prompts 'query' and\n"
        "'document' can be asked of every directory, as in sentence-transformers; those it has no text for are empty and\n"
        "not listed.\n"
        "\n"
        "Examples:\n"
        "  uform info --verbose\n"
        "  uform info --json --model all-MiniLM-L6-v2\n",
    .run = run_info,
};
