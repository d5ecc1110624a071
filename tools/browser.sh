#!/bin/bash
# What the tests with a real browser need: Chromium by apt (root on Debian or Ubuntu), Playwright into .venv, axe-core
# into .cache/browser by its lock file. Quick, and without the network, when all of it is there.
# Exit 75 with one sentence where that cannot be done: the tests are then skipped, with the reason.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pins=tests/web/browser/assets
cache=.cache/browser

main() {
  find_chromium || install_chromium
  tools/venv.sh browser
  tools/assets.sh || give_up "the pages' own scripts cannot be fetched"
  fetch_axe
}

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null

install_chromium() {
  [ "$(id -u)" = 0 ] || give_up "there is no Chromium on PATH, and only root can install one"
  command -v apt-get >/dev/null || give_up "there is no Chromium on PATH, and no apt-get to install it by"
  tools/apt-install.sh chromium fonts-dejavu-core || give_up "apt-get cannot install chromium"
}

# Aside, then in its place: a half-filled folder is never taken for a whole one.
fetch_axe() {
  local wanted
  wanted=$(sha256sum <$pins/package-lock.json)
  [ "$(cat $cache/.lock 2>/dev/null)" != "$wanted" ] || return 0
  rm -rf $cache $cache.new
  mkdir -p $cache.new
  cp $pins/package.json $pins/package-lock.json $pins/.npmrc $cache.new
  tools/assets.sh $cache.new || give_up "axe-core cannot be fetched"
  echo "$wanted" >$cache.new/.lock
  mv $cache.new $cache
}

give_up() {
  echo "browser: $*" >&2
  exit 75
}

main
