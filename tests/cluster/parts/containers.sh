# shellcheck shell=bash disable=SC2154
# What containers need of the login node: images are mounted through /dev/fuse, which udev opens elsewhere. Sourced.

open_fuse() {
  [ -e /dev/fuse ] || return 0
  stat -c %a /dev/fuse >"$run/fuse.mode"
  chmod 666 /dev/fuse
}

close_fuse() { [ ! -s "$run/fuse.mode" ] || chmod "$(cat "$run/fuse.mode")" /dev/fuse; }
