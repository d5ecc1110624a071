#!/bin/bash
# venv.sh [EXTRA...]: .venv with this checkout, editable, and the extras named (test check docs bench).
# Versions come from constraints.txt. Quick, and without the network, when nothing has changed.
# $PYTHON names the Python to use; otherwise the first one of version 3.11 or newer is taken.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.venv
stamps=$venv/.windlass
oldest=3.11

main() {
  [ -x $venv/bin/python ] || make_venv
  local wanted missing=()
  wanted=$(key)
  for extra in base "$@"; do
    [ "$(cat "$stamps/$extra" 2>/dev/null)" = "$wanted" ] || missing+=("$extra")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  install "$@"
  mkdir -p $stamps
  for extra in base "$@"; do echo "$wanted" >"$stamps/$extra"; done
}

# The folder too: an editable installation and the scripts of a venv know where they lie.
key() { { pwd && cat pyproject.toml constraints.txt; } | sha256sum | cut -d ' ' -f 1; }

make_venv() {
  local python
  python=$(find_python) || give_up "Windlass needs Python $oldest or newer, and there is none on PATH; set PYTHON=/path/to/python3"
  "$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv_module "$python"
  say "making $venv with $("$python" --version)"
  "$python" -m venv $venv || { rm -rf $venv && give_up "$python cannot make a virtual environment"; }
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if "$candidate" -c "import sys; sys.exit(sys.version_info < (${oldest/./, }))" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# Debian and Ubuntu keep ensurepip in a package of its own.
install_venv_module() {
  local package
  package=$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
  command -v apt-get >/dev/null || give_up "$1 lacks the modules venv and ensurepip"
  [ "$(id -u)" = 0 ] || give_up "$1 lacks the module venv; run: sudo apt-get install $package"
  say "installing $package by apt"
  tools/apt-install.sh "$package" || give_up "apt-get cannot install $package"
}

install() {
  local extras
  extras=$(IFS=, && echo "$*")
  say "installing Windlass${extras:+ with $extras} into $venv"
  # The build backend is installed first and pinned too: an isolated build would fetch the newest one.
  pip_install hatchling editables
  pip_install --no-build-isolation -e ".${extras:+[$extras]}"
}

pip_install() { $venv/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt "$@"; }

say() { echo "venv: $*" >&2; }

give_up() {
  echo "venv: $*" >&2
  exit 1
}

main "$@"
