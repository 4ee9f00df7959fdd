# Functions for bare systems in a chroot. The scripts that test our packages set `log` and source this file after setup.sh. Only a
# script that reruns itself as `in-its-own-mounts` sees what is mounted here.

chroot="$root/build/chroot"
output=$(mktemp)

# fail WHAT: prints the end of the log and stops.
fail() {
  tail -n 20 "$log" >&2
  stop "$1 (all output is in build/$(basename -- "$log"))"
}
# inside COMMAND...: runs it in the chroot, as root, without this environment.
inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$chroot" "$@"
}
# try WHAT COMMAND...: runs it in the chroot; its output goes to the log and to the file `output`.
try() {
  local what=$1
  shift
  say "$what"
  inside "$@" </dev/null >"$output" 2>&1 || { cat "$output" >>"$log"; fail "'$what' failed"; }
  cat "$output" >>"$log"
}
# says WHAT TEXT: fails unless the last command printed TEXT.
says() { grep -qF -- "$2" "$output" || fail "'$1' did not say '$2'"; }

# mirror: prints this machine's mirrors, from either of apt's two formats.
mirror() {
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([a-z]*:[^ ]*\) bookworm .*/\2/p' "$file"
  done
  for file in /etc/apt/sources.list.d/*.sources; do
    awk '/^URIs:/ {uri = $2} /^Suites:/ && / bookworm( |$)/ {print uri} ' "$file"
  done
}

# in_own_mounts ARGUMENT: reruns the script with its own mounts and exits with its status; returns if it already has them.
in_own_mounts() {
  [ "$(id -u)" = 0 ] || stop "it needs root, for chroot; try sudo"
  # Mounts for the chroot are visible only to this script and disappear with it, before the chroot is removed.
  if [ "$1" != in-its-own-mounts ]; then
    need_packages package check
    rm -rf -- "$chroot"
    local code=0
    unshare --mount "$root/$program" in-its-own-mounts || code=$?
    rm -rf -- "$chroot"
    exit "$code"
  fi
}

# bare RELEASE: creates a new chroot with only the minimal base of this Debian release, which is kept in build/bare-RELEASE.tar.
bare() {
  local kept="$root/build/bare-$1.tar" url setting
  url=$(mirror | sed -n 1p)
  [ -n "$url" ] || stop "apt's sources of this machine name no mirror of Debian 12 (bookworm)"
  if mountpoint -q "$chroot/proc"; then
    umount "$chroot/proc"
    umount -R "$chroot/dev"
  fi
  rm -rf -- "$chroot"
  mkdir -p "$chroot"
  if [ ! -f "$kept" ]; then
    say "a bare Debian by debootstrap, kept in build/bare-$1.tar"
    debootstrap --variant=minbase "$1" "$chroot" "$url" >>"$log" 2>&1 || fail "debootstrap failed"
    tar -C "$chroot" -cf "$kept.tmp" . && mv "$kept.tmp" "$kept"
  else
    tar -C "$chroot" -xf "$kept"
  fi
  if [ "$1" = bookworm ]; then
    rm -f "$chroot/etc/apt/sources.list"
    cp -a /etc/apt/sources.list.d/debian.sources "$chroot/etc/apt/sources.list.d/" 2>/dev/null ||
      cp -a /etc/apt/sources.list "$chroot/etc/apt/"
  fi
  for setting in /etc/apt/apt.conf.d/*[pP]roxy*; do
    [ ! -f "$setting" ] || cp -- "$setting" "$chroot/etc/apt/apt.conf.d/"
  done
  cp -L /etc/resolv.conf "$chroot/etc/resolv.conf"
  mount -t proc proc "$chroot/proc"
  mount --rbind /dev "$chroot/dev"
}
