# shellcheck shell=bash disable=SC2154
# The compute nodes: a slurmd each, in namespaces of its own. Sourced.

start_node() {
  mkdir -p "$run/spool/$1"
  # Not `ip netns exec`: it mounts a new /sys, which hides the cgroups.
  nsenter --net="/run/netns/windlass-$1" unshare --mount --uts "$here/become-node.sh" "$1" ||
    die "$1 does not start: see $log/slurmd.$1.log"
}

# As a power cut does: whatever is in the node's network namespace is the node's.
kill_node() {
  wait_until 30 has_died "$1" || die "processes of $1 do not die: $(ip netns pids "windlass-$1" | xargs -r ps -o pid,stat,args -p)"
}

# What was started while the others were killed dies with the next look.
has_died() {
  local pid
  for pid in $(ip netns pids "windlass-$1" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
  has_no_process "$1"
}

has_no_process() {
  local pid
  for pid in $(ip netns pids "windlass-$1" 2>/dev/null); do
    grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null || return 1
  done
}

node_is_running() { is_running "$run/slurmd.$1.pid" slurmd; }

nodes_are_idle() { [ "$(sinfo -h -N -o '%N %T' | sort -u | grep -c ' idle$')" = "${#nodes[@]}" ]; }

# True once every node answers and takes jobs. A node that was away for a while is asked again only every 30 s:
# SIGHUP makes its slurmd report at once.
wake_nodes() {
  local node state is_awake=true
  while read -r node state; do
    case $state in
      *drain*) scontrol update "nodename=$node" state=resume ;;
      *\* | down | unknown) kill -HUP "$(cat "$run/slurmd.$node.pid")" ;;
      *) continue ;;
    esac
    is_awake=false
  done < <(sinfo -h -N -o '%N %T' | sort -u)
  $is_awake || { sleep 0.5; return 1; }
}

stop_nodes() {
  local node
  for node in "${nodes[@]}"; do kill_node "$node"; done
  remove_cgroups
}

remove_cgroups() {
  local node directory
  for node in "${nodes[@]}"; do
    for directory in /sys/fs/cgroup/*/slurm_"$node"; do
      [ ! -d "$directory" ] || find "$directory" -depth -type d -exec rmdir {} + 2>/dev/null
    done
  done
}
