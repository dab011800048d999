// Package look shows people what an application's objects are in their cluster, and
// changes single ones for them (semantics/gitops §12): the tree of what they own, their
// manifests, logs, events, and actions by name.
//
// Whoever asks has found out which objects are the application's; what is shown is
// bounded, and has no values of Secrets.
package look
