#!/bin/bash
# Become a compute node: called in fresh mount, UTS and network namespaces, ends as that node's slurmd.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/settings.sh"
node=$1
own=$run/nodes/$node

main() {
  hostname "$node"
  mount --make-rprivate /
  make_devices "$own/dev"
  own_directory localscratch /localscratch 755
  own_directory vartmp /var/tmp 1777
  own_directory tmp /tmp 1777
  cd /
  start_sshd
  exec slurmd -N "$node"
}

own_directory() {
  mkdir -p "$own/$1" "$2"
  chmod "$3" "$own/$1"
  mount --bind "$own/$1" "$2"
}

# The usual devices, a /dev/shm of its own, and GPUs without a driver (major 195): open() says ENXIO,
# or EPERM for a GPU that the job was not given.
make_devices() {
  local name i
  mkdir -p "$1"
  mount -t tmpfs -o mode=755 tmpfs "$1"
  for name in null zero full random urandom tty fuse; do [ ! -e "/dev/$name" ] || cp -a "/dev/$name" "$1/$name"; done
  [ ! -e "$1/fuse" ] || chmod 666 "$1/fuse"
  mkdir "$1/pts" "$1/shm" "$1/mqueue"
  mount --rbind /dev/pts "$1/pts"
  # Not a link to pts/ptmx: where that has mode 000, srun --pty cannot open it.
  mknod -m 666 "$1/ptmx" c 5 2
  mount -t tmpfs -o mode=1777,size=2g tmpfs "$1/shm"
  ln -s /proc/self/fd "$1/fd"
  for i in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${i%:*}" "$1/${i#*:}"; done
  for ((i = 0; i < gpus[$node]; i++)); do mknod -m 666 "$1/nvidia$i" c 195 "$i"; done
  [ "${gpus[$node]}" = 0 ] || mknod -m 666 "$1/nvidiactl" c 195 255
  mount --move "$1" /dev
}

# Lets a user in who has a job here (pam_slurm_adopt, which needs cgroups); without it nobody.
start_sshd() {
  [ "$(cat "$run/cgroups")" = yes ] && [ -e /lib/security/pam_slurm_adopt.so ] || return 0
  mkdir -p /run/sshd
  mount --bind "$etc/pam_sshd_node" /etc/pam.d/sshd
  /usr/sbin/sshd -f "$etc/sshd_node" -o PidFile="$run/sshd.$node.pid" -E "$log/sshd.$node.log"
}

main
