#!/bin/bash
# Install by apt what the test cluster needs. Exit 75 with one sentence where that cannot be done.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
policy=/usr/sbin/policy-rc.d
log=$(mktemp)
trap 'rm -f "$log"' EXIT

main() {
  mapfile -t wanted < <(read_list packages.txt)
  mapfile -t optional < <(read_list packages-optional.txt)
  mapfile -t missing < <(keep_missing "${wanted[@]}" "${optional[@]}")
  [ "${#missing[@]}" = 0 ] || install_missing
  "$here/apptainer.sh" || true # the tests of containers then skip, and say so
}

install_missing() {
  [ "$(id -u)" = 0 ] || give_up "only root can install packages (missing: ${missing[*]})"
  command -v apt-get >/dev/null || give_up "this machine has no apt-get: the cluster is known to run on Debian and Ubuntu only"

  forbid_services
  # A list of packages that is too old names files that the mirror has deleted: ask for a new one, once.
  install_packages || { apt update && install_packages; } || give_up "apt-get failed: $(tail -1 "$log")"
}

read_list() { sed '/^#/d' "$here/config/$1"; }

keep_missing() {
  local name
  for name; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

install_packages() {
  apt -y --no-install-recommends install "${wanted[@]}" || return
  local name
  for name in "${optional[@]}"; do
    apt -y --no-install-recommends install "$name" || echo "install.sh: without $name" >&2
  done
}

apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1; }

# up.sh starts its own daemons: those of the packages would take their ports and pid files.
forbid_services() {
  if [ -e "$policy" ]; then
    mv "$policy" "$policy.before-windlass"
    trap 'mv "$policy.before-windlass" "$policy"; rm -f "$log"' EXIT
  else
    trap 'rm -f "$policy" "$log"' EXIT
  fi
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
}

give_up() {
  echo "install.sh: $1" >&2
  exit 75
}

main
