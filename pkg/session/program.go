package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// The environment of a host and of an entry. Nothing of it reaches a command.
const (
	roleEnv    = "SLIPWAY_STEP_ROLE" // host or entry
	sessionEnv = "SLIPWAY_SESSION"
	orphanEnv  = "SLIPWAY_SESSION_ORPHAN"
	stepEnv    = "SLIPWAY_STEP"
	attemptEnv = "SLIPWAY_STEP_ATTEMPT"
	tokenEnv   = "SLIPWAY_ENTRY_TOKEN"
)

// The folders of a session on a machine.
const (
	Workspace = "harness" // that the steps share
	Control   = "ctl"     // of the host's own
	// Socket is where a host answers, and entries are heard, in its own folder.
	Socket  = "ctl.sock"
	entries = "steps.sock"
)

// Answer is what every program does first that may be started as a host or as an
// entry: then it is one, and ends. Else it does nothing.
func Answer() {
	role := os.Getenv(roleEnv)
	if role == "" {
		return
	}
	if err := Main(context.Background(), role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Main is the program slipway-step.
func Main(ctx context.Context, role string) error {
	switch role {
	case "host":
		return host(ctx)
	case "entry":
		return entry(ctx)
	}
	return fmt.Errorf("found the command %q; want host or entry", role)
}

// HostCommand is how a program that Answers is started as the host of a session
// whose folder is dir.
func HostCommand(program, dir, id string, orphan time.Duration) *exec.Cmd {
	cmd := exec.Command(program, "host")
	cmd.Dir = filepath.Join(dir, Control)
	cmd.Env = []string{roleEnv + "=host", sessionEnv + "=" + id, orphanEnv + "=" + orphan.String()}
	Detach(cmd)
	return cmd
}

// host serves the session in whose control folder it was started.
func host(ctx context.Context) error {
	orphan, err := time.ParseDuration(os.Getenv(orphanEnv))
	if err != nil {
		return fmt.Errorf("read %s: %w", orphanEnv, err)
	}
	control, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the session's folder: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	h := &Host{ID: os.Getenv(sessionEnv), Workspace: filepath.Join(filepath.Dir(control), Workspace), Control: control, Orphan: orphan}
	h.Spawn = func(step string, attempt int, token string) error {
		cmd := exec.Command(program, "entry")
		cmd.Dir = control
		cmd.Env = []string{roleEnv + "=entry", stepEnv + "=" + step, attemptEnv + "=" + strconv.Itoa(attempt), tokenEnv + "=" + token}
		Detach(cmd) // it ends what it runs when the host is gone
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start what runs the step: %w", err)
		}
		go func() { _ = cmd.Wait() }() // its connection says how it ended
		return nil
	}
	if err := clear(Socket, entries); err != nil {
		return err
	}
	// Names of sockets are short, so they are opened from their folder.
	steps, err := net.Listen("unix", entries)
	if err != nil {
		return fmt.Errorf("listen for entries: %w", err)
	}
	defer steps.Close()
	delegates, err := net.Listen("unix", Socket)
	if err != nil {
		return fmt.Errorf("listen for delegates: %w", err)
	}
	defer delegates.Close()
	return h.Serve(ctx, delegates, steps)
}

// entry runs the attempt that its environment names.
func entry(ctx context.Context) error {
	attempt, err := strconv.Atoi(os.Getenv(attemptEnv))
	if err != nil {
		return fmt.Errorf("read %s: %w", attemptEnv, err)
	}
	who := hello{Step: os.Getenv(stepEnv), Attempt: attempt, Token: os.Getenv(tokenEnv)}
	if who.Token == "" {
		return errors.New("an entry is started by its host")
	}
	hide()
	os.Clearenv()
	control, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the session's folder: %w", err)
	}
	conn, err := net.Dial("unix", entries)
	if err != nil {
		return fmt.Errorf("reach the host: %w", err)
	}
	return enter(ctx, conn, who, filepath.Join(filepath.Dir(control), Workspace))
}
