// Package applying makes the objects of a cluster what somebody wants them to be:
// it reaches the cluster, finds the endpoints of kinds, applies objects
// server-side under a field manager, takes over what others have applied before,
// deletes, waits, and says what a refusal means.
//
// It knows nothing of releases, steps or applications: delegate/kubernetes and
// delegate/gitops decide what is applied when.
package applying
