#!/usr/bin/env bash
# The demonstration. "start" brings up a Kubernetes control plane on this machine, or takes the one that KUBECONFIG
# names if DEMO_CLUSTER is "current", starts Slipway and deploys the guestbook by three pipelines and by GitOps; "stop" stops
# what start brought up. Both may come twice. Its state is in a folder of its own: it touches no configuration of yours.
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
		command -v npm
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
	local tags=''
	if command -v npm >/dev/null; then
		make --no-print-directory console >/dev/null
		tags=console
	fi
	go build "${flags[@]}" -tags "$tags" ./cmd/slipway ./cmd/gitserve
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

# halt NAME: ends it, if it runs.
halt() {
	if alive "$1"; then
		kill "$(cat "$state/$1.pid")"
		while alive "$1"; do sleep 0.1; done
	fi
	rm -f "$state/$1.pid"
}

# renew UID: begins anew in another cluster than the last time. A GitOps agent belongs to one.
renew() {
	[ "$(cat "$state/cluster" 2>/dev/null)" != "$1" ] || return 0
	halt slipway
	rm -rf "$state/data"
	echo "$1" >"$state/cluster"
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
	renew "$("${kubectl[@]}" get namespace kube-system -o 'jsonpath={.metadata.uid}')"
	for namespace in guestbook guestbook-bluegreen; do
		"${kubectl[@]}" get namespace "$namespace" >/dev/null 2>&1 || "${kubectl[@]}" create namespace "$namespace"
	done

	say "A Git repository with the manifests, and Slipway with a delegate in it"
	background gitserve bin/gitserve -addr 127.0.0.1:7490 -keep "$state/git" examples/guestbook/repo
	until_ready gitserve git ls-remote http://127.0.0.1:7490/guestbook.git
	background slipway bin/slipway serve --addr 127.0.0.1:7491 --data "$state/data" --gitops demo
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

	gitops

	say "What runs in the cluster"
	for namespace in guestbook guestbook-bluegreen guestbook-gitops; do
		"${kubectl[@]}" -n "$namespace" get deployments,services,pods -o wide --no-headers
	done
	done_with_part
	cat <<END

Done in $(seconds $(($(now) - began))). Slipway serves at http://127.0.0.1:7491. Its console, logged in, for the next five minutes:
  $(bin/slipway console)
Another such link, and more to look at:
  export XDG_CONFIG_HOME=$XDG_CONFIG_HOME KUBECONFIG=${KUBECONFIG:-$HOME/.kube/config}
  bin/slipway console
  bin/slipway executions
  bin/slipway get pipelines
Stop it all with:
  make demo-stop
END
}

# gitops has the agent keep an application as Git has it.
gitops() {
	say "GitOps: slipway apply -f examples/guestbook/gitops --agent demo"
	bin/slipway apply -f examples/guestbook/gitops --agent demo
	shown bin/slipway gitops app wait guestbook --sync --health --timeout 60

	say "GitOps: somebody scales it to 7, and the agent puts that back"
	shown "${kubectl[@]}" -n guestbook-gitops scale deployment guestbook --replicas 7
	local scaled
	scaled=$(now)
	until [ "$(replicas)" = 2 ]; do
		if [ $(($(now) - scaled)) -gt 20000 ]; then
			echo "demo: nobody put it back within 20 s; the log of Slipway is $state/slipway.log" >&2
			exit 1
		fi
		sleep 0.02
	done
	printf 'It has 2 replicas again, after %s.\n' "$(seconds $(($(now) - scaled)))"

	say "GitOps: a commit that is pushed, and what it was before"
	push
	shown bin/slipway gitops app sync guestbook --timeout 60
	shown bin/slipway gitops app history guestbook
	shown bin/slipway gitops app rollback guestbook "$(bin/slipway gitops app history guestbook | awk 'NR == 3 { print $1 }')" --timeout 60
	shown bin/slipway gitops app get guestbook
}

# shown COMMAND...: says a command, and runs it.
shown() {
	printf '$ %s\n' "${*/#bin\/slipway/slipway}"
	"$@"
}

replicas() { "${kubectl[@]}" -n guestbook-gitops get deployment guestbook -o 'jsonpath={.spec.replicas}'; }

# push commits another image of the application to the repository.
push() {
	local image
	rm -rf "$state/checkout"
	git clone --quiet "$state/git/guestbook.git" "$state/checkout"
	image=nginx:1.$((28 + $(git -C "$state/checkout" rev-list --count HEAD)))-alpine
	sed -i.before "s|image: .*|image: $image|" "$state/checkout/gitops/guestbook.yaml"
	git -C "$state/checkout" -c user.name=demo -c user.email=demo@example.com commit --quiet --message "Use $image" gitops/guestbook.yaml
	git -C "$state/checkout" push --quiet
	printf 'Pushed: %s\n' "$(git -C "$state/checkout" log -1 --format='%h %s')"
}

stop() {
	[ -x bin/testcluster ] || go build -o bin/ ./cmd/testcluster
	halt slipway
	halt gitserve
	bin/testcluster down
}

case ${1:-} in
start | stop) "$1" ;;
*)
	echo "usage: tools/demo.sh start|stop" >&2
	exit 2
	;;
esac
