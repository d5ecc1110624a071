#!/bin/bash
# apt-install.sh PACKAGE...: install by apt as root, quietly; the log is shown when it fails.
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1; }
install() { apt -y --no-install-recommends install "$@"; }

# A list of packages that is missing or old names files that the mirror does not have: ask for a new one, once.
install "$@" || { apt update && install "$@"; } || {
  tail -3 "$log" >&2
  exit 1
}
