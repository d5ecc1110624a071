#!/bin/bash
# farm-peers.sh: .venv-farm-peers with the programs beside which farms are measured, for `python -m benchmarks farm.rates`.
# GNU Parallel comes by apt, the others by pip; a minute the first time, quick when nothing has changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.venv-farm-peers
stamp=$venv/.windlass-complete
python=${PYTHON:-/usr/bin/python3}  # one that users of the test cluster may run

main() {
  local wanted
  wanted=$(cat tools/farm-peers.sh constraints-farm-peers.txt | sha256sum | cut -d ' ' -f 1)
  [ "$(cat $stamp 2>/dev/null)" != "$wanted" ] || return 0
  command -v parallel >/dev/null || tools/apt-install.sh parallel
  command -v cc >/dev/null || tools/apt-install.sh gcc libc6-dev
  [ -x $venv/bin/python ] || "$python" -m venv $venv
  $venv/bin/python -m pip install -qq --disable-pip-version-check -c constraints-farm-peers.txt hyperqueue parsl submitit
  echo "$wanted" >$stamp
}

main "$@"
