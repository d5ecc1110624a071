# shellcheck shell=bash disable=SC2154
# MariaDB and slurmdbd: accounts, limits and the history of jobs. Sourced.

make_database() {
  install -d -o mysql -g mysql -m 700 "$run/mysql"
  mariadb-install-db --no-defaults --user=mysql --datadir="$run/mysql" --skip-test-db \
    --auth-root-authentication-method=normal >"$log/mariadb-install.log" 2>&1
  start_mariadb
  ask_mariadb "create database slurm_acct_db;
    create user slurm@'127.0.0.1' identified by 'slurm'; grant all on slurm_acct_db.* to slurm@'127.0.0.1';
    create user slurm@localhost identified by 'slurm'; grant all on slurm_acct_db.* to slurm@localhost;"
}

start_mariadb() {
  # What this loses in a power cut is of no worth: the database lives as long as the cluster.
  setsid mariadbd --no-defaults --user=mysql --datadir="$run/mysql" --socket="$run/mysql/socket" \
    --bind-address=127.0.0.1 --port="$database_port" --pid-file="$run/mysql/mariadbd.pid" \
    --innodb-buffer-pool-size=128M --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=0 \
    --skip-log-bin >>"$log/mariadbd.log" 2>&1 </dev/null &
  wait_until 30 ask_mariadb 'select 1' || die "MariaDB does not answer: see $log/mariadbd.log"
}

ask_mariadb() { mariadb --no-defaults --socket="$run/mysql/socket" -uroot -e "$1"; }

start_slurmdbd() {
  as_host slurmctl slurmdbd
  wait_until 30 sacctmgr -n list cluster || die "slurmdbd does not answer: see $log/slurmdbd.log"
}

# slurmctld wants to find its cluster, and the database learns of gres/gpu from slurmctld: the limits come last.
add_cluster() { sacctmgr -i -Q add cluster windlass >/dev/null; }

add_accounts() {
  sacctmgr -i -Q <"$here/config/accounts.sacctmgr" >"$log/sacctmgr.log" 2>&1
  [ "$(sacctmgr -n -P show assoc user=alice,bob format=account,user | wc -l)" = 4 ] ||
    die "sacctmgr did not make the accounts: see $log/sacctmgr.log"
}

stop_slurmdbd() { stop_daemon "$run/slurmdbd.pid" slurmdbd "$@"; }

stop_mariadb() { stop_daemon "$run/mysql/mariadbd.pid" mariadbd; }
