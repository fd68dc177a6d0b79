#!/usr/bin/env bash
# From a fresh Debian 12 to answers: installs what a build needs, builds UForm, fetches a model, and searches some four hundred
# passages for what comes closest in meaning to a question. Can be run again; what is there is not fetched or built twice.
#   scripts/quickstart.sh ["a question of your own"]
set -euo pipefail
usage='usage: scripts/quickstart.sh ["a question of your own"]'
case ${1-} in
  -h | --help)
    echo "$usage"
    echo "Installs what a build needs, builds UForm, fetches a model and searches examples/passages.txt for the question."
    exit 0
    ;;
esac
if [ $# -gt 1 ] || { [ $# = 1 ] && [[ -z $1 || $1 == -* ]]; }; then
  echo "$usage" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
. scripts/common.sh
question=${1:-"a door left open on purpose by the maintainer"}

install_packages "${BUILD_PACKAGES[@]}" "${MODEL_PACKAGES[@]}"
say "building into build/release"
cmake --preset release -DUFORM_BUILD_TESTS=OFF >/dev/null
cmake --build --preset release
fetch_model

say "build/release/uform_search $MODEL examples/passages.txt \"$question\""
build/release/uform_search $MODEL examples/passages.txt "$question"
