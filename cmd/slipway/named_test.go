package main

import "testing"

// An argument that looks like an execution's id is one, in each form that the
// server makes them in; the rest are pipelines.
func TestExecutionIDs(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]bool{
		"x0123456789abcdef0123": true, // of a start with a key
		"x6b03a0c6FUUT77E52K":   true, // of one without
		"x0123456789abcdef012":  false,
		"x6b03a0c6fuut77e52k":   false,
		"deploy":                false,
		"xylophone":             false,
	} {
		if got := executionIDs.MatchString(arg); got != want {
			t.Errorf("%s: got %v; want %v", arg, got, want)
		}
	}
}
