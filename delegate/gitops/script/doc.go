// Package script runs the Lua by which people say how objects of their kinds fare, and
// what can be done to them: `obj` is the object, and what is returned has a status and
// a message, or the object as it is to be (semantics/gitops §10 and §12).
//
// A script sees nothing but the object: no files, no processes, no network, no other
// modules. It has a second, and as much memory as it may need.
package script
