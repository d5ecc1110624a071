#!/bin/bash
# All tests at once: one worker takes those with the real Slurm, one after another, the others take the rest.
# Those with the big frameworks are left to `make test-frameworks`, those with libraries of data to `make test-data`.
# Where Slurm cannot be had its tests are skipped, with the reason. The last line is pytest's and counts them all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

main() {
  tools/venv.sh test check examples
  install_slurm
  # The fixture `slurm` starts the cluster, and takes it down unless it was up before.
  .venv/bin/python -m pytest -q -n "${WINDLASS_TEST_WORKERS:-3}" --dist loadgroup -m "not frameworks and not peers"
}

install_slurm() {
  local code=0
  tests/cluster/install.sh || code=$?
  case $code in
    0) ;;
    75) echo "test: without Slurm: its tests will be skipped" >&2 ;;
    *) exit "$code" ;;
  esac
}

main
