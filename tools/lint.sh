#!/bin/bash
# What a machine can say about the code without running it. All of it is run, then the failures are counted.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
PATH=$PWD/.venv/bin:$PATH
failed=()

main() {
  step ruff ruff check -q .
  step format ruff format -q --check .
  step types mypy src/windlass src/windlass_job tests tools benchmarks
  step imports lint-imports
  # The nodes' own Python may be as old as 3.6; annotations are counted too, since it evaluates them.
  step python3.6 vermin -q --no-tips --eval-annotations -t=3.6- --violations src/windlass_job
  step reference python tools/make_reference.py --check
  step spelling typos
  [ ${#failed[@]} -eq 0 ] || {
    echo "lint: failed: ${failed[*]}" >&2
    exit 1
  }
}

step() {
  local name=$1 output began=$SECONDS
  shift
  if output=$("$@" 2>&1); then
    echo "lint: $name is fine ($((SECONDS - began)) s)"
  else
    printf '%s\n' "$output" >&2
    failed+=("$name")
  fi
}

main
