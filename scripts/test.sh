#!/usr/bin/env bash
# Runs every test: installs what they need, fetches the model, builds with warnings as errors four times (optimised, with the address
# and undefined-behaviour sanitizers, with the thread sanitizer, with clang), then runs the tests of all builds in one go, whose count
# comes last. Can be run again.
#   scripts/test.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

install_packages "${BUILD_PACKAGES[@]}" "${MODEL_PACKAGES[@]}" g++ libcmocka-dev libsimde-dev clang git cargo rustc
fetch_model

builds=(release asan tsan clang)
for build in "${builds[@]}"; do
  say "building into build/$build"
  cmake --preset "$build" -DUFORM_BUILD_TESTS=ON -DUFORM_WARNINGS_ARE_ERRORS=ON -DUFORM_TEST_MODEL="$PWD/$MODEL" >/dev/null
  cmake --build --preset "$build"
done

# One ctest over all builds: a folder whose only content is the list of theirs.
mkdir -p build/tests
printf 'subdirs("%s")\n' "${builds[@]/#/$PWD/build/}" >build/tests/CTestTestfile.cmake

# The thread sanitizer can't start where the kernel spreads addresses widely; where it is allowed, that is turned off.
steady=()
if setarch "$(uname -m)" -R true 2>/dev/null; then steady=(setarch "$(uname -m)" -R); fi

say "running the tests of all builds"
"${steady[@]}" ctest --test-dir build/tests --output-on-failure --no-tests=error -j "$(nproc)"
