#!/usr/bin/env bash
# The demonstration. "start" brings up a Kubernetes control plane on this machine, or takes the one that KUBECONFIG
# names if DEMO_CLUSTER is "current", starts Slipway and deploys the guestbook in three ways; "stop" stops what start
# brought up. Both may come twice. Its state is in a folder of its own: it touches no configuration of yours.
set -euo pipefail
cd "$(dirname "$0")/.."

state=${SLIPWAY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/slipway}/demo
kubectl=(bin/testcluster kubectl)
export XDG_CONFIG_HOME=$state/config SLIPWAY_SERVER= SLIPWAY_TOKEN=

# say prints a heading, in bold on a terminal.
say() {
	local bold='' plain=''
	if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
	printf '\n%s== %s%s\n' "$bold" "$*" "$plain"
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
	mkdir -p "$state"
	say "A Kubernetes cluster"
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
	cat <<END

Slipway serves at http://127.0.0.1:7491. Look around with:
  export XDG_CONFIG_HOME=$XDG_CONFIG_HOME KUBECONFIG=${KUBECONFIG:-$HOME/.kube/config}
  bin/slipway executions
  bin/slipway get pipelines
Stop it all with:
  make demo-stop
END
}

stop() {
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
