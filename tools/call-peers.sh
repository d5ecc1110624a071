#!/bin/bash
# call-peers.sh: .venv-call-peers with the libraries that call Python functions in warm workers, beside which
# `python -m benchmarks farm_calls` measures windlass.Executor. About 200 MB; quick when nothing has changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.venv-call-peers
stamp=$venv/.windlass-complete
python=${PYTHON:-python3}

wanted=$(cat tools/call-peers.sh constraints-call-peers.txt | sha256sum | cut -d ' ' -f 1)
[ "$(cat $stamp 2>/dev/null)" != "$wanted" ] || exit 0
[ -x $venv/bin/python ] || "$python" -m venv $venv
$venv/bin/python -m pip install -qq --disable-pip-version-check -c constraints-call-peers.txt parsl distributed executorlib
echo "$wanted" >$stamp
