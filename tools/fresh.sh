#!/usr/bin/env bash
# Runs a command as on a machine that has never seen Slipway: in a clone of what is committed here, with an empty home,
# and without any Go module, compiled package, npm package or test cluster from before. Where modules and packages
# come from is asked first and stays. SLIPWAY_CACHE, if it is set, is used: the test cluster takes minutes to build.
# Usage: tools/fresh.sh [command ...]   (make test, if none is named)
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- make test
new=$(mktemp -d)
remove() {
	chmod -R u+w "$new" # the go command takes the right to write from modules
	rm -rf "$new"
}
trap remove EXIT

# Settings may stand in files of the home that isn't there any more.
for name in GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB GOINSECURE GOFLAGS GOTOOLCHAIN; do
	declare -x "$name=$(go env "$name")"
done
npm_config_registry=$(npm config get registry 2>/dev/null || true)
export npm_config_registry
# Debian's own packages stay; what pip has put into the home doesn't. A Python that lives in the home has to be found.
PYENV_ROOT=$(pyenv root 2>/dev/null || true)
export PYENV_ROOT

mkdir "$new/home" "$new/tmp"
git clone --quiet . "$new/slipway"
export HOME=$new/home TMPDIR=$new/tmp GOENV=off GOPATH=$new/go GOMODCACHE=$new/go/pkg/mod GOCACHE=$new/go-build
export npm_config_cache=$new/npm SLIPWAY_CACHE=${SLIPWAY_CACHE:-$new/cache}
unset XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME KUBECONFIG GIT_CONFIG_GLOBAL PYTHONUSERBASE
cd "$new/slipway"
"$@"
