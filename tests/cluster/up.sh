#!/bin/bash
# Start a disposable, real Slurm cluster on this machine: 4 nodes, accounts, modules, a login node behind a jump host.
# Quick and quiet when it is up already. install.sh before brings the packages; down.sh after removes everything.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/settings.sh"
. "$here/processes.sh"
# shellcheck source=/dev/null
for part in "$here"/parts/*.sh; do . "$part"; done
doing="begin"

main() {
  "$here/check.sh"
  take_turn "$here/up.sh"
  if "$here/status.sh" >/dev/null; then
    echo "up already: ssh -F $ssh/config login"
    return
  fi
  # What a crash, or half a start, has left behind.
  "$here/down.sh" >/dev/null
  trap tear_down_after_failure EXIT
  start
  trap - EXIT
  echo "up in $SECONDS s: ssh -F $ssh/config login"
}

start() {
  rm -rf "$log"
  mkdir -p "$etc" "$run/slurmctld" "$log"
  echo "$more_nodes" >"$run/more_nodes"
  # slurmctld and slurmdbd write there once they are no longer root.
  touch "$log/slurmctld.log" "$log/slurmdbd.log"
  chown slurm:slurm "$run" "$run/slurmctld" "$log" "$log/slurmctld.log" "$log/slurmdbd.log"
  step make_users
  step make_network
  step make_configuration
  step make_modules
  step open_fuse
  step start_munge
  step make_database
  step start_slurmdbd
  step add_cluster
  step start_controller
  step add_accounts
  for node in "${nodes[@]}"; do step start_node "$node"; done
  step start_sshd
  step wait_until 60 nodes_are_idle
}

# Keeps the time that each step took in $log/up.timing.
step() {
  local began=$EPOCHREALTIME
  doing=$*
  "$@"
  awk -v what="$*" -v took="$(($(microseconds "$EPOCHREALTIME") - $(microseconds "$began")))" \
    'BEGIN { printf "%6.2f s  %s\n", took / 1e6, what }' >>"$log/up.timing"
}

microseconds() { echo "${1/[.,]/}"; }

tear_down_after_failure() {
  echo "up.sh: failed at: $doing" >&2
  tail -n 5 "$log"/*.log >&2 || true
  "$here/down.sh" >/dev/null
}

main
