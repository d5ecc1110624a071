#!/bin/bash
# Break the running cluster in one way, or mend it.
#   break.sh kill-node NODE         power cut: its slurmd and every process on it are gone
#   break.sh cut-network NODE       its cable is out; what runs on it goes on
#   break.sh mute NODE              nobody can talk to it over the fabric; Slurm sees nothing of that
#   break.sh stop-controller [-k]   slurmctld; -k: killed, without saving its state
#   break.sh stop-database          slurmdbd
#   break.sh start-node NODE | plug-network NODE | unmute NODE | start-controller | start-database
#   break.sh mend                   all of these, where needed
#   break.sh on NODE COMMAND...     run a command as root on a node
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/settings.sh"
. "$here/processes.sh"
# shellcheck source=/dev/null
for part in "$here"/parts/*.sh; do . "$part"; done

main() {
  [ "$(id -u)" = 0 ] || die "must be root"
  case ${1:-} in
    kill-node | cut-network | mute | start-node | plug-network | unmute | on) check_node "${2:-}" ;;
  esac
  [ "${1:-}" != on ] || run_on_node "${@:2}"
  take_turn "$here/break.sh" "$@"
  case ${1:-} in
    kill-node) kill_node "$2" ;;
    cut-network) set_cables "$2" down ;;
    plug-network) set_cables "$2" up ;;
    mute) mute_node "$2" ;;
    unmute) unmute_node "$2" ;;
    start-node) node_is_running "$2" || start_node "$2" ;;
    stop-controller) if [ "${2:-}" = -k ]; then stop_controller KILL; else stop_controller; fi ;;
    start-controller) is_running "$run/slurmctld.pid" slurmctld || start_controller ;;
    stop-database) stop_slurmdbd ;;
    start-database) is_running "$run/slurmdbd.pid" slurmdbd || start_slurmdbd ;;
    mend) mend ;;
    *) die "unknown command ${1:-}: see the top of this file" ;;
  esac
}

check_node() { [ -n "${gpus[${1:-?}]:-}" ] || die "no node ${1:-}: there are ${nodes[*]}"; }

run_on_node() {
  local pid
  pid=$(cat "$run/slurmd.$1.pid") || die "$1 is not running"
  shift
  exec nsenter -t "$pid" -m -u -n "$@"
}

mend() {
  local node
  is_running "$run/mysql/mariadbd.pid" mariadbd || start_mariadb
  is_running "$run/slurmdbd.pid" slurmdbd || start_slurmdbd
  is_running "$run/slurmctld.pid" slurmctld || start_controller
  for node in "${nodes[@]}"; do
    is_plugged "$node" || set_cables "$node" up
    can_talk "$node" || unmute_node "$node"
    node_is_running "$node" || start_node "$node"
  done
  wait_until 60 wake_nodes || die "some nodes do not come back: $(sinfo -h -N -o '%N %T' | sort -u | tr '\n' ' ')"
}

main "$@"
