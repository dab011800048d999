// Package kubernetes runs the Kubernetes steps: it renders manifests, applies
// them server-side, watches roll-outs, keeps the release history in the
// cluster and goes back to an earlier release (semantics/kubernetes).
//
// It decides nothing about pipelines: which step runs when, and what a failure
// leads to, is the control plane's. Everything that it must remember between
// steps is in the cluster, so a retry or another delegate can go on.
package kubernetes
