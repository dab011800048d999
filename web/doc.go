// Package web is the console in a browser: the pages that "make console" builds
// of the sources beside this file, and what serves them.
//
// The pages ask the API for all that they show, as any other client does; this
// package knows nothing of it. Without the build tag console it has one page,
// which says how to get the others, so that Go alone builds everything.
package web
