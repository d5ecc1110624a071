# shellcheck shell=bash disable=SC2154
# Small Lmod hierarchies: gcc, openmpi; and a sticky stage of the year, compiler, MPI, package. Sourced.

make_modules() {
  local file
  (cd "$here/config/modules" && find . -name '*.lua') | while read -r file; do
    mkdir -p "$root/modules/${file%/*}"
    fill <"$here/config/modules/$file" >"$root/modules/$file"
  done
  [ -e "$apptainer/.complete" ] || rm -rf "$root/modules/core/apptainer"
  sed -i "1i $root/modules/core" /etc/lmod/modulespath
}

remove_modules() { [ ! -e /etc/lmod/modulespath ] || sed -i "\\|^$root/modules/core\$|d" /etc/lmod/modulespath; }
