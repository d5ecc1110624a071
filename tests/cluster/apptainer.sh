#!/bin/bash
# An unprivileged Apptainer for the tests of containers, in $cache/apptainer. Exit 75 with one sentence where it cannot
# be had. Debian has it in sid only, built for a newer glibc than stable's: that glibc lies beside it.
set -euo pipefail
cache=${WINDLASS_TEST_CACHE:-/var/cache/windlass-tests}
target=$cache/apptainer
multiarch=$(uname -m)-linux-gnu

main() {
  [ ! -e "$target/.complete" ] || exit 0
  [ "$(id -u)" = 0 ] || give_up "only root can install packages"
  mirror=$(find_mirror)
  [ -n "$mirror" ] || give_up "apt knows no Debian mirror here: set WINDLASS_DEBIAN_MIRROR"
  command -v patchelf >/dev/null || give_up "patchelf is missing: run install.sh"
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/apptainer.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  fetch >"$work/log" 2>&1 || give_up "Apptainer cannot be fetched: $(tail -1 "$work/log")"
  lay >"$work/log" 2>&1 || give_up "Apptainer cannot be set up: $(tail -1 "$work/log")"
  rm -rf "$target"
  mv "$work/new" "$target"
  relocate || give_up "Apptainer cannot be set up in $target"
  "$target/usr/bin/apptainer" --version >"$target/.complete" || give_up "Apptainer does not run here"
}

# The mirror that this machine uses already.
find_mirror() {
  if [ -n "${WINDLASS_DEBIAN_MIRROR:-}" ]; then
    echo "$WINDLASS_DEBIAN_MIRROR"
  elif command -v apt-get >/dev/null; then
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
      sed -n '/security/d; s/^Debian //p' | sed 1q
  fi
}

# Beside what apt knows of this machine, which stays as it is. A clock that runs ahead takes a list for expired.
fetch() {
  local signed="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
  mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial"
  : >"$work/apt/status"
  printf "deb $signed $mirror %s main\n" trixie sid >"$work/apt/sources.list"
  cd "$work/apt"
  apt update && apt download apptainer/sid libc6/trixie
}

apt() {
  apt-get -q -o "Dir::State=$work/apt" -o "Dir::State::status=$work/apt/status" -o "Dir::Cache=$work/apt" \
    -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root "$@"
}

lay() {
  dpkg -x "$work"/apt/apptainer_*.deb "$work/new" &&
    dpkg -x "$work"/apt/libc6_*.deb "$work/libc" &&
    mkdir "$work/new/glibc" &&
    cp -a "$work/libc/usr/lib/$multiarch/." "$work/new/glibc/" &&
    cp -L "/usr/lib/$multiarch/"{libseccomp.so.2,libsqlite3.so.0} "$work/new/glibc/"
}

# Its programs look for their files in ../etc and ../var: seen from bin/ and from lib/.
relocate() {
  local program loader
  loader=$(echo "$target"/glibc/ld-linux-*.so.*)
  for program in usr/bin/apptainer "usr/lib/$multiarch/apptainer/bin/starter"; do
    patchelf --set-interpreter "$loader" --set-rpath "$target/glibc" "$target/$program" || return
  done
  ln -sfn ../etc "$target/usr/etc"
  ln -sfn ../../etc "$target/usr/lib/etc"
  mkdir -p "$target"/usr/{var,lib/var}/lib/apptainer/mnt/session
}

give_up() {
  echo "apptainer.sh: $1" >&2
  exit 75
}

main
