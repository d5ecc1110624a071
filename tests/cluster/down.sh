#!/bin/bash
# Stop the cluster and remove what it left on this machine, except for its logs. Harmless when it is not up.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/settings.sh"
. "$here/processes.sh"
# shellcheck source=/dev/null
for part in "$here"/parts/*.sh; do . "$part"; done

main() {
  [ "$(id -u)" = 0 ] || die "must be root"
  take_turn "$here/down.sh"
  stop_sshd
  stop_nodes
  stop_controller
  stop_slurmdbd
  stop_mariadb
  stop_munge
  remove_users
  remove_network
  remove_configuration
  remove_modules
  close_fuse
  rmdir /localscratch 2>/dev/null
  rm -rf --one-file-system "$etc" "$run" "$ssh" "${root:?}/home" "$root/modules"
  echo down
}

main
