// Package testaws is an AWS account on this machine, for tests: a host that
// runs compiled functions as Lambda does, moto's Step Functions and other
// services, and what API Gateway does between clients and functions.
//
// It knows nothing of Slipway but that a delegate opens a WebSocket; DynamoDB
// is internal/testdynamo's. Where moto differs from AWS, starter.py says how
// it is mended.
package testaws

import (
	"os/exec"
	"runtime"
	"syscall"
)

// tie makes a child end with this process, and keeps the terminal's Ctrl-C
// from it. The thread that starts the child must not end before it: callers
// lock theirs.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// startTied starts a child that ends with this process: on a thread that
// lives as long as the child, because the kernel ties it to the thread.
func startTied(cmd *exec.Cmd) (wait func() error, err error) {
	tie(cmd)
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		ended <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return func() error { return <-ended }, nil
}
