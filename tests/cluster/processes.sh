# shellcheck shell=bash
# Start, watch and stop daemons. Sourced, never run.

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# Runs a script again under the lock, so that two never start, stop or break the cluster at once.
# --close: a daemon that inherited the lock would hold it for ever.
take_turn() {
  [ -z "${WINDLASS_CLUSTER_LOCKED:-}" ] || return 0
  export WINDLASS_CLUSTER_LOCKED=1
  exec flock --close /run/windlass-cluster.lock "$@"
}

# wait_until SECONDS COMMAND...
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.1
  done
}

# as_host NAME COMMAND...: the configuration names hosts that this machine is not.
# shellcheck disable=SC2016
as_host() { (cd / && unshare --uts sh -c 'hostname "$0" && exec "$@"' "$@"); }

# is_running PID_FILE PROGRAM. The pid alone proves nothing: another process may have it by now. Nor does the name
# of the process: a newer slurmd calls itself "exe" after SIGHUP. Debian adds -wlm to some; a zombie has no program.
is_running() {
  local pid program
  pid=$(cat "$1" 2>/dev/null) && program=$(readlink "/proc/$pid/exe") || return 1
  case ${program##*/} in "$2" | "$2"[-\ ]*) ;; *) return 1 ;; esac
}

is_not_running() { ! is_running "$@"; }

# stop_daemon PID_FILE PROGRAM [SIGNAL]
stop_daemon() {
  is_running "$1" "$2" || { rm -f "$1"; return 0; }
  kill "-${3:-TERM}" "$(cat "$1")"
  wait_until 15 is_not_running "$1" "$2" || kill -KILL "$(cat "$1")"
  wait_until 5 is_not_running "$1" "$2" || die "$2 does not die (pid $(cat "$1"))"
  rm -f "$1"
}
