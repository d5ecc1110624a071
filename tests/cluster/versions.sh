#!/bin/bash
# versions.sh trixie|sid COMMAND...: run a command as root beside the same cluster with a newer Slurm
# (trixie: 24.11, sid: 26.05), in a Debian of its own, in namespaces of its own; the machine's cluster is not touched.
# Inside, the checkout is /project (read-only), `python3` has the project and its test packages, /out is kept.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
cache=${WINDLASS_TEST_CACHE:-/var/cache/windlass-tests}
python=${PYTHON:-python3}

main() {
  [ $# -ge 2 ] || give_up 2 "usage: versions.sh trixie|sid COMMAND..."
  case $1 in trixie | sid) ;; *) give_up 2 "$1 is neither trixie nor sid" ;; esac
  [ "$(id -u)" = 0 ] || give_up 75 "only root can make namespaces and images"
  suite=$1
  image=$cache/$suite
  shift
  mkdir -p "$cache"
  exec 8>"$cache/$suite.lock"
  flock 8
  [ -e "$image/.complete" ] || make_image
  install_project
  out=$cache/$suite.out
  rm -rf "$out"
  mkdir -p "$out"
  run_inside "$@"
}

give_up() {
  echo "versions.sh: $2" >&2
  exit "$1"
}

make_image() {
  command -v debootstrap >/dev/null || give_up 75 "debootstrap is missing: run install.sh"
  mirror=$(find_mirror)
  [ -n "$mirror" ] || give_up 75 "apt knows no Debian mirror here: set WINDLASS_DEBIAN_MIRROR"
  rm -rf --one-file-system "$image"
  echo "versions.sh: making $image, once" >&2
  fill_image >"$cache/$suite.log" 2>&1 </dev/null ||
    give_up 75 "the image cannot be made: $(tail -1 "$cache/$suite.log"), see $cache/$suite.log"
  touch "$image/.complete"
}

# The mirror that this machine uses already.
find_mirror() {
  if [ -n "${WINDLASS_DEBIAN_MIRROR:-}" ]; then
    echo "$WINDLASS_DEBIAN_MIRROR"
  else
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
      sed -n '/security/d; s/^Debian //p' | sed 1q
  fi
}

# Joined by && because `set -e` sleeps in a function whose result is asked for.
# A machine whose clock runs ahead of its mirror takes the list of packages for expired, hence Check-Valid-Until.
fill_image() {
  # shellcheck disable=SC2046
  debootstrap --variant=minbase "$suite" "$image" "$mirror" &&
    cp /etc/resolv.conf "$image/etc/" &&
    printf '#!/bin/sh\nexit 101\n' >"$image/usr/sbin/policy-rc.d" &&
    chmod 755 "$image/usr/sbin/policy-rc.d" &&
    in_image apt-get -q -o Acquire::Check-Valid-Until=false update &&
    in_image apt-get -y -q --no-install-recommends install $(sed '/^#/d' "$here/config/packages.txt") &&
    in_image apt-get clean &&
    mkdir -p "$image/project" "$image/out" "$image/.old"
}

in_image() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$image" "$@"; }

# There is no network inside: the machine's pip, which knows where packages come from, fetches them for the image's
# Python, and the image's pip installs them. The project itself is read from /project, so an edit is seen at once.
install_project() {
  local wanted
  wanted=$(read_requirements)
  [ "$wanted" != "$(cat "$image/opt/windlass/requirements.txt" 2>/dev/null)" ] || return 0
  rm -rf "$image/var/cache/wheels" "$image/opt/windlass"
  mkdir -p "$image/var/cache/wheels"
  printf '%s\n' "$wanted" >"$image/var/cache/wheels/requirements.txt"
  make_venv >"$cache/$suite.pip.log" 2>&1 </dev/null ||
    give_up 75 "pip failed: $(tail -1 "$cache/$suite.pip.log"), see $cache/$suite.pip.log"
  printf '%s\n' "$wanted" >"$image/opt/windlass/requirements.txt"
}

make_venv() {
  local wheels=/var/cache/wheels version
  version=$(in_image python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') &&
    "$python" -m pip download -q --only-binary=:all: --python-version "$version" \
      --dest "$image$wheels" -r "$image$wheels/requirements.txt" &&
    in_image python3 -m venv /opt/windlass &&
    in_image /opt/windlass/bin/pip install -q --no-index --find-links "$wheels" -r "$wheels/requirements.txt" &&
    printf '%s\n' /project/src /project >"$image/opt/windlass/lib/python$version/site-packages/windlass.pth"
}

read_requirements() {
  "$python" -c 'import sys, tomllib
project = tomllib.load(open(sys.argv[1], "rb"))["project"]
print(*project["dependencies"], *project["optional-dependencies"]["test"], sep="\n")' "$project/pyproject.toml"
}

# A pid namespace too: whatever is started inside ends with the command.
run_inside() {
  printf '127.0.0.1 localhost\n' >"$image/etc/hosts"
  unshare --mount --net --uts --ipc --pid --fork --kill-child \
    "$here/inside-version.sh" "$image" "$project" "$out" "$@" 8>&-
}

main "$@"
