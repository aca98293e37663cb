#!/bin/sh
# Builds cmd/dev/prepare and becomes it: start.sh PROGRAM [ARGUMENT...]
# prepare builds PROGRAM and shows how far it is; this script shows a dot for each
# package until prepare itself is built, which takes seconds the first time.
set -eu
if ! command -v "${GO:=go}" >/dev/null; then
	echo "lastseat needs Go 1.26 or newer: https://go.dev/doc/install" >&2
	exit 1
fi
# Under another name first: the old one may be running, or another start may be
# building the same.
new=.dev/bin/prepare.$$
mkdir -p .dev/bin
trap 'rm -f "$new"' EXIT
if [ ! -x .dev/bin/prepare ]; then printf 'dev    | building the launcher ' >&2; first=yes; fi
CGO_ENABLED=0 "$GO" build -v -buildvcs=false -o "$new" ./cmd/dev/prepare 2>&1 | while read -r line; do
	case $line in
	*' '*) echo "$line" ;; # a download, or an error
	*) if [ "${first-}" ]; then printf . ; fi ;;
	esac
done >&2
if [ "${first-}" ]; then echo >&2; fi
mv -f "$new" .dev/bin/prepare # fails if the build did
export LASTSEAT_DEV_MAKE="$PPID" # the launcher ends with this make
exec .dev/bin/prepare "$@"
