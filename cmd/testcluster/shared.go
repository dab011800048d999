package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-cd/slipway/internal/testcluster"
)

// serveCommand is the command by which "up" starts the process that holds the shared cluster. It isn't for people.
const serveCommand = "serve-shared"

// upTimeout is longer than testcluster.Start takes for its three attempts.
const upTimeout = 5 * time.Minute

// shared is the folder of the cluster that outlives the command that started it. Whoever serves it holds the
// folder's lock, so a free lock means that there is no cluster, whatever other files say.
type shared struct{ dir string }

func (c commands) shared() shared { return shared{filepath.Join(c.cache, "shared-cluster")} }

func (s shared) kubeconfig() string { return filepath.Join(s.dir, "kubeconfig") }
func (s shared) lock() string       { return filepath.Join(s.dir, "lock") }
func (s shared) pid() string        { return filepath.Join(s.dir, "pid") }
func (s shared) log() string        { return filepath.Join(s.dir, "serve.log") }

// served reports whether a process holds the shared cluster, ready or not.
func (s shared) served() (bool, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return false, err
	}
	unlock, err := testcluster.TryLock(s.lock())
	if errors.Is(err, testcluster.ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	unlock()
	return false, nil
}

// up starts the process that holds the shared cluster, unless there is one, and waits until it is ready.
func (c commands) up(ctx context.Context) error {
	tools, err := c.tools(ctx)
	if err != nil {
		return err
	}
	s := c.shared()
	served, err := s.served()
	if err != nil {
		return err
	}
	exited := make(chan error, 1)
	if !served {
		// An older cluster's file would answer for the one that isn't there yet.
		if err := os.RemoveAll(s.kubeconfig()); err != nil {
			return err
		}
		cmd, err := s.detached(tools)
		if err != nil {
			return err
		}
		go func() { exited <- cmd.Wait() }()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, upTimeout, fmt.Errorf("not ready after %s; see %s", upTimeout, s.log()))
	defer cancel()
	err = poll(ctx, func() (bool, error) {
		select {
		case err := <-exited:
			// Another "up" may have been first: then its cluster is the one to wait for.
			if served, lockErr := s.served(); !served || lockErr != nil {
				return false, errors.Join(fmt.Errorf("the shared cluster's process ended (%w); see %s", err, s.log()), lockErr)
			}
		default:
		}
		_, err := os.Stat(s.pid()) // written when pods can be created
		return err == nil && testcluster.Ready(ctx, s.kubeconfig()) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("start the shared cluster: %w", err)
	}
	_, err = fmt.Fprintln(c.stdout, s.kubeconfig())
	return err
}

// detached starts this program again as the process that holds the cluster, out of reach of the terminal.
func (s shared) detached(tools string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(s.log())
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(self, serveCommand, tools)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// serve holds the shared cluster until it is told to end by a signal.
func (c commands) serve(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s: expected the tools folder, found %q", serveCommand, args)
	}
	s := c.shared()
	// Those who only ask hold the lock for a moment; one that stays locked is another shared cluster's.
	moment, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	unlock, err := testcluster.Lock(moment, s.lock())
	if err != nil {
		return err
	}
	defer unlock()
	_ = os.Remove(s.pid()) // of a process that was killed
	cluster, err := testcluster.Start(ctx, testcluster.Config{Dir: s.dir, Tools: args[0], Log: c.log})
	if err != nil {
		return err
	}
	defer cluster.Stop()
	if err := os.WriteFile(s.pid(), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(s.pid()) }()
	<-ctx.Done()
	return nil
}

// down ends the process that holds the shared cluster and waits until it is gone.
func (c commands) down(ctx context.Context) error {
	s := c.shared()
	if served, err := s.served(); err != nil || !served {
		return err
	}
	content, err := os.ReadFile(s.pid())
	if err != nil {
		return fmt.Errorf("the shared cluster is still starting: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("%s: %w", s.pid(), err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end process %d of the shared cluster: %w", pid, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("process %d is still there after a minute", pid))
	defer cancel()
	return poll(ctx, func() (bool, error) {
		served, err := s.served()
		return !served, err
	})
}

// status says whether the shared cluster runs, and fails if it doesn't.
func (c commands) status(ctx context.Context) error {
	s := c.shared()
	served, err := s.served()
	if err != nil {
		return err
	}
	if !served {
		return errors.New("the shared cluster isn't running")
	}
	if err := testcluster.Ready(ctx, s.kubeconfig()); err != nil {
		return fmt.Errorf("the shared cluster isn't ready: %w", err)
	}
	_, err = fmt.Fprintln(c.stdout, "ready:", s.kubeconfig())
	return err
}

// poll asks ten times a second until the answer is yes or an error, or ctx is over.
func poll(ctx context.Context, ask func() (bool, error)) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		if done, err := ask(); done || err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
