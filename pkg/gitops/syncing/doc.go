// Package syncing says what a sync does next: which objects are applied, which
// hooks run and which extras go, in phases, waves and kinds, given what came of
// what was done and how what is live fares (semantics/gitops §7, §8 and §9).
//
// It does nothing itself: a State is a value that is stored between any two steps,
// so that whoever finds it goes on where another one was killed.
package syncing
