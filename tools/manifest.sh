#!/usr/bin/env bash
# Writes delegate/manifest.yaml, the chart's objects for those who don't use Helm.
set -euo pipefail
cd "$(dirname "$0")/helm"
{
	cat <<'TEXT'
# A delegate without Helm. Change the server, make the token's Secret, and say what it may deploy to:
#
#   slipway token create --delegate slipway-delegate
#   kubectl create namespace slipway
#   kubectl -n slipway create secret generic slipway-delegate --from-literal token=dlg....
#   kubectl -n slipway apply -f delegate/manifest.yaml
#   kubectl -n web create rolebinding slipway-delegate --clusterrole admin --serviceaccount slipway:slipway-delegate
#
# Generated from delegate/chart by tools/manifest.sh.
TEXT
	go tool helm template slipway-delegate ../../delegate/chart --namespace slipway --set server=https://slipway.example.com
} >../../delegate/manifest.yaml
