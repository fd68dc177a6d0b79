/**
 *  What CLIP's and SigLIP's towers call the tensors of a layer; their norms stand before the branches.
 */
#ifndef UFORM_MODELS_ARCHITECTURES_CLIP_LAYERS_H
#define UFORM_MODELS_ARCHITECTURES_CLIP_LAYERS_H

/// Fields of a `uform_architecture_t`.
#define UFORM_CLIP_LAYERS                                                                                              \
    .norm_first = true, .query = "encoder.layers.%zu.self_attn.q_proj", .key = "encoder.layers.%zu.self_attn.k_proj",  \
    .value = "encoder.layers.%zu.self_attn.v_proj", .attention_output = "encoder.layers.%zu.self_attn.out_proj",       \
    .attention_norm = "encoder.layers.%zu.layer_norm1", .feed_forward_up = "encoder.layers.%zu.mlp.fc1",               \
    .feed_forward_down = "encoder.layers.%zu.mlp.fc2", .feed_forward_norm = "encoder.layers.%zu.layer_norm2"

#endif
