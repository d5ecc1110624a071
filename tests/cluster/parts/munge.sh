# shellcheck shell=bash disable=SC2154
# munged, by which the daemons know who speaks. One that runs already is used and left alone. Sourced.

start_munge() {
  munge -n >/dev/null 2>&1 && return 0
  install -d -m 755 -o munge -g munge /run/munge "$run/munge"
  as_host login1 setpriv --reuid munge --regid munge --clear-groups munged --force --pid-file="$run/munge/munged.pid"
  wait_until 10 munge -n || die "munged does not answer"
}

stop_munge() { stop_daemon "$run/munge/munged.pid" munged; }
