#!/usr/bin/env bash
# Compares what the shared library exports with what the public headers declare: both must be the same set of uform_* functions.
# Then looks at what it needs at run time: the C library, its mathematics and threads, hwloc, and the decoders of
# pictures; nothing else.
#   check_exports.sh LIBRARY
set -euo pipefail
library=$1
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | sort -u >"$work/exported"
# A declaration begins at UFORM_PUBLIC and its name is the word before the first parenthesis.
grep -hv '^ *#' include/uform/*.h | tr '\n' ' ' | grep -o 'UFORM_PUBLIC [^();#]*(' | sed -E 's/.*[ *]([a-z0-9_]+)\($/\1/' | sort -u >"$work/declared"

wrong=0
test -s "$work/declared" || { echo "check_exports: found no declarations"; exit 1; }
while read -r symbol; do
  echo "exported but not declared in include/uform: $symbol"
  wrong=1
done < <(comm -23 "$work/exported" "$work/declared")
while read -r symbol; do
  echo "declared in include/uform but not exported: $symbol"
  wrong=1
done < <(comm -13 "$work/exported" "$work/declared")
while read -r needed; do
  case $needed in
    libc.so.* | libm.so.* | libpthread.so.* | libhwloc.so.* | ld-linux*) ;;
    libjpeg.so.* | libspng.so.* | libz.so.* | libwebp.so.* | libwebpdemux.so.* | libavif.so.* | libgif.so.* | libtiff.so.*) ;;
    *) echo "needed at run time but not allowed: $needed"; wrong=1 ;;
  esac
done < <(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
[ $wrong = 0 ] || exit 1
echo "$(wc -l <"$work/exported") functions exported, all declared; needs only the C library, hwloc and the decoders"
