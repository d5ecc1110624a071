#!/bin/bash
# as.sh USER COMMAND: run a shell command as a user of the cluster who has just logged in on the login node.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/settings.sh"
. "$here/processes.sh"

[ $# = 2 ] || die "usage: as.sh USER COMMAND"
home=$root/home/$1
[ -d "$home" ] || die "the cluster has no user $1, or is not up"

as_host login1 setpriv --reuid "$1" --regid "$1" --init-groups \
  env -i -C "$home" HOME="$home" USER="$1" LOGNAME="$1" SHELL=/bin/bash LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin \
  bash -lc "$2"
