package testaws

import (
	"os/exec"
	"runtime"
)

// startTied starts a child that ends with this process: on a thread that
// lives as long as the child, because the kernel ties it to the thread.
func startTied(cmd *exec.Cmd) (wait func() error, err error) {
	cmd.SysProcAttr = dieWithParent()
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
