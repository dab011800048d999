// Package compare says whether an object is as it is to be: what there is, and what
// the server says that there would be after an apply, without what doesn't count
// (semantics/gitops §6).
//
// It asks no cluster: who compares has both.
package compare
