// Package live knows what there is in a cluster of the objects that an agent
// keeps: by watches that see nothing else, and that keep of an object what says
// whether somebody has changed what we set in it, and how it fares
// (semantics/gitops §6).
//
// It holds no bodies and compares nothing: whoever wants to know more of an object
// than that it isn't as it was asks the cluster.
package live
