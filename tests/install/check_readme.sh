#!/usr/bin/env bash
# The program that the README shows is examples/encode.c, and with a model it finds a cat nearer to a kitten than to a rate.
#   check_readme.sh UFORM_ENCODE
set -euo pipefail
cd "$(dirname "$0")/../.."
diff <(sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d') <(sed -n '/^#include <stdio/,$p' examples/encode.c)
[ -n "${UFORM_TEST_MODEL:-}" ] || exit 0
"$1" "$UFORM_TEST_MODEL" | tee /dev/stderr | sort -rn | head -1 | grep -q 'a kitten on a rug / a cat on a mat'
