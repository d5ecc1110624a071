#!/bin/bash
# frameworks.sh: .venv-frameworks with every framework that a launcher is for, CPU builds, for `make test-frameworks`.
# About 5 GB and ten minutes the first time (Horovod is compiled); quick when nothing has changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.venv-frameworks
stamp=$venv/.windlass-complete
torch=(torch==2.13.0 numpy)
# Of the system, not of somebody's home: the users of the test cluster run it too.
python=${PYTHON:-/usr/bin/python3}

main() {
  local wanted
  wanted=$({ pwd && cat tools/frameworks.sh constraints-frameworks.txt; } | sha256sum | cut -d ' ' -f 1)
  [ "$(cat $stamp 2>/dev/null)" != "$wanted" ] || return 0
  install_programs
  [ -x $venv/bin/python ] || "$python" -m venv $venv
  say "PyTorch and what is built on it"
  pip_install "${torch[@]}" 'setuptools<81' wheel cloudpickle psutil pyyaml packaging cffi
  pip_install lightning accelerate transformers scikit-learn
  pip_install --no-build-isolation deepspeed
  DS_ACCELERATOR=cpu TORCH_EXTENSIONS_DIR=$PWD/$venv/.extensions PATH=$PWD/$venv/bin:$PATH \
    $venv/bin/python -c 'from deepspeed.comm.torch import build_shm_op; build_shm_op()' >&2
  say "TensorFlow"
  pip_install tensorflow-cpu
  pip_install --no-deps tf-keras
  say "MPI and Spark"
  pip_install --no-build-isolation mpi4py
  pip_install pyspark
  say "Horovod: it is compiled, which takes minutes"
  install_horovod
  say "bytecode, which the users of the test cluster could not write"
  $venv/bin/python -m compileall -q -j 2 $venv/lib || true # some packages carry files of other versions of Python
  echo "$wanted" >$stamp
}

# Java for Spark, MPI, and a compiler for what comes as source.
install_programs() {
  local missing=()
  command -v java >/dev/null || missing+=(openjdk-17-jre-headless)
  command -v mpicc >/dev/null || missing+=(libopenmpi-dev openmpi-bin)
  command -v c++ >/dev/null || missing+=(g++)
  command -v make >/dev/null || missing+=(make)
  command -v cmake >/dev/null || missing+=(cmake)
  command -v numactl >/dev/null || missing+=(numactl)
  compgen -G '/usr/include/python3.*/Python.h' >/dev/null || missing+=(python3-dev)
  "$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
  [ ${#missing[@]} -eq 0 ] || tools/apt-install.sh "${missing[@]}"
}

install_horovod() {
  $venv/bin/python -c 'import horovod.torch' 2>/dev/null && return
  local work
  work=$(mktemp -d)
  # Horovod 0.28.1 asks for C++14, and the headers of PyTorch for more: a compiler that reads the wish otherwise.
  cat >"$work/c++20" <<'WRAPPER'
#!/bin/bash
exec c++ "${@/#-std=*/-std=gnu++20}"
WRAPPER
  chmod +x "$work/c++20"
  CXX=$work/c++20 LDFLAGS=-s MAKEFLAGS=-j2 HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITH_MPI="${HOROVOD_WITH_MPI:-}" \
    HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 pip_install --no-build-isolation --no-deps horovod
  rm -rf "$work"
}

pip_install() {
  $venv/bin/python -m pip install -qq --disable-pip-version-check --no-compile -c constraints-frameworks.txt "$@"
}

say() { echo "frameworks: $*" >&2; }

main "$@"
