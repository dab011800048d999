package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/slipway-cd/slipway/internal/testcluster"
)

// run runs a command with a cluster of its own.
func (c commands) run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return errors.New("run: no command to run")
	}
	tools, err := c.tools(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "testcluster-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cluster, err := testcluster.Start(ctx, testcluster.Config{Dir: dir, Tools: tools, Log: c.log})
	if err != nil {
		return err
	}
	defer cluster.Stop()

	cmd := c.command(ctx, cluster.Kubeconfig, tools, args[0], args[1:]...)
	cmd.Env = append(cmd.Env, testcluster.EndsEnv+"=yes")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s: %w", args[0], err)
	}
	return nil
}

// kubectl runs the built kubectl against the shared cluster.
func (c commands) kubectl(ctx context.Context, args []string) error {
	tools, err := c.tools(ctx)
	if err != nil {
		return err
	}
	kubectl := filepath.Join(tools, "bin", "kubectl")
	return c.command(ctx, c.shared().kubeconfig(), tools, kubectl, args...).Run()
}

// command prepares a command that is led to the cluster and has its kubectl. When ctx ends the command is asked
// to end, and killed if it hasn't after ten seconds.
func (c commands) command(ctx context.Context, kubeconfig, tools, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+kubeconfig,
		testcluster.KubeconfigEnv+"="+kubeconfig,
		"PATH="+filepath.Join(tools, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.stdout, c.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
