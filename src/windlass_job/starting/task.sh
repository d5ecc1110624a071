#!/bin/bash
# The first process of a task of srun whose command is one plain program: its rank, the meeting of the nodes, its signal.
# `windlass_job.pyz rank-env` does the same and more. This is bash, because a Python for every node, read from a shared
# disk, is what makes large jobs start slowly; whatever is out of the ordinary is left to that one.
#   task.sh PYTHON ZIP rank-env STOP_SIGNAL COMMAND...
python=$1 zip=$2 stop=$4
shift 4 # the third word is how the agent knows this srun for one of ours

main() {
  [ -n "${SLURM_PROCID:-}" ] || exec "$@"
  set_rank
  [ -n "${MASTER_ADDR:-}" ] || find_first_host # without an agent
  if must_meet; then
    # The first node keeps the door, and says who has not come.
    [ "$SLURM_NODEID" != 0 ] && visit || leave_to_python "$@"
  fi
  run "$@"
}

set_rank() {
  export RANK=$SLURM_PROCID WORLD_SIZE=${SLURM_STEP_NUM_TASKS:-${SLURM_NTASKS:-1}} LOCAL_RANK=${SLURM_LOCALID:-0}
  export NODE_RANK=${SLURM_NODEID:=0} GROUP_RANK=$SLURM_NODEID LOCAL_WORLD_SIZE=1
  local part times left=$SLURM_NODEID parts
  IFS=, read -ra parts <<<"${SLURM_STEP_TASKS_PER_NODE:-${SLURM_TASKS_PER_NODE:-1}}" # 4(x2),3: four, four, three
  for part in "${parts[@]}"; do
    times=1
    [[ $part != *"(x"* ]] || { times=${part#*(x} && times=${times%)}; }
    LOCAL_WORLD_SIZE=${part%%(*}
    ((left >= times)) || return 0
    ((left -= times)) || true
  done
}

find_first_host() {
  MASTER_ADDR=$(scontrol show hostnames "${SLURM_JOB_NODELIST:-}" 2>/dev/null | head -n 1)
  export MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}${MASTER_ADDR:+${WINDLASS_HOST_SUFFIX:-}}
}

# One task of each node, unless the nodes have just proved that they can talk.
must_meet() {
  [ "${SLURM_STEP_NUM_NODES:-${SLURM_NNODES:-1}}" != 1 ] && [ "$LOCAL_RANK" = 0 ] &&
    [ -n "${WINDLASS_PORT_BLOCK:-}" ] && [ -z "${WINDLASS_NETWORK_TESTED:-}" ]
}

visit() {
  timeout 20 bash -c '
    for ((turn = 0; turn < 60; turn++)); do
      if { exec 3<>"/dev/tcp/$1/$2"; } 2>/dev/null; then
        printf "%s\n" "$3" >&3
        read -r answer <&3 && [ "$answer" = go ] && exit 0
      fi
      sleep 0.1
    done
    exit 1' visit "$MASTER_ADDR" "$((WINDLASS_PORT_BLOCK + 2))" "windlass $SLURM_JOB_ID.$SLURM_STEP_ID $SLURM_NODEID"
}

leave_to_python() { exec "$python" -I "$zip" rank-env --stop-signal "$stop" -- "$@"; }

# srun hands the signal to stop only to this process, and kills those that still save when one ends with an error.
run() {
  local code asked= woken=
  set -m # else the program would not get SIGINT, nor its standard input
  trap 'asked=1 woken=1; kill -s "$stop" "$child"' USR1 TERM INT HUP "$stop"
  "$@" &
  child=$!
  { sleep 20 && exec "$python" -I "$zip" task-fence "$child"; } &
  fence=$!
  exec 2>/dev/null # bash tells of a job that was killed; srun tells it too
  while :; do
    woken=
    wait "$child"
    code=$?
    [ -n "$woken" ] || break # a signal came, and the program may go on
  done
  kill -- "-$fence"
  [ -z "$asked" ] || [ "$code" != "$((128 + $(kill -l "$stop")))" ] || code=0
  exit "$code"
}

main "$@"
