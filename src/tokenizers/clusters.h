/**
 *  Grapheme clusters: what a reader takes for one character, as far as the Precompiled normalizer can tell. Flags aren't
 *  joined, because it treats their halves alike.
 */
#ifndef UFORM_TOKENIZERS_CLUSTERS_H
#define UFORM_TOKENIZERS_CLUSTERS_H

#include <stddef.h>

/// End of the cluster at `start`, which is before `length`, in valid UTF-8.
size_t uform_cluster_end_(char const *text, size_t start, size_t length);

#endif
