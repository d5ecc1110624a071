#!/bin/bash
# All tests at once: one worker takes those with the real Slurm, one after another, the others take the rest.
# Those with the big frameworks are left to `make test-frameworks`, those with libraries of data to `make test-data`.
# Where Slurm, or Chromium, cannot be had its tests are skipped, with the reason. Of pytest's last lines the first counts them all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
most_shaky=5

main() {
  tools/venv.sh test check examples
  tools/assets.sh || echo "test: without the scripts of the dashboard's pages: some tests will fail or be skipped" >&2
  install_browser
  install_slurm
  # Mostly downloads: beside the first tests. Those that need it wait for it, and here they may not be skipped.
  [ "$(id -u)" != 0 ] || tools/services.sh &
  export WINDLASS_NEED_SERVICES=1
  # The fixture `slurm` starts the cluster, and takes it down unless it was up before.
  run_all || look_again $?
}

run_all() {
  .venv/bin/python -m pytest -q --cache-clear -n "${WINDLASS_TEST_WORKERS:-3}" --dist loadgroup -m "not frameworks and not peers"
}

# Real servers, a real browser and three workers on two cores: now and then something comes too late. A few that failed are
# run once more, one at a time; what passes then is named, for it is shaky and wants mending. What fails twice is broken.
look_again() {
  local names
  [ "$1" = 1 ] || exit "$1"
  mapfile -t names < <(list_failed)
  [ ${#names[@]} -gt 0 ] && [ ${#names[@]} -le "$most_shaky" ] || exit "$1"
  echo "test: once more, one at a time: these failed beside the others"
  .venv/bin/python -m pytest -q "${names[@]}" || exit "$1"
  printf 'test: SHAKY, passed only alone: %s\n' "${names[@]}"
}

# Without the groups that pytest-xdist has written behind them: by those names nothing would be found.
list_failed() {
  .venv/bin/python - <<'END'
import json, re
for name in json.load(open(".pytest_cache/v/cache/lastfailed")):
    print(re.sub(r"@\w+$", "", name))
END
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
