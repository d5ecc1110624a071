# shellcheck shell=bash disable=SC2154
# A small Lmod hierarchy: openmpi is seen only once gcc/12.3 is loaded. Sourced.

make_modules() {
  local file
  (cd "$here/config/modules" && find . -name '*.lua') | while read -r file; do
    mkdir -p "$root/modules/${file%/*}"
    fill <"$here/config/modules/$file" >"$root/modules/$file"
  done
  sed -i "1i $root/modules/core" /etc/lmod/modulespath
}

remove_modules() { [ ! -e /etc/lmod/modulespath ] || sed -i "\\|^$root/modules/core\$|d" /etc/lmod/modulespath; }
