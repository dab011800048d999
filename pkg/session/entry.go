package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

const (
	// defaultGrace is how long a command has between being told to stop and being
	// killed, in seconds.
	defaultGrace = 10
	// lingering is how long output is still taken after a command has ended while
	// somebody that it left behind holds it open.
	lingering = 2 * time.Second
)

// enter runs one attempt of a step for a host.
func enter(ctx context.Context, conn net.Conn, who hello, workspace string) error {
	defer conn.Close()
	host := newLine[toEntry, fromEntry](conn)
	if err := host.write(fromEntry{Hello: &who}); err != nil {
		return err
	}
	first, err := host.read()
	if err != nil {
		return err
	}
	if first.Start == nil {
		return errors.New("the host says something else than what to run")
	}
	c := &command{host: host, start: *first.Start, workspace: workspace}
	stop, kept := make(chan int, 1), make(chan struct{})
	ctx, lost := context.WithCancel(ctx)
	defer lost()
	go func() {
		defer lost() // a host that is gone leaves nobody to run for
		for {
			said, err := host.read()
			if err != nil {
				return
			}
			if said.Kept {
				close(kept)
			}
			if said.Stop != nil {
				select {
				case stop <- said.Stop.Grace:
				default: // it is told already
				}
			}
		}
	}()
	exit := c.run(ctx, stop)
	if err := host.write(fromEntry{Ended: &exit}); err != nil {
		return err
	}
	select {
	case <-kept:
	case <-ctx.Done():
	}
	if c.leader != nil && remains(c.leader) { // what it has left behind is the session's
		<-ctx.Done()
		kill(c.leader)
	}
	return nil
}

// command is what an entry runs.
type command struct {
	host      *line[toEntry, fromEntry]
	start     Start
	workspace string
	leader    *os.Process // once it was started
}

// run runs the command to its end, or to that of who wants it.
func (c *command) run(ctx context.Context, stop <-chan int) Exit {
	args, script, err := c.args()
	if err != nil {
		return Exit{Code: 126, Reason: err.Error()}
	}
	if script != nil {
		defer script.Close()
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.WaitDelay = c.start.Env, lingering
	if cmd.Dir, err = c.dir(); err != nil {
		return Exit{Code: 126, Reason: err.Error()}
	}
	if cmd.Path, err = lookPath(args[0], c.start.Env); err != nil {
		return Exit{Code: 127, Reason: err.Error()}
	}
	cmd.Err = nil
	cmd.Stdout, cmd.Stderr = &stream{host: c.host, number: 1}, &stream{host: c.host, number: 2}
	if script != nil {
		cmd.ExtraFiles = []*os.File{script} // its number 3
	}
	alone(cmd)
	if err := cmd.Start(); err != nil {
		return Exit{Code: 126, Reason: fmt.Sprintf("start %s: %v", args[0], err)}
	}
	c.leader = cmd.Process
	_ = c.host.write(fromEntry{Started: true}) // a host that is gone ends ctx
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var killed <-chan time.Time
	for {
		select {
		case err := <-ended:
			return exitOf(cmd, err)
		case <-ctx.Done():
			kill(cmd.Process)
			<-ended //nolint:errcheck // it was killed
			return Exit{Code: 137, Signal: 9, Reason: "its host is gone"}
		case grace := <-stop:
			if grace <= 0 {
				grace = c.start.Grace
			}
			if grace <= 0 {
				grace = defaultGrace
			}
			terminate(cmd.Process, c.start.Interrupt)
			killed = time.After(time.Duration(grace) * time.Second)
			stop = nil
		case <-killed:
			kill(cmd.Process)
		}
	}
}

// dir is the folder in which the command runs.
func (c *command) dir() (string, error) {
	dir := filepath.Join(c.workspace, c.start.Dir)
	if !filepath.IsLocal(c.start.Dir) && c.start.Dir != "" {
		return "", fmt.Errorf("the folder %s isn't in the workspace", c.start.Dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the workspace has no folder %s", c.start.Dir)
	}
	return dir, nil
}

// args are the command; a script is given to its shell by a file that has no name,
// so that nobody else can read what is in it.
func (c *command) args() ([]string, *os.File, error) {
	if c.start.Script == "" {
		if len(c.start.Args) == 0 {
			return nil, nil, errors.New("there is nothing to run")
		}
		return c.start.Args, nil, nil
	}
	file, err := secretFile(c.start.Script)
	if err != nil {
		return nil, nil, err
	}
	return append([]string{cmp.Or(c.start.Shell, "sh"), "/dev/fd/3"}, c.start.Args...), file, nil
}

// lookPath finds a program as the command's own environment says.
func lookPath(name string, env []string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil
	}
	path := ""
	for _, e := range env {
		if len(e) > 5 && e[:5] == "PATH=" {
			path = e[5:]
		}
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("there is no %s on the PATH", name)
}

func exitOf(cmd *exec.Cmd, err error) Exit {
	var failed *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return Exit{}
	case !errors.As(err, &failed):
		return Exit{Code: 1, Reason: err.Error()}
	}
	if n := signalOf(cmd.ProcessState); n > 0 {
		return Exit{Code: 128 + n, Signal: n}
	}
	return Exit{Code: failed.ExitCode()}
}

// stream sends what a command writes to the host, in its order.
type stream struct {
	host   *line[toEntry, fromEntry]
	number int
	mu     sync.Mutex
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := 0; at < len(p); at += maxFrame {
		part := p[at:min(at+maxFrame, len(p))]
		if err := s.host.write(fromEntry{Frame: &Frame{Stream: s.number, Time: time.Now(), Bytes: part}}); err != nil {
			return at, err
		}
	}
	return len(p), nil
}

var _ io.Writer = (*stream)(nil)
