#!/usr/bin/env bash
# The demonstration. "start" brings up a Kubernetes control plane on this machine, or takes the one that KUBECONFIG
# names if DEMO_CLUSTER is "current"; "stop" stops what start brought up. Both may come twice.
set -euo pipefail
cd "$(dirname "$0")/.."

start() {
	if [ "${DEMO_CLUSTER:-}" != current ]; then
		KUBECONFIG=$(bin/testcluster up)
		export KUBECONFIG
	fi
	echo "demo: the cluster is ready; export KUBECONFIG=${KUBECONFIG:-$HOME/.kube/config}"
	echo "demo: \"make demo-stop\" stops it"
}

stop() {
	bin/testcluster down
}

case ${1:-} in
start | stop) "$1" ;;
*)
	echo "usage: tools/demo.sh start|stop" >&2
	exit 2
	;;
esac
