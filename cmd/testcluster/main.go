// Command testcluster fetches or builds, starts and stops the Kubernetes control plane of the tests and demonstrations.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/slipway-cd/slipway/internal/testcluster"
)

const usage = `Usage:
  testcluster build              download the programs of the control plane, or build them; once for each version of them
  testcluster run -- CMD ARGS    run a command with a cluster of its own: KUBECONFIG, SLIPWAY_TEST_KUBECONFIG
                                 and a kubectl of the same version on PATH; its exit status is passed on
  testcluster up                 start the shared cluster unless it runs; print the path of its kubeconfig
  testcluster down               stop the shared cluster
  testcluster status             say whether the shared cluster runs; exit status 1 if it doesn't
  testcluster kubectl ARGS       run the built kubectl against the shared cluster
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, "testcluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	cache, err := testcluster.CacheDir()
	if err != nil {
		return err
	}
	c := commands{cache: cache, stdout: stdout, stderr: stderr, log: slog.New(slog.NewTextHandler(stderr, nil))}
	switch name, rest := args[0], args[1:]; name {
	case "build":
		return c.build(ctx)
	case "run":
		return c.run(ctx, rest)
	case "up":
		return c.up(ctx)
	case "down":
		return c.down(ctx)
	case "status":
		return c.status(ctx)
	case "kubectl":
		return c.kubectl(ctx, rest)
	case serveCommand:
		return c.serve(ctx, rest)
	case "help", "-h", "--help":
		_, err := io.WriteString(stdout, usage)
		return err
	default:
		return fmt.Errorf("unknown command %q\n%s", name, usage)
	}
}

// commands is what the commands share.
type commands struct {
	cache          string
	stdout, stderr io.Writer
	log            *slog.Logger
}

// tools returns the folder of the control plane's programs, in this checkout's versions; they are made if need be.
func (c commands) tools(ctx context.Context) (string, error) {
	root, err := testcluster.Root(".")
	if err != nil {
		return "", err
	}
	return testcluster.Build(ctx, root, c.cache, c.stderr)
}

func (c commands) build(ctx context.Context) error {
	tools, err := c.tools(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.stdout, tools)
	return err
}
