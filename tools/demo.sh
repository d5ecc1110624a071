#!/bin/bash
# A real training in three linked jobs, on this machine alone. Everything it makes lies in .venv and .demo.
# The first time it installs (root: by apt too); after that it needs no network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD
demo=$here/.demo
data=/usr/share/datasets/fashion-mnist

main() {
  say "1/4  Windlass: installing this checkout into .venv"
  tools/venv.sh
  mkdir -p "$demo"
  write_windlass
  export PATH=$here/.venv/bin:$PATH

  say "2/4  what to train with, and on"
  choose_data
  choose_engine

  choose_pace
  say "3/4  training examples/fashion: $((42 * pace)) s of work, but no job may run for more than $((23 * pace)) s" \
    "(windlass.toml says so), so three jobs follow one another;" \
    "each saves when its time is nearly up, and the next goes on from there"
  cd examples/fashion
  train

  say "4/4  bringing the results home"
  rm -rf "$demo/results"
  "$demo/windlass" fetch last --to "$demo/results"
  tell_end
}

say() { printf '\n\033[1m%s\033[0m\n' "$*" | uncolour >&2; }
uncolour() { if [ -t 2 ] && [ -z "${NO_COLOR:-}" ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }
note() { echo "     $*" >&2; }

# Windlass with its memory of runs inside .demo, so that the demo leaves yours alone.
write_windlass() {
  cat >"$demo/windlass" <<END
#!/bin/sh
export WINDLASS_CONFIG_DIR='$demo/config' WINDLASS_STATE_DIR='$demo/state' WINDLASS_POCKET_DIR='$demo/pocket'
exec '$here/.venv/bin/windlass' "\$@"
END
  chmod +x "$demo/windlass"
}

choose_data() {
  if [ -e $data ] || install_fashion; then
    note "data: Fashion-MNIST, 70,000 pictures of clothes, from the package dataset-fashion-mnist"
  else
    has sklearn || pip_install scikit-learn
    note "data: 1,797 handwritten digits, from inside scikit-learn"
  fi
}

install_fashion() {
  if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    return 1
  fi
  # What could not be had once is not tried again: the second demo needs no network.
  [ ! -e "$demo/no-fashion" ] || return 1
  note "installing dataset-fashion-mnist by apt (30 MB)"
  tools/apt-install.sh dataset-fashion-mnist && return
  touch "$demo/no-fashion"
  return 1
}

choose_engine() {
  has numpy || pip_install numpy
  if has torch || install_torch; then
    note "model: a small convolutional network in PyTorch $(python -c 'import torch; print(torch.__version__)')"
  else
    note "model: a small network in numpy; for PyTorch: .venv/bin/pip install torch, then make demo again"
  fi
}

# Only where pip would bring a CPU build: the CUDA one is gigabytes.
install_torch() {
  [ ! -e "$demo/no-torch" ] || return 1
  local torch
  torch=$(grep '^torch==' constraints.txt)
  if [ "$(df --output=avail -m . | tail -1)" -gt 3000 ] &&
    timeout 120 "${pip[@]}" install -q --dry-run --report "$demo/torch.json" "$torch" numpy >/dev/null 2>&1 &&
    python tools/is_cpu_build.py "$demo/torch.json"; then
    note "installing PyTorch, the CPU build (200 MB)"
    pip_install "$torch" && return
  fi
  touch "$demo/no-torch"
  return 1
}

# A busy machine needs longer to begin: every time of windlass.toml is stretched alike, so three jobs stay three.
choose_pace() {
  local began=$SECONDS
  python -c 'import numpy, importlib.util as i; i.find_spec("torch") and __import__("torch")'
  pace=$(((SECONDS - began) / 4 + 1))
  [ $pace -le 4 ] || pace=4
  stretched=()
  [ $pace -gt 1 ] || return 0
  note "this machine is busy: everything gets $pace times as long"
  stretched=(
    --set "run.command=python train.py --seconds $((42 * pace))" --set "resources.time=$((54 * pace))s"
    --set "resources.link_time=$((23 * pace))s" --set "checkpoint.notice=$((5 * pace))s"
  )
}

# What did not become ready in its time goes on from its checkpoints; any other failure ends the demo.
train() {
  local code=0 again
  "$demo/windlass" run --on here "${stretched[@]}" || code=$?
  for again in 1 2 3; do
    [ $code = 7 ] && is_out_of_time || return $code
    note "the machine was too busy for three jobs: going on ($again of 3)"
    code=0
    "$demo/windlass" resume last || code=$?
  done
  return $code
}

is_out_of_time() {
  "$demo/windlass" ps --json -n 1 |
    python -c 'import json, sys; sys.exit(json.load(sys.stdin)["runs"][0]["state"] != "out of time")'
}

pip=("$here/.venv/bin/python" -m pip --disable-pip-version-check)
pip_install() { "${pip[@]}" install -qq -c "$here/constraints.txt" "$@"; }
has() { python -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)"; }

tell_end() {
  python - "$demo/results/runs/metrics.json" <<'END' >&2
import json, sys
seen = json.load(open(sys.argv[1]))
print(f"\n     accuracy {seen['accuracy']:.1%} on pictures it had never seen, "
      f"after {seen['step']} steps in {len(seen['starts'])} jobs")
END
  note "the loss as a picture   .demo/results/runs/loss.svg"
  note "all its numbers         .demo/results/runs/metrics.json"
  note "script, plan and logs   .demo/results/.windlass/"
  note "look around             .demo/windlass ps    .demo/windlass logs    .demo/windlass explain last"
  note "your own training       cd YOUR/PROJECT && $here/.venv/bin/windlass init"
}

main
