#!/bin/bash
# Say in one sentence why the cluster cannot run on this machine, and exit 75; silent when it can.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/settings.sh"
. "$here/parts/users.sh"
PATH=$PATH:/usr/sbin:/sbin

main() {
  [ "$(uname)" = Linux ] || cannot "this machine is not Linux"
  [ "$(id -u)" = 0 ] || cannot "only root can start the test cluster"
  check_programs slurmctld slurmdbd slurmd munged mariadbd sshd ip
  unshare --mount --uts --net true 2>/dev/null || cannot "root may not make namespaces here, as in most containers"
  case $root/ in /tmp/* | /var/tmp/*) cannot "every node has a /tmp of its own, so the cluster cannot live in $root" ;; esac
  check_slurm_is_ours
  check_users_are_ours
}

check_programs() {
  local name
  for name; do command -v "$name" >/dev/null || cannot "$name is missing: run tests/cluster/install.sh"; done
}

check_slurm_is_ours() {
  [ ! -e /etc/slurm/slurm.conf ] || [ "$(readlink /etc/slurm/slurm.conf)" = "$etc/slurm.conf" ] ||
    cannot "this machine has a Slurm of its own: /etc/slurm/slurm.conf"
}

check_users_are_ours() {
  local name
  for name in "${users[@]}"; do
    ! getent passwd "$name" >/dev/null || is_our_user "$name" || cannot "this machine has a user $name of its own"
  done
}

cannot() {
  echo "$1" >&2
  exit 75
}

main
