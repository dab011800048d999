#!/usr/bin/env bash
# Runs every fuzz target of some packages, one after the other, each for some time.
# Usage: tools/fuzz.sh <time, as 30s> <package> ...
set -euo pipefail

time=$1
shift
[ $# -gt 0 ] || { echo "fuzz: no package named" >&2; exit 1; }
# "go test -list" prints the names of a package's targets, then a line "ok <package> ...".
listed=$(go test -list '^Fuzz' "$@")
targets=()
found=0
while read -r first package _; do
	case $first in
	Fuzz*) targets+=("$first") ;;
	ok)
		for target in "${targets[@]}"; do
			echo "fuzz: $package $target for $time"
			go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
			found=$((found + 1))
		done
		targets=()
		;;
	esac
done <<<"$listed"
echo "fuzz: $found targets, nothing found"
