#!/usr/bin/env bash
# The demonstration. "start" brings up a Kubernetes control plane on this machine, or takes the one that KUBECONFIG
# names if DEMO_CLUSTER is "current", starts Slipway and deploys the guestbook in three ways; "stop" stops what start
# brought up. Both may come twice. Its state is in a folder of its own: it touches no configuration of yours.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${SLIPWAY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/slipway}
state=$cache/demo
kubectl=(bin/testcluster kubectl)

# now is the time in milliseconds.
now() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# seconds MILLISECONDS
seconds() { printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# done_with_part says how long the part took that say began.
done_with_part() {
	[ -z "${part:-}" ] || printf '(%s)\n' "$(seconds $(($(now) - part)))"
	part=$(now)
}

# say begins a part with a heading, in bold on a terminal.
say() {
	local bold='' plain=''
	if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
	done_with_part
	printf '\n%s== %s%s\n' "$bold" "$*" "$plain"
}

# origin names what the programs are built from: the commit, every file but pages and tests, and Go.
origin() {
	{
		git rev-parse HEAD
		go version
		go env GOFLAGS GOEXPERIMENT GOAMD64 GOARM64
		git ls-files -coz --exclude-standard -- . ':!*.md' ':!*_test.go' | xargs -0 sha256sum
	} 2>/dev/null | sha256sum | cut -c1-16
}

# build makes what the demonstration runs, unless the cache has it: Go's own forgets what wasn't used for days. The
# control plane's programs come while the compiler is busy.
build() {
	local programs=(slipway gitserve testcluster) kept
	kept=$cache/programs/$(origin)
	if [ -d "$kept" ]; then
		say "Slipway, as it was built from this source before"
		mkdir -p bin
		cp -f "$kept"/* bin/
		return
	fi
	say "Slipway, from source: minutes the first time, then seconds"
	local flags=(-trimpath -ldflags '-s -w' -o bin/)
	go build "${flags[@]}" ./cmd/testcluster
	local cluster=''
	if [ "${DEMO_CLUSTER:-}" != current ]; then
		bin/testcluster build >/dev/null & # says on standard error what it does
		cluster=$!
		# shellcheck disable=SC2064 # it is this one that has to end, should this script
		trap "kill $cluster 2>/dev/null || true" EXIT
	fi
	go build "${flags[@]}" ./cmd/slipway ./cmd/gitserve
	keep "$kept" "${programs[@]/#/bin/}"
	if [ -n "$cluster" ]; then
		say "The programs of a Kubernetes control plane"
		wait "$cluster"
		trap - EXIT
	fi
}

# keep DIR FILES...: puts files into a folder of the cache, whole or not at all, and drops all but the newest three.
keep() {
	local dir=$1
	shift
	rm -rf "$dir.partial"
	mkdir -p "$dir.partial"
	cp "$@" "$dir.partial"
	mv "$dir.partial" "$dir"
	find "$(dirname "$dir")" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' | sort -rn | tail -n +4 | cut -d' ' -f2- | xargs -r rm -rf
}

# alive NAME: whether the background process of that name runs.
alive() { [ -f "$state/$1.pid" ] && kill -0 "$(cat "$state/$1.pid")" 2>/dev/null; }

# background NAME COMMAND...: runs a command until "stop", unless it runs already.
background() {
	local name=$1
	shift
	alive "$name" && return
	setsid "$@" >"$state/$name.log" 2>&1 </dev/null &
	echo $! >"$state/$name.pid"
}

# until_ready NAME COMMAND...: waits until a command succeeds; 20 s at most.
until_ready() {
	local name=$1
	shift
	for _ in $(seq 200); do
		"$@" >/dev/null 2>&1 && return
		alive "$name" || break
		sleep 0.1
	done
	echo "demo: $name didn't start; its log:" >&2
	cat "$state/$name.log" >&2
	exit 1
}

start() {
	local began
	began=$(now)
	for program in go git; do
		command -v "$program" >/dev/null || {
			echo "demo: $program isn't installed; README.md says what is needed" >&2
			exit 1
		}
	done
	mkdir -p "$state"
	build
	export XDG_CONFIG_HOME=$state/config SLIPWAY_SERVER= SLIPWAY_TOKEN= # not before: Go has settings there too
	say "A Kubernetes cluster: a real control plane, whose nodes and pods are played"
	if [ "${DEMO_CLUSTER:-}" = current ]; then
		kubectl=(kubectl)
	else
		KUBECONFIG=$(bin/testcluster up)
		export KUBECONFIG
	fi
	for namespace in guestbook guestbook-bluegreen; do
		"${kubectl[@]}" get namespace "$namespace" >/dev/null 2>&1 || "${kubectl[@]}" create namespace "$namespace"
	done

	say "A Git repository with the manifests, and Slipway with a delegate in it"
	background gitserve bin/gitserve -addr 127.0.0.1:7490 examples/guestbook/repo
	until_ready gitserve git ls-remote http://127.0.0.1:7490/guestbook.git
	background slipway bin/slipway serve --addr 127.0.0.1:7491 --data "$state/data"
	until_ready slipway bin/slipway delegates
	bin/slipway delegates

	say "slipway apply -f examples/guestbook"
	local files=()
	for f in examples/guestbook/*.yaml; do files+=(-f "$f"); done
	bin/slipway apply "${files[@]}"

	for pipeline in guestbook_rolling guestbook_canary guestbook_bluegreen; do
		say "slipway run $pipeline --follow"
		bin/slipway run "$pipeline" --input "variables.image=nginx:1.$((RANDOM % 20 + 10))-alpine" --follow
	done

	say "What runs in the cluster"
	for namespace in guestbook guestbook-bluegreen; do
		"${kubectl[@]}" -n "$namespace" get deployments,services,pods -o wide --no-headers
	done
	done_with_part
	cat <<END

Done in $(seconds $(($(now) - began))). Slipway serves at http://127.0.0.1:7491. Look around with:
  export XDG_CONFIG_HOME=$XDG_CONFIG_HOME KUBECONFIG=${KUBECONFIG:-$HOME/.kube/config}
  bin/slipway executions
  bin/slipway get pipelines
Stop it all with:
  make demo-stop
END
}

stop() {
	[ -x bin/testcluster ] || go build -o bin/ ./cmd/testcluster
	for name in slipway gitserve; do
		if alive "$name"; then
			kill "$(cat "$state/$name.pid")"
			while alive "$name"; do sleep 0.1; done
		fi
		rm -f "$state/$name.pid"
	done
	bin/testcluster down
}

case ${1:-} in
start | stop) "$1" ;;
*)
	echo "usage: tools/demo.sh start|stop" >&2
	exit 2
	;;
esac
