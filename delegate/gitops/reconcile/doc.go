// Package reconcile makes clusters what applications say: it looks at their
// sources, compares what they render to with what is live, syncs, prunes and
// corrects drift (semantics/gitops §5, §6 and §7).
//
// An application is a small state machine of its own, which five things drive: its
// document, the revisions of its sources, what a watch tells, the clock, and
// requests. What it has done is kept in a Secret of the agent's namespace, so that a
// process that is killed anywhere loses nothing. What comes next within a sync is
// decided by pkg/gitops/syncing.
package reconcile
