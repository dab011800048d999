#!/usr/bin/env bash
# Installs, on Debian and its relatives, the programs that the tests run and that are missing here. Changes nothing
# on a machine that has them. Go itself has to be there.
set -euo pipefail

missing=()
need() { # need <command> <package that has it>
	command -v "$1" >/dev/null || missing+=("$2")
}
need git git
need node nodejs
need npm npm
need chromium chromium
need java openjdk-17-jre-headless
need python3 python3
if ! python3 -c 'import moto' 2>/dev/null; then
	need pip3 python3-pip
fi

if ! command -v go >/dev/null; then
	echo "setup: go isn't installed; https://go.dev/dl has it, go.mod says which version" >&2
	exit 1
fi
if [ ${#missing[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null; then
		echo "setup: please install: ${missing[*]}" >&2
		exit 1
	fi
	as_root=()
	[ "$(id -u)" -eq 0 ] || as_root=(sudo)
	echo "setup: installing ${missing[*]}"
	"${as_root[@]}" apt-get update -q
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# AWS's services for internal/testaws. --user keeps it apart from Debian's own Python packages.
if ! python3 -c 'import moto' 2>/dev/null; then
	echo "setup: installing moto"
	python3 -m pip install --quiet --user --break-system-packages -r "$(dirname "$0")/moto/requirements.txt"
fi
