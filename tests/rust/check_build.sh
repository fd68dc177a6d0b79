#!/usr/bin/env bash
# Every way in which the Rust crate comes to its C library: built from the tree, named by a folder, installed. A crate outside the
# tree without any says what to do.
#   check_build.sh CARGO CMAKE BUILD_DIRECTORY
set -euo pipefail
cargo=$1 cmake=$2 build=$3
cd "$(dirname "$0")/../.."
root=$PWD work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset UFORM_LIBRARY_DIR

# Runs the example over a tiny model in the crate of a folder.
embed() {
  (cd "$1" && "$cargo" run --offline --locked --quiet --example embed "$root/tests/golden/models/normalize")
}

echo "== the tree's own library"
# It is built once and kept, as a checkout is used.
CARGO_TARGET_DIR=$build/rust-tree embed rust

echo "== a crate on its own"
(cd rust && "$cargo" package --offline --locked --list --allow-dirty) >"$work/files"
mkdir "$work/crate"
while read -r file; do
  case $file in Cargo.toml.orig | .cargo_vcs_info.json) continue ;; esac
  mkdir -p "$work/crate/$(dirname "$file")"
  cp "rust/$file" "$work/crate/$file"
done <"$work/files"
export CARGO_TARGET_DIR=$work/target
if PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$work/none embed "$work/crate" 2>"$work/words"; then
  echo "it built without a library"
  exit 1
fi
grep -q 'UFORM_LIBRARY_DIR has to name' "$work/words" || { cat "$work/words"; exit 1; }

echo "== an installed library"
"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null
package=$(dirname "$(find "$work/prefix" -name uform.pc)")
PKG_CONFIG_PATH=$package LD_LIBRARY_PATH=$(dirname "$package") embed "$work/crate"

echo "== a folder of shared libraries"
mkdir "$work/shared"
cp -a "$(dirname "$package")"/libuform.so* "$work/shared"
UFORM_LIBRARY_DIR=$work/shared LD_LIBRARY_PATH=$work/shared embed "$work/crate"
