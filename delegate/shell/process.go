package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/slipway-cd/slipway/delegate/watchdog"
	"github.com/slipway-cd/slipway/pkg/fault"
)

const (
	// graceful is how long a stopped script has between SIGTERM and SIGKILL.
	graceful = time.Second
	// lingering is how long output is still read after the script has ended
	// while a child that it left behind holds the pipes open.
	lingering = 2 * time.Second
)

// process is one run of a program with a process group of its own.
type process struct {
	args           []string
	dir            string
	environ        []string
	stdout, stderr io.Writer
}

// run runs the program to its end and gives its exit code; a program that a
// signal ended has 128 and the signal's number, as in shells. If ctx ends
// first, the whole group is ended and the context's cause is the error.
// Children that the program leaves behind when it ends by itself are let be.
func (p process) run(ctx context.Context) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	cmd := exec.Command(p.args[0], p.args[1:]...) // ends with its group, see below
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.dir, watchdog.Environ(ctx, p.environ), p.stdout, p.stderr, lingering
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return 0, fault.New(fault.Invalid, "start %s: %w", p.args[0], err)
	}
	var end error
	ended := make(chan struct{})
	go func() { end = cmd.Wait(); close(ended) }()
	select {
	case <-ended:
		return exitCode(end)
	case <-ctx.Done():
		stop(cmd.Process)
		<-ended // how it ended says nothing: it was stopped
		return 0, context.Cause(ctx)
	}
}

func exitCode(err error) (int, error) {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return 0, nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, fmt.Errorf("wait for the script: %w", err)
	}
	if n, ok := signalled(exit.ProcessState); ok {
		return 128 + n, nil
	}
	return exit.ExitCode(), nil
}
