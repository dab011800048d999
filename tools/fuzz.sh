#!/usr/bin/env bash
# Runs every fuzz target of some packages, two at a time, each for some time on half of the processors.
# Usage: tools/fuzz.sh <time, as 30s> <package> ...
set -euo pipefail

time=$1
shift
[ $# -gt 0 ] || { echo "fuzz: no package named" >&2; exit 1; }
logs=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$logs"' EXIT # an interrupt ends what runs aside, too
lanes=2
workers=$(($(getconf _NPROCESSORS_ONLN) / lanes))
[ "$workers" -gt 0 ] || workers=1

# out_of_time <log>: whether all that a log says against a target is that the time ended while it tried an input. The
# go command calls that a failure; what fuzzing finds has a text of its own, and is written to a file that is named.
out_of_time() {
	grep -q '^ *context deadline exceeded$' "$1" &&
		! grep -vqE '^(fuzz: .*|--- FAIL: Fuzz[^/ ]* \(.*\)| *context deadline exceeded|FAIL(	.*)?|exit status 1|)$' "$1"
}

# progress <name>: shows what the go command says of how far it is.
progress() {
	local line
	while IFS= read -r line; do
		[[ $line != "fuzz: "* ]] || echo "$1: $line"
	done
}

# run <package> <target> <log>: Minimizing each input that reaches new code would take most of the time, hence its
# bound. How far it is is shown at once; how it ended, only when it is known whether that was a failure.
run() {
	echo "fuzz: $1 $2 for $time"
	if go test -vet=off -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 100x -parallel "$workers" "$1" 2>&1 | tee "$3" |
		progress "${1##*/} $2"; then
		return 0
	fi
	if out_of_time "$3"; then
		echo "fuzz: $1 $2: the time ended while an input was being tried; nothing was found"
		return 0
	fi
	grep -v '^fuzz: ' "$3"
	return 1
}

# "go test -list" prints the names of a package's targets, then a line "ok <package> ...".
listed=$(go test -vet=off -list '^Fuzz' "$@")
targets=() # each with its package
names=()
while read -r first package _; do
	case $first in
	Fuzz*) names+=("$first") ;;
	ok)
		for name in "${names[@]}"; do targets+=("$package $name"); done
		names=()
		;;
	esac
done <<<"$listed"

# lane <number>: runs every second target, until one fails.
lane() {
	local i package name
	for ((i = $1; i < ${#targets[@]}; i += lanes)); do
		read -r package name <<<"${targets[i]}"
		run "$package" "$name" "$logs/$1" || return 1
	done
}

lane 0 &
first=$!
lane 1 &
second=$!
failed=0
wait "$first" || failed=1
wait "$second" || failed=1
[ "$failed" -eq 0 ] || exit 1
echo "fuzz: ${#targets[@]} targets, nothing found"
