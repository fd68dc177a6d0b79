#!/usr/bin/env bash
# Checks the formatting of every tracked C file with clang-format 14, or formats them all.
# Other versions lay out some constructs differently, so only 14 will do.
#   check_format.sh [--fix]
set -euo pipefail
cd "$(dirname "$0")/.."
for formatter in clang-format-14 clang-format ""; do
  if [ -n "$formatter" ] && "$formatter" --version 2>/dev/null | grep -q 'version 14\.'; then break; fi
done
[ -n "$formatter" ] || { echo "check_format: clang-format 14 is needed (apt-get install clang-format-14)"; exit 1; }
mapfile -d '' files < <(git ls-files -z -- '*.c' '*.h')
if [ "${1:-}" = --fix ]; then
  "$formatter" -i "${files[@]}"
  exit
fi
wrong=0
for file in "${files[@]}"; do
  "$formatter" "$file" | cmp -s - "$file" || { echo "not formatted: $file"; wrong=$((wrong + 1)); }
done
[ $wrong = 0 ] || { echo "$wrong of ${#files[@]} files: tools/check_format.sh --fix formats them"; exit 1; }
echo "${#files[@]} C files are formatted"
