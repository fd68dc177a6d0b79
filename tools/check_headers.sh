#!/usr/bin/env bash
# Compiles every public header alone, as C11 and as C++17, with all warnings as errors.
#   check_headers.sh [C_COMPILER]      the C++ compiler is its sibling: g++ for gcc, clang++ for clang
set -euo pipefail
compiler=${1:-gcc}
case $compiler in
  *clang*) cxx=${compiler/clang/clang++} ;;
  *gcc*) cxx=${compiler/gcc/g++} ;;
  *) cxx=c++ ;;
esac
command -v "$cxx" >/dev/null || { echo "check_headers: no C++ compiler $cxx"; exit 1; }
cd "$(dirname "$0")/../include"
warnings=(-Wall -Wextra -Wpedantic -Wundef -Werror -fsyntax-only -I.)
for header in uform/*.h; do
  echo "#include \"$header\"" | "$compiler" -std=c11 -Wstrict-prototypes "${warnings[@]}" -x c -
  echo "#include \"$header\"" | "$cxx" -std=c++17 "${warnings[@]}" -x c++ -
  echo "$header: C11 and C++17"
done
