# shellcheck shell=bash disable=SC2154
# slurmctld, which owns the queue. Sourced.

start_controller() {
  as_host slurmctl slurmctld
  wait_until 30 controller_answers || die "slurmctld does not answer: see $log/slurmctld.log"
}

controller_answers() { timeout 5 scontrol ping 2>/dev/null | grep -q 'is UP'; }

stop_controller() { stop_daemon "$run/slurmctld.pid" slurmctld "$@"; }
