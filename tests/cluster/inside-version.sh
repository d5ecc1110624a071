#!/bin/bash
# Called by versions.sh in fresh namespaces: change into the image, start its cluster, run the command.
set -euo pipefail
image=$1 project=$2 out=$3
shift 3

mount --make-rprivate /
mount --bind "$image" "$image"
mount -t proc proc "$image/proc"
mount --rbind /sys "$image/sys"
mount --rbind /dev "$image/dev"
mount -t tmpfs tmpfs "$image/run"
mount -t tmpfs -o mode=1777 tmpfs "$image/tmp"
mount --bind "$out" "$image/out"
mount --bind "$project" "$image/project"
mount -o remount,bind,ro "$image/project"
cd "$image"
pivot_root . .old
cd /project
umount -l /.old
ip link set lo up

# The cgroups of the machine are seen from here too, and belong to its own cluster.
export WINDLASS_CLUSTER_CGROUPS=no PYTHONDONTWRITEBYTECODE=1
export HOME=/root LC_ALL=C.UTF-8 PATH=/opt/windlass/bin:/usr/sbin:/usr/bin:/sbin:/bin
# What an earlier run was killed over.
tests/cluster/down.sh >/dev/null
tests/cluster/up.sh >/out/up.log 2>&1 || {
  cat /out/up.log >&2
  exit 75
}
status=0
"$@" || status=$?
cp -r /srv/windlass-cluster/log /out/
exit "$status"
