#!/bin/bash
# centre-house.sh FOLDER: called in fresh mount, network, UTS, IPC and pid namespaces. Becomes a machine of its own with
# munge and MariaDB, in which one centre after another is started. FOLDER/share is /share inside.
# The machine's own files are seen, but /etc is a copy and all else is new and in memory, so nothing of it is left.
set -euo pipefail
users=(rosa piet)
first_uid=5101

main() {
  if [ "$1" != --inside ]; then
    folder=$1
    new=$folder/root
    # Before the new /proc: the number by which the outside knows us.
    read -r pid _ </proc/self/stat
    echo "$pid" >"$folder/pid"
    make_root
    # Not pivot_root: newer Debian has it in a package of its own.
    cp "${BASH_SOURCE[0]}" "$folder/share/house.sh"
    exec chroot "$new" /bin/bash /share/house.sh --inside
  fi
  make_network
  make_users
  start_munge
  start_mariadb
  touch /share/ready
  # As the first process of the namespace it must bury what its daemons leave.
  while true; do sleep 1000; done
}

make_root() {
  local name
  mount --make-rprivate /
  mkdir -p "$new"
  mount -t tmpfs -o mode=755 tmpfs "$new"
  for name in bin sbin lib lib32 lib64 libx32 usr opt dev sys; do
    if [ -L "/$name" ]; then
      cp -a "/$name" "$new/"
    elif [ -d "/$name" ]; then
      mkdir "$new/$name"
      mount --rbind "/$name" "$new/$name"
    fi
  done
  cp -a /etc "$new/etc"
  rm -rf "$new/etc/slurm" "$new/etc/hosts"
  mkdir -p "$new"/{etc/slurm,proc,share,root,home,tmp,run/munge,var/tmp,var/lib/munge,var/log/munge}
  chmod 1777 "$new/tmp" "$new/var/tmp"
  mount -t proc proc "$new/proc"
  mount --bind "$folder/share" "$new/share"
}

# With loopback alone Slurm finds no address to listen at.
make_network() {
  ip link set lo up
  ip link add centre0 type bridge
  ip addr add 10.78.0.1/24 dev centre0
  ip link set centre0 up
  hostname centre
  printf '127.0.0.1 localhost\n10.78.0.1 centre\n' >/etc/hosts
}

make_users() {
  local name uid=$first_uid
  for name in "${users[@]}"; do
    echo "$name:x:$uid:$uid::/home/$name:/bin/bash" >>/etc/passwd
    echo "$name:x:$uid:" >>/etc/group
    install -d -o "$uid" -g "$uid" "/home/$name"
    uid=$((uid + 1))
  done
}

start_munge() {
  chown munge:munge /run/munge /var/lib/munge /var/log/munge
  chmod 700 /var/lib/munge /var/log/munge
  setpriv --reuid munge --regid munge --clear-groups munged --force
}

start_mariadb() {
  local deadline=$((SECONDS + 30))
  install -d -o mysql -g mysql -m 700 /run/mysql
  mariadb-install-db --no-defaults --user=mysql --datadir=/run/mysql --skip-test-db \
    --auth-root-authentication-method=normal >/share/log/mariadb-install.log 2>&1
  setsid mariadbd --no-defaults --user=mysql --datadir=/run/mysql --socket=/run/mysql/socket --bind-address=127.0.0.1 \
    --innodb-buffer-pool-size=128M --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=0 --skip-log-bin \
    >/share/log/mariadbd.log 2>&1 </dev/null &
  until mariadb --no-defaults --socket=/run/mysql/socket -e "
    create user slurm@'127.0.0.1' identified by 'slurm'; grant all on *.* to slurm@'127.0.0.1';
    create user slurm@localhost identified by 'slurm'; grant all on *.* to slurm@localhost;" 2>/dev/null; do
    [ "$SECONDS" -lt "$deadline" ] || exit 1
    sleep 0.05
  done
}

main "$@"
