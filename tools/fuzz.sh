#!/usr/bin/env bash
# Runs every fuzz target of some packages, one after the other, each for some time.
# Usage: tools/fuzz.sh <time, as 30s> <package> ...
set -euo pipefail

time=$1
shift
[ $# -gt 0 ] || { echo "fuzz: no package named" >&2; exit 1; }
# Minimizing each input that reaches new code would take most of the time, hence
# its bound. A time that ends while an input is being tried can fail a run with
# nothing but "context deadline exceeded". What fuzzing finds is written to a
# file, which the output names.
run() {
	local log
	log=$(mktemp)
	if ! go test -run '^$' -fuzz "^$1\$" -fuzztime "$time" -fuzzminimizetime 100x "$2" 2>&1 | tee "$log"; then
		if grep -q 'Failing input written' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
			return 1
		fi
		echo "fuzz: the time ended while an input was being tried; nothing was found"
	fi
	rm -f "$log"
}

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
			run "$target" "$package"
			found=$((found + 1))
		done
		targets=()
		;;
	esac
done <<<"$listed"
echo "fuzz: $found targets, nothing found"
