#!/usr/bin/env bash
# Installs a build into a temporary folder and moves it, then builds and runs a small program on it in four ways:
# CMake package and pkg-config, shared and static.
#   check_install.sh BUILD_DIRECTORY CMAKE C_COMPILER
set -euo pipefail
build=$1 cmake=$2 compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

DESTDIR= "$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/moved" # nothing installed may remember where it was put
prefix=$work/moved
libraries=$(dirname "$(find "$prefix" -name libuform.a)")

for file in "$here"/../../include/uform/*.h; do
  test -f "$prefix/include/uform/$(basename "$file")" || { echo "$(basename "$file") was not installed"; exit 1; }
done
for name in LICENSE NOTICE; do
  find "$prefix" -name $name | grep -q . || { echo "$name was not installed"; exit 1; }
done
"$prefix/bin/uform" --version

run() {
  printf '%s: ' "$1"
  LD_LIBRARY_PATH=$libraries "$2"
}

"$cmake" -G Ninja -S "$here/consumer" -B "$work/consumer" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" \
  >"$work/configure.log" 2>&1 || { cat "$work/configure.log"; exit 1; }
"$cmake" --build "$work/consumer" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
run "CMake, shared" "$work/consumer/consumer_shared"
run "CMake, static" "$work/consumer/consumer_static"

export PKG_CONFIG_PATH=$libraries/pkgconfig
# shellcheck disable=SC2046 # the flags are words
"$compiler" "$here/consumer/consumer.c" $(pkg-config --cflags --libs uform) -o "$work/shared"
run "pkg-config, shared" "$work/shared"
rm "$libraries"/libuform.so* # leaves the linker nothing but the archive
# shellcheck disable=SC2046
"$compiler" "$here/consumer/consumer.c" $(pkg-config --static --cflags --libs uform) -o "$work/static"
run "pkg-config, static" "$work/static"
