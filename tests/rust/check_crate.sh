#!/usr/bin/env bash
# Runs the Rust crate's tests and its examples against the library of a build tree.
#   check_crate.sh CARGO BUILD_DIRECTORY
set -euo pipefail
cargo=$1 build=$2
cd "$(dirname "$0")/../../rust"
export CARGO_TARGET_DIR=$build/rust UFORM_LIBRARY_DIR=$build RUSTFLAGS='-D warnings'

"$cargo" test --offline --locked --lib --tests
# Released compilers compare the codes of examples that must not compile only when told to.
RUSTC_BOOTSTRAP=1 "$cargo" test --offline --locked --doc
"$cargo" run --offline --locked --quiet --example embed ../tests/golden/models/normalize
"$cargo" run --offline --locked --quiet --example classify ../tests/golden/vision/models/clip ../tests/pictures/corpus/rgb.jpg cat dog
