#!/bin/bash
# Read by bash inside the house (centre-house.sh): `start-database CLUSTER`, `start-controller`, `stop`, `reconfigure`.
# The configuration comes from /share/etc.
set -euo pipefail

main() {
  case $1 in
    start-database)
      take_configuration
      install -d -o slurm -g slurm /run/slurm /run/slurm/state
      # It may have been started before.
      mariadb --no-defaults --socket=/run/mysql/socket -e \
        "drop database if exists accounts_$2; create database accounts_$2"
      slurmdbd
      wait_until sacctmgr -n list cluster
      sacctmgr -i -Q add cluster "$2" >/dev/null
      ;;
    start-controller)
      slurmctld
      wait_until controller_answers
      ;;
    reconfigure)
      take_configuration
      scontrol reconfigure
      ;;
    stop)
      stop slurmctld
      stop slurmdbd
      rm -rf /run/slurm
      ;;
  esac
}

take_configuration() {
  rm -f /etc/slurm/*
  install -m 644 /share/etc/* /etc/slurm/
  # slurmdbd refuses a file that others may read.
  chown slurm:slurm /etc/slurm/slurmdbd.conf
  chmod 600 /etc/slurm/slurmdbd.conf
  touch /share/log/slurmctld.log /share/log/slurmdbd.log
  chown slurm:slurm /share/log /share/log/slurm*.log
}

controller_answers() { scontrol ping | grep -q 'is UP'; }

wait_until() {
  local deadline=$((SECONDS + 20))
  until "$@" >/tmp/last-words 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "$*: not within 20 s: $(tail -5 /tmp/last-words)" >&2; exit 1; }
    sleep 0.05
  done
}

# Killed: nothing of a centre is wanted any more, and slurmctld takes seconds to say good-bye.
stop() {
  local pid
  pid=$(cat "/run/slurm/$1.pid" 2>/dev/null) || return 0
  kill -KILL "$pid" 2>/dev/null || return 0
  wait_until is_gone "$pid"
}

is_gone() { [ ! -e "/proc/$1" ] || grep -q '^State:[[:space:]]*Z' "/proc/$1/status"; }

main "$@"
