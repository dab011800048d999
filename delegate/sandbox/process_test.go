package sandbox

import (
	"os/exec"
	"testing"
)

// TestReason: what Go's runtime writes when it has no memory, wherever it notices.
func TestReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ending{
		"runtime: out of memory: cannot allocate 4194304-byte block": outOfMemory,
		"fatal error: failed to create new OS thread":                outOfMemory,
		"SIGSEGV: segmentation violation\nPC=0x43771d m=3 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0x26 m=3 mp=0x26 [idle]:\nruntime.(*spanQueue).tryDrain(0x24)": outOfMemory,
		"runtime: goroutine stack exceeds 134217728-byte limit": tooDeep,
	} {
		c := &child{said: &head{}}
		if _, err := c.said.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := c.reason(&exec.ExitError{}); got != want {
			t.Errorf("%q is %v; want %v", text, got, want)
		}
	}
}
