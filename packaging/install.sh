#!/bin/sh
# Installs linespeed for one user, without root: sh install.sh [--prefix FOLDER] [--remove]
#
# The program goes to ~/.local/bin, its manual pages and completions to ~/.local/share.
set -u

here=$(dirname "$0")
prefix=
remove=

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

usage() {
    echo "usage: sh install.sh [--prefix FOLDER] [--remove]" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ -n "${2:-}" ] || usage; prefix=$2; shift ;;
        --prefix=?*) prefix=${1#--prefix=} ;;
        --remove) remove=1 ;;
        *) usage ;;
    esac
    shift
done
if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set; specify a directory: sh install.sh --prefix FOLDER"
    prefix=$HOME/.local
fi
case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
esac

# Prints the files to install, one per line: the file in the archive, and its destination.
places() {
    echo "linespeed bin/linespeed"
    for page in "$here"/man/*.1; do
        [ ! -e "$page" ] || echo "man/${page##*/} share/man/man1/${page##*/}"
    done
    echo "completions/linespeed.bash share/bash-completion/completions/linespeed"
    echo "completions/_linespeed share/zsh/site-functions/_linespeed"
    echo "completions/linespeed.fish share/fish/vendor_completions.d/linespeed.fish"
}

if [ -n "$remove" ]; then
    [ -e "$prefix/bin/linespeed" ] || fail "$prefix/bin/linespeed does not exist; nothing was removed"
    places | while read -r _ place; do
        rm -f "$prefix/$place" || exit 1
    done || exit 1
    echo "removed from $prefix; records remain in ${XDG_STATE_HOME:-~/.local/state}/linespeed"
    exit 0
fi

[ -f "$here/linespeed" ] || fail "$here/linespeed does not exist; unpack the complete archive"
# Checked before anything is written, so that a damaged program, or one for other processors, does not replace a working one.
version=$("$here/linespeed" --version 2>&1) ||
    fail "$here/linespeed does not run on this machine ($(uname -sm)): $version"

places | while read -r file place; do
    into=$prefix/$place
    [ ! -d "$into" ] || { echo "install.sh: $into is a folder" >&2; exit 1; }
    mkdir -p "$(dirname "$into")" && cp "$here/$file" "$into.new" && mv -f "$into.new" "$into" || exit 1
done || fail "could not write to $prefix; specify another directory: sh install.sh --prefix FOLDER"
chmod 755 "$prefix/bin/linespeed" || exit 1

echo "$version is in $prefix/bin"
case :${PATH:-}: in
    *:"$prefix/bin":*) ;;
    *)
        echo "$prefix/bin is not in PATH; to add it at every login, add this line to ~/.profile:"
        echo "    export PATH=\"$prefix/bin:\$PATH\""
        ;;
esac
