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
    ip -n "windlass-$node" link set lo up
    ip -n "windlass-$node" link set eth0 up
  done
  name_hosts
}

# The first name of a line is what a look-up of the address gives.
name_hosts() {
  local i
  {
    echo "$network.1 login1 slurmctl gateway # $mark"
    for i in "${!nodes[@]}"; do echo "$network.1$((i + 1)) ${nodes[i]} # $mark"; done
  } >>/etc/hosts
}

remove_network() {
  local node hosts
  for node in "${nodes[@]}"; do
    ip link del "wl-$node" 2>/dev/null
    ip netns del "windlass-$node" 2>/dev/null
  done
  ip link del "$bridge" 2>/dev/null
  # Written in place: where /etc/hosts is a mount (containers), it cannot be replaced.
  hosts=$(grep -v " # $mark\$" /etc/hosts)
  grep -q " # $mark\$" /etc/hosts && printf '%s\n' "$hosts" >/etc/hosts
  return 0
}

is_plugged() { ip -o link show "wl-$1" 2>/dev/null | grep -q '[<,]UP[,>]'; }
