# shellcheck shell=bash disable=SC2034
# The facts of the test cluster that several scripts need. Sourced, never run.
root=${WINDLASS_CLUSTER_ROOT:-/srv/windlass-cluster}
login_port=${WINDLASS_CLUSTER_LOGIN_PORT:-22022}
jump_port=${WINDLASS_CLUSTER_JUMP_PORT:-22023}
database_port=${WINDLASS_CLUSTER_DATABASE_PORT:-23306}
network=${WINDLASS_CLUSTER_NETWORK:-10.77.0}
# A second network for the trainings, as many centres have one: node1i is node1 there.
fabric=${WINDLASS_CLUSTER_FABRIC:-10.77.1}
# auto, yes or no: real memory and device limits need writable cgroups v1.
cgroups=${WINDLASS_CLUSTER_CGROUPS:-auto}
# Where apptainer.sh puts it; without it there is no module of that name.
apptainer=${WINDLASS_TEST_CACHE:-/var/cache/windlass-tests}/apptainer

etc=$root/etc       # filled templates, the same files on every node
run=$root/run       # pid files and the state of the daemons
log=$root/log       # stays after down.sh
ssh=$root/ssh       # keys and ssh_config of the clients

nodes=(node1 node2 node3 node4)
declare -A gpus=([node1]=4 [node2]=4 [node3]=2 [node4]=0)
# So many besides, without GPUs, for benchmarks; all of them are the partition `wide`. What is up knows how many it has.
more_nodes=${WINDLASS_CLUSTER_MORE_NODES:-$(cat "$run/more_nodes" 2>/dev/null || echo 0)}
for ((i = 1; i <= more_nodes; i++)); do nodes+=("node$((4 + i))") && gpus[node$((4 + i))]=0; done
users=(alice bob carol)
first_uid=5001
bridge=windlass0
# Written where we leave something outside $root, so that down.sh removes what is ours and nothing else.
mark=windlass-test-cluster
