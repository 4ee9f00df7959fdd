# Functions for ./quickstart, ./run-tests and the scripts here, which source this file in bash; `program` is the caller's name.
set -euo pipefail

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
program=$(basename -- "$0")

say() { printf '%s: %s\n' "$program" "$*"; }
stop() { printf '%s: %s\n' "$program" "$*" >&2; exit 1; }

# help: prints the comment at the head of the program.
help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }

# Under sudo, gives the build's files back to the calling user, who may continue without sudo.
give_back() {
  if [ "$(id -u)" = 0 ] && [ -n "${SUDO_UID:-}" ]; then
    chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$root/build" "$root/runs" 2>/dev/null || true
  fi
}

# begin: the first step of every script.
begin() {
  mkdir -p "$root/build" 2>/dev/null && [ -w "$root/build" ] ||
    stop "cannot write to '$root/build'; make the folder writable for you, or run this through sudo"
  trap give_back EXIT
}

# packages_of GROUP...: prints the packages in tools/packages for these groups.
packages_of() {
  local group package rest
  while read -r group package rest; do
    case " $* " in *" $group "*) echo "$package" ;; esac
  done < <(grep -v '^#' "$root/tools/packages")
}

# missing_of PACKAGE...: prints the packages that are not installed.
missing_of() {
  local installed package
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do grep -qxF "$package installed" <<<"$installed" || echo "$package"; done
}

# need_packages GROUP...: installs missing packages of these groups; if none is missing, it neither calls apt-get nor needs root.
need_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    stop "this set-up needs Debian 12, Ubuntu 24.04 or later (apt-get is not here); with what tools/packages lists" \
      "installed by other means, 'cmake --preset release && cmake --build --preset release' builds the program"
  local wanted missing log="$root/build/install.log"
  mapfile -t wanted < <(packages_of "$@")
  mapfile -t missing < <(missing_of "${wanted[@]}")
  if [ ${#missing[@]} -gt 0 ]; then
    local as_root=(env)
    if [ "$(id -u)" != 0 ]; then
      command -v sudo >/dev/null ||
        stop "these packages are missing and only root can install them (there is no sudo here): ${missing[*]}"
      as_root=(sudo env)
      # Without a terminal, no password can be typed for sudo.
      [ -t 0 ] || as_root=(sudo -n env)
      "${as_root[@]}" true || stop "these packages are missing and sudo did not let you install them: ${missing[*]}"
    fi
    say "installing ${#missing[@]} packages: ${missing[*]}"
    local apt=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -y -q -o DPkg::Lock::Timeout=300)
    local get=("${apt[@]}" install --no-install-recommends "${missing[@]}")
    # If it fails, perhaps because the package lists are missing or old, fetches these and tries once more.
    "${get[@]}" </dev/null >"$log" 2>&1 ||
      { "${apt[@]}" update </dev/null >>"$log" 2>&1 && "${get[@]}" </dev/null >>"$log" 2>&1; } ||
      { grep -E '^(E|Err|W):' "$log" | tail -n 5 >&2
        stop "apt-get could not install the missing packages, for the reason above (all it said is in build/install.log)"; }
  fi
  local cmake_version
  cmake_version=$(cmake --version | sed -n '1s/[^0-9]*//p')
  printf '3.25\n%s\n' "$cmake_version" | sort -V -C ||
    stop "CMake $cmake_version at $(command -v cmake) is too old; 3.25 (Debian 12, Ubuntu 24.04) or later is needed"
}

jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 1)}

# quietly PRESET COMMAND...: appends the command's output to build/PRESET.log, and shows it only if the command fails.
quietly() {
  local preset=$1 log="$root/build/$1.log"
  shift
  (cd -- "$root" && "$@") >>"$log" 2>&1 || {
    { grep -m 1 -A 20 -E '^FAILED|^CMake Error|error:' "$log" || tail -n 20 "$log"; } >&2
    stop "the build of preset '$preset' failed (all of its output is in build/$preset.log)"
  }
}

# configure PRESET: configures the preset and begins build/PRESET.log.
configure() {
  local preset=$1 cache="$root/build/$1/CMakeCache.txt" fresh=()
  # CMake's cache is invalid once its folder has been moved or copied.
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then fresh=(--fresh); fi
  : >"$root/build/$preset.log"
  quietly "$preset" cmake --preset "$preset" ${fresh[@]+"${fresh[@]}"}
}

# build PRESET [OPTION...]: configures and builds one preset, silently unless it fails. Options are those of cmake --build.
build() {
  local preset=$1 begun=$SECONDS
  shift
  say "building preset '$preset'"
  configure "$preset"
  quietly "$preset" cmake --build --preset "$preset" --parallel "$jobs" "$@"
  say "built preset '$preset' in $((SECONDS - begun)) s"
}

# build_levels TARGET...: makes the builds for newer processors that packages, archives and wheels have in addition to the
# portable one.
build_levels() {
  local level
  for level in x86-64-v3 x86-64-v4; do build "$level" --target "$@"; done
}

# date_as_epoch: makes a tree give the same files on any day: reproducible-builds.org/specs/source-date-epoch
date_as_epoch() {
  [ -n "${SOURCE_DATE_EPOCH:-}" ] || SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null) || SOURCE_DATE_EPOCH=$(date +%s)
  export SOURCE_DATE_EPOCH
}
