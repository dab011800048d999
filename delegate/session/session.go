// Package session opens sessions on a delegate's machine, in which steps run
// programs, and runs commands in them: in a folder, by a host that outlives the
// delegate. It is the process runner; what is said to a host is pkg/session's.
package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/session"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Unit is the command unit of the log of opening a session.
const Unit = "Initialize"

// Config is what sessions need.
type Config struct {
	// Dir is the folder of all sessions. Delegates that share it are on one machine.
	Dir string
	// Environ is the delegate's environment, as from os.Environ.
	Environ []string
	// Orphan is how long a host goes on that no delegate asks; 0: an hour.
	Orphan time.Duration
	// Limit is how much a workspace may hold, in bytes; 0: 2 GiB. It is looked at
	// again after each Look, 0: 15 seconds, and after each command.
	Limit int64
	Look  time.Duration
	Log   *slog.Logger // nil: the default logger
}

// Sessions are those of a machine.
type Sessions struct {
	Config

	mu      sync.Mutex // of making sessions, and of the machine's name
	clients map[string]*session.Client
	beside  map[string][]*Beside // that go on in a session
}

// New makes Sessions. Nothing is on the disk until one is opened.
func New(cfg Config) *Sessions {
	if cfg.Orphan == 0 {
		cfg.Orphan = time.Hour
	}
	if cfg.Limit == 0 {
		cfg.Limit = DefaultLimit
	}
	if cfg.Look == 0 {
		cfg.Look = 15 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Sessions{Config: cfg, clients: map[string]*session.Client{}, beside: map[string][]*Beside{}}
}

// Kind is what a delegate does for tasks that open sessions.
func (s *Sessions) Kind() executor.Kind {
	return executor.Kind{Do: s.do, Sessions: &executor.Sessions{Machine: s.Machine, Tools: s.Tools, Open: s.Opened, Close: s.Close}}
}

func (s *Sessions) do(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
	p, err := executor.Payload[task.Session](a)
	if err != nil {
		return task.Result{}, err
	}
	began := time.Now()
	dir, err := s.Start(ctx, p)
	if err != nil {
		fmt.Fprintln(env.LogError(Unit), err)
		return task.Result{}, err
	}
	machine, err := s.Machine()
	if err != nil {
		return task.Result{}, err
	}
	fmt.Fprintf(env.Log(Unit), "The steps run as processes on this delegate's machine, in %s.\nThe workspace is ready in %s.\n",
		filepath.Join(dir, session.Workspace), time.Since(began).Round(time.Millisecond))
	return executor.Succeed(task.Opened{ID: p.ID, Machine: machine})
}

// Machine is the machine's name: another one after it was started anew, when no
// session is there any more, and where the folder is a copy of another machine's,
// such as one that came with an image.
func (s *Sessions) Machine() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of sessions: %w", err)
	}
	file := filepath.Join(s.Dir, "machine")
	name, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		// Of two delegates that begin at once one makes it.
		own := file + "." + rand.Text()
		if err = os.WriteFile(own, []byte(rand.Text()), 0o600); err == nil {
			if err = os.Link(own, file); errors.Is(err, fs.ErrExist) {
				err = nil
			}
			_ = os.Remove(own) // it is there by its other name
		}
		if err == nil {
			name, err = os.ReadFile(file)
		}
	}
	if err != nil {
		return "", fmt.Errorf("name the machine: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("name the machine: %w", err)
	}
	return string(name) + "-" + session.Step(boot()+" "+identity(info)), nil
}

// boot is what is the same until the machine is started anew.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		host, _ := os.Hostname() // a machine without a name is like no other here
		return host
	}
	return string(id)
}

func (s *Sessions) dir(id string) string { return filepath.Join(s.Dir, id) }

// Start opens a session and gives its folder. One that is open stays so.
func (s *Sessions) Start(ctx context.Context, p task.Session) (string, error) {
	if !filepath.IsLocal(p.ID) || filepath.Base(p.ID) != p.ID {
		return "", fault.New(fault.Invalid, "a session can't have the id %q", p.ID)
	}
	dir := s.dir(p.ID)
	if _, err := s.Client(p.ID).Info(ctx); err == nil {
		return dir, nil
	}
	if err := remove(dir); err != nil { // of one that was cut short
		return "", err
	}
	for _, name := range []string{session.Workspace, session.Control} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return "", fmt.Errorf("make the folder of the session: %w", err)
		}
	}
	doc, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, record), doc, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("note the session: %w", err)
	}
	return dir, s.host(ctx, p.ID, dir)
}

// record is the file of a session's folder that says whose it is.
const record = "session.json"

// program is slipway-step beside this program, else this program, which Answers.
func program() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program that runs steps: %w", err)
	}
	if beside := filepath.Join(filepath.Dir(own), "slipway-step"); executable(beside) {
		return beside, nil
	}
	return own, nil
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// host starts the host of a session and waits until it answers.
func (s *Sessions) host(ctx context.Context, id, dir string) error {
	file, err := program()
	if err != nil {
		return err
	}
	session.Reserve() // a host outlives whoever has started this program
	cmd := session.HostCommand(file, dir, id, s.Orphan)
	log := filepath.Join(dir, session.Control, "host.log")
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make the log of the host: %w", err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return fault.New(fault.Unavailable, "start the host of the session: %w", err).Causing(fault.DelegateProvisioning)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if _, err = s.Client(id).Info(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			_ = cmd.Process.Kill() // nobody would use it
			return context.Cause(ctx)
		case why := <-ended:
			said, _ := os.ReadFile(log) // it may have said nothing
			return fault.New(fault.Unavailable, "the host of the session ended at once: %w\n%s", why, said)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Client speaks to the host of a session.
func (s *Sessions) Client(id string) *session.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[id]
	if c == nil {
		c = session.NewClient(id, dialer(filepath.Join(s.dir(id), session.Control)))
		s.clients[id] = c
	}
	return c
}

// Workspace is the folder that the steps of a session share.
func (s *Sessions) Workspace(id string) string { return filepath.Join(s.dir(id), session.Workspace) }

// answered bounds how long a host may take to say that it is there.
const answered = 5 * time.Second

// Opened lists the sessions that are open. That they are asked keeps their hosts.
func (s *Sessions) Opened() []task.Session {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil // none was opened
	}
	var out []task.Session
	for _, e := range entries {
		doc, err := os.ReadFile(filepath.Join(s.Dir, e.Name(), record))
		var p task.Session
		if err != nil || json.Unmarshal(doc, &p) != nil || p.ID != e.Name() {
			continue
		}
		ctx, stop := context.WithTimeout(context.Background(), answered)
		_, err = s.Client(p.ID).Info(ctx)
		stop()
		if err != nil && old(filepath.Join(s.Dir, e.Name(), record)) {
			_ = s.Close(context.Background(), p.ID) // the next look tries again
			continue
		}
		out = append(out, p)
	}
	return out
}

// longest is how long what a session has left stays, whatever is said of it.
const longest = 24 * time.Hour

func old(file string) bool {
	info, err := os.Stat(file)
	return err == nil && time.Since(info.ModTime()) > longest
}

// Close ends a session: what goes on in the background first, then all that runs in
// it, its host and its folder.
func (s *Sessions) Close(ctx context.Context, id string) error {
	c := s.Client(id)
	s.endBeside(ctx, id)
	if err := c.Close(ctx); err != nil && !fault.Is(err, fault.Unavailable) {
		return err
	}
	for {
		c.Forget()
		if _, err := c.Info(ctx); fault.Is(err, fault.Unavailable) {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the host of session %s is still there: %w", id, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.mu.Lock()
	delete(s.clients, id)
	s.mu.Unlock()
	return remove(s.dir(id))
}

// remove removes a folder, also what may not be written in it.
func remove(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // its owner's
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the folder of a session: %w", err)
	}
	return nil
}
