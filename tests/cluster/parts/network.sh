# shellcheck shell=bash disable=SC2154
# A network namespace per node, joined by a bridge; no node has a route to the outside. Sourced.

make_network() {
  local i node
  ip link add "$bridge" type bridge
  ip addr add "$network.1/24" dev "$bridge"
  ip link set "$bridge" up
  for i in "${!nodes[@]}"; do
    node=${nodes[i]}
    ip netns add "windlass-$node"
    ip link add "wl-$node" type veth peer name eth0 netns "windlass-$node"
    ip link set "wl-$node" master "$bridge" up
    ip -n "windlass-$node" addr add "$network.1$((i + 1))/24" dev eth0
    # A card of its own: Open MPI does not bear two addresses on one.
    ip link add "wf-$node" type veth peer name ib0 netns "windlass-$node"
    ip link set "wf-$node" master "$bridge" up
    ip -n "windlass-$node" addr add "$fabric.1$((i + 1))/24" dev ib0
    ip -n "windlass-$node" link set lo up
    ip -n "windlass-$node" link set eth0 up
    ip -n "windlass-$node" link set ib0 up
  done
  name_hosts
}

# The first name of a line is what a look-up of the address gives.
name_hosts() {
  local i
  {
    echo "$network.1 login1 slurmctl gateway # $mark"
    for i in "${!nodes[@]}"; do
      echo "$network.1$((i + 1)) ${nodes[i]} # $mark"
      echo "$fabric.1$((i + 1)) ${nodes[i]}i # $mark"
    done
  } >>/etc/hosts
}

remove_network() {
  local node hosts
  for node in "${nodes[@]}"; do
    ip link del "wl-$node" 2>/dev/null
    ip link del "wf-$node" 2>/dev/null
    ip netns del "windlass-$node" 2>/dev/null
  done
  ip link del "$bridge" 2>/dev/null
  # Written in place: where /etc/hosts is a mount (containers), it cannot be replaced.
  hosts=$(grep -v " # $mark\$" /etc/hosts)
  grep -q " # $mark\$" /etc/hosts && printf '%s\n' "$hosts" >/etc/hosts
  return 0
}

# Whatever it sends to the others over the fabric goes to a card that is not there; Slurm's network stays as it is.
mute_node() {
  local i
  for i in "${!nodes[@]}"; do
    [ "${nodes[i]}" = "$1" ] || ip -n "windlass-$1" neigh replace "$fabric.1$((i + 1))" \
      lladdr 02:00:00:00:00:99 dev ib0 nud permanent
  done
}

unmute_node() { ip -n "windlass-$1" neigh flush nud permanent dev ib0; }

can_talk() { [ -z "$(ip -n "windlass-$1" neigh show nud permanent dev ib0)" ]; }

# Both of its cards, up or down.
set_cables() {
  ip link set "wl-$1" "$2"
  ip link set "wf-$1" "$2"
}

is_plugged() { ip -o link show "wl-$1" 2>/dev/null | grep -q '[<,]UP[,>]'; }
