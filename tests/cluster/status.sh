#!/bin/bash
# Say which parts of the cluster run, a line each. Exit 0 when all do.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/settings.sh"
. "$here/processes.sh"
. "$here/parts/network.sh"
status=0

main() {
  local node
  show munged munge -n
  show mariadbd is_running "$run/mysql/mariadbd.pid" mariadbd
  show slurmdbd is_running "$run/slurmdbd.pid" slurmdbd
  show slurmctld is_running "$run/slurmctld.pid" slurmctld
  show sshd.login1 is_running "$run/sshd.login1.pid" sshd
  show sshd.gateway is_running "$run/sshd.gateway.pid" sshd
  for node in "${nodes[@]}"; do
    show "slurmd.$node" is_running "$run/slurmd.$node.pid" slurmd
    show "network.$node" is_plugged "$node"
    show "fabric.$node" can_talk "$node"
  done
  exit "$status"
}

# show NAME CHECK...
show() {
  local name=$1
  shift
  if "$@" >/dev/null 2>&1; then
    echo "$name up"
  else
    status=1
    echo "$name down"
  fi
}

main
