#!/bin/bash
# All tests at once: one worker takes those with the real Slurm, one after another, the others take the rest.
# Those with the big frameworks are left to `make test-frameworks`, those with libraries of data to `make test-data`.
# Where Slurm, or Chromium, cannot be had its tests are skipped, with the reason. The last line is pytest's and counts them all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

main() {
  tools/venv.sh test check examples
  tools/assets.sh || echo "test: without the scripts of the dashboard's pages: some tests will fail or be skipped" >&2
  install_browser
  install_slurm
  # Mostly downloads: beside the first tests. Those that need it wait for it, and here they may not be skipped.
  [ "$(id -u)" != 0 ] || tools/services.sh &
  export WINDLASS_NEED_SERVICES=1
  # The fixture `slurm` starts the cluster, and takes it down unless it was up before.
  .venv/bin/python -m pytest -q -n "${WINDLASS_TEST_WORKERS:-3}" --dist loadgroup -m "not frameworks and not peers"
}

install_slurm() { install_where_possible Slurm tests/cluster/install.sh; }

install_browser() { install_where_possible "a browser" tools/browser.sh; }

install_where_possible() {
  local code=0
  "$2" || code=$?
  case $code in
    0) ;;
    75) echo "test: without $1: its tests will be skipped" >&2 ;;
    *) exit "$code" ;;
  esac
}

main
