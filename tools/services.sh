#!/bin/bash
# services.sh: JupyterLab and TensorBoard where the nodes of the test cluster see them, for the tests that open them.
# 300 MB; half a minute the first time, quick when nothing has changed. Ends with 75 where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=${WINDLASS_TEST_CACHE:-/var/cache/windlass-tests}/services
# Of the system, not of somebody's home: the users of the test cluster run it too.
python=${PYTHON:-/usr/bin/python3}

main() {
  local wanted
  wanted=$(cat tools/services.sh constraints-services.txt | sha256sum | cut -d ' ' -f 1)
  mkdir -p "${venv%/*}"
  exec 9>"$venv.lock"
  flock 9
  [ "$(cat "$venv/.complete" 2>/dev/null)" != "$wanted" ] || return 0
  rm -rf "$venv"
  "$python" -m venv --without-pip "$venv"
  install || { echo "services: PyPI cannot be reached" >&2 && exit 75; }
  # Only what is used is compiled: the users of the cluster could not write it.
  "$venv/bin/python" -c 'import ipykernel.kernelapp, jupyterlab.labapp, nbclient, nbformat, tensorboard.program'
  chmod -R a+rX "$venv"
  echo "$wanted" >"$venv/.complete"
}

# The list is complete, so nothing has to be found out.
install() {
  .venv/bin/python -m pip --python "$venv/bin/python" install -q --no-deps --no-compile --disable-pip-version-check \
    -r constraints-services.txt 2> >(grep -v WARNING >&2)
}

main
