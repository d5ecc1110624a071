#!/bin/bash
# Write constraints.txt anew: the newest versions that fit pyproject.toml, with the pins named here kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf '%s\n' torch==2.13.0 pytest==9.1.1 >"$work/kept.txt"
python3 tools/list_requirements.py >"$work/wanted.txt"
printf '%s\n' hatchling editables torch numpy scikit-learn >>"$work/wanted.txt"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile -c "$work/kept.txt" -r "$work/wanted.txt"
# The build's name (2.13.0+cpu) is the index's business.
{
  sed -n '/^#/p' constraints.txt
  "$work/venv/bin/pip" freeze | sed 's/+[a-z0-9.]*$//'
} >"$work/constraints.txt"
mv "$work/constraints.txt" constraints.txt
