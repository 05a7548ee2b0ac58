#!/usr/bin/env bash
# Makes the image with the servers, the balancer and the other inits, all from Debian's own packages.
# Nothing is pulled from a registry of images. Takes a minute or two once; does nothing when it is there.
#
#   image.sh NAME        needs root, debootstrap and a Docker engine
set -euo pipefail
name="$1"
packages=nginx-light,haproxy,gunicorn,python3,apache2,nodejs,tini,dumb-init

docker image inspect "$name" >/dev/null 2>&1 && exit 0

# From where this machine has its own packages, if it is a Debian; else from Debian's mirrors.
read -r site suite < <(
    apt-get indextargets --format '$(SITE) $(RELEASE) $(CREATED_BY)' 2>/dev/null |
        awk '$3 == "Packages" && $2 !~ /-/ && $1 ~ /debian\/?$/ { print $1, $2; exit }'
) || true
site="${site:-http://deb.debian.org/debian}" suite="${suite:-bookworm}"

work="$(mktemp -d)"
trap 'rm -rf --one-file-system "$work"' EXIT
if ! debootstrap --variant=minbase --include="$packages" "$suite" "$work/root" "$site" >"$work/log" 2>&1; then
    tail -n 5 "$work/log" >&2
    exit 1
fi
# What no server needs.
rm -rf "$work"/root/var/{cache/apt,lib/apt/lists} "$work"/root/usr/share/{doc,man,locale}
tar -C "$work/root" --numeric-owner -c . | docker import - "$name" >/dev/null
