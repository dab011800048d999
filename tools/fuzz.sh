#!/usr/bin/env bash
# Runs every fuzz target of some packages, one after the other, each for some time.
# Usage: tools/fuzz.sh <time, as 30s> <package> ...
set -euo pipefail

time=$1
shift
[ $# -gt 0 ] || { echo "fuzz: no package named" >&2; exit 1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# out_of_time: whether all that the log says against a target is that the time ended while it tried an input. The go
# command calls that a failure; what fuzzing finds has a text of its own, and is written to a file that is named.
out_of_time() {
	grep -q '^ *context deadline exceeded$' "$log" &&
		! grep -vqE '^(fuzz: .*|--- FAIL: Fuzz[^/ ]* \(.*\)| *context deadline exceeded|FAIL(	.*)?|exit status 1|)$' "$log"
}

# Minimizing each input that reaches new code would take most of the time, hence its bound. How far it is is shown at
# once; how it ended, only when it is known whether that was a failure.
run() {
	if go test -run '^$' -fuzz "^$1\$" -fuzztime "$time" -fuzzminimizetime 100x "$2" 2>&1 | tee "$log" | { grep --line-buffered '^fuzz: ' || true; }; then
		return 0
	fi
	if out_of_time; then
		echo "fuzz: the time ended while an input was being tried; nothing was found"
		return 0
	fi
	grep -v '^fuzz: ' "$log"
	return 1
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
