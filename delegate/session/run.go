package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/session"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Command is a program that a step runs in its session.
type Command struct {
	// Part tells several commands of one step apart.
	Part string
	// Args are the program, by its name on the PATH, and its arguments.
	Args []string
	// Before is a script that is run in the same shell before the program.
	Before string
	// Script is what is run in place of a program, by a Shell.
	Script, Shell string
	// Dir is where it runs, below the workspace.
	Dir string
	// Env is its environment besides that of all programs.
	Env []string
	// Lends gives credentials that end before the program may: it asks for them, and
	// is given newer ones in time. nil: there are none.
	Lends func(ctx context.Context) (session.Credentials, error)
	// Lent makes of where they are found what the environment has besides.
	Lent func(session.Lent) []string
	// Out and Err get what it writes.
	Out, Err io.Writer
}

// interruption is how long a program has to end between being interrupted and
// being killed.
const interruption = 30 * time.Second

// Run runs a command to its end. If ctx ends first, it is interrupted, and the
// context's cause is the error; but where the lease is lost it goes on. Who runs
// the same again, for the same attempt, finds the first run, and all of its log.
func (s *Sessions) Run(ctx context.Context, id string, a task.Assignment, c Command) (session.Exit, error) {
	start, err := s.start(id, a, c)
	if err != nil {
		return session.Exit{}, err
	}
	start.Seconds = int(a.Timeout/time.Second) + 60
	r := s.run(id, a, c)
	ctx, stop := s.limited(ctx, id)
	defer stop()
	if c.Lends != nil {
		more, err := r.lend(ctx, c)
		if err != nil {
			return session.Exit{}, err
		}
		start.Env = append(start.Env, more...)
	}
	if err := r.begin(ctx, start); err != nil {
		return session.Exit{}, err
	}
	exit, err := r.follow(ctx, c)
	if err != nil {
		return exit, err
	}
	return exit, s.fits(id)
}

// start is how a host starts a command.
func (s *Sessions) start(id string, a task.Assignment, c Command) (session.Start, error) {
	home := filepath.Join(s.Workspace(id), ".home")
	temporary := filepath.Join(s.dir(id), "tmp")
	for _, dir := range []string{home, temporary} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return session.Start{}, Gone(id, err)
		}
	}
	start := session.Start{
		Args: c.Args, Dir: c.Dir, Env: slices.Concat(s.Base(), []string{"HOME=" + home, "TMPDIR=" + temporary, "CI=1"}, c.Env), Interrupt: true,
		Grace: int(interruption / time.Second), Fence: a.Fence, Script: c.Script, Shell: c.Shell,
	}
	if c.Before != "" {
		start.Script, start.Shell = "set -e\n"+c.Before+"\nexec \"$@\"\n", "sh"
	}
	return start, nil
}

func (s *Sessions) run(id string, a task.Assignment, c Command) run {
	return run{client: s.Client(id), id: id, step: session.Step(a.Node + " " + c.Part), attempt: a.Attempt, fence: a.Fence}
}

// Gone is the error of a session that isn't there any more.
func Gone(id string, err error) error {
	return fault.New(fault.Unavailable, "the session %s isn't on this machine any more, and with it the workspace: %w", id, err).Causing(fault.DelegateRestart)
}

type run struct {
	client   *session.Client
	id, step string
	attempt  int
	fence    int64
}

// begin starts the attempt. What an earlier attempt has left running is ended
// first: whoever began that one is gone.
func (r run) begin(ctx context.Context, start session.Start) error {
	_, err := r.client.Start(ctx, r.step, r.attempt, start)
	if fault.Is(err, fault.Conflict) {
		if err = r.endEarlier(ctx); err == nil {
			_, err = r.client.Start(ctx, r.step, r.attempt, start)
		}
	}
	if fault.Is(err, fault.Unavailable) {
		return Gone(r.id, err)
	}
	return err
}

// lend lends a command credentials, and newer ones until ctx ends.
func (r run) lend(ctx context.Context, c Command) ([]string, error) {
	own, err := c.Lends(ctx)
	if err != nil {
		return nil, err
	}
	lent, err := r.client.Lend(ctx, r.step, r.attempt, own)
	switch {
	case fault.Is(err, fault.Conflict):
		return c.Lent(lent), nil // it has ended already, and is only asked how
	case fault.Is(err, fault.Unavailable):
		return nil, Gone(r.id, err)
	case err != nil:
		return nil, err
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(renewal(time.Until(own.Expiration))):
			}
			newer, err := c.Lends(ctx)
			if err == nil {
				own = newer
				_, err = r.client.Lend(ctx, r.step, r.attempt, own)
			}
			if err != nil && ctx.Err() == nil && !fault.Is(err, fault.Conflict) {
				fmt.Fprintln(c.Err, "Warning: the program's credentials can't be renewed now; it is tried again:", err)
			}
		}
	}()
	return c.Lent(lent), nil
}

// renewal is when credentials are renewed that are good for so long: SDKs ask for
// new ones some minutes before the end.
func renewal(left time.Duration) time.Duration {
	return max(left/2, left-20*time.Minute, 10*time.Second)
}

func (r run) endEarlier(ctx context.Context) error {
	info, err := r.client.Info(ctx)
	if err != nil {
		return err
	}
	for _, one := range info.Steps {
		if one.Step != r.step || one.Attempt >= r.attempt {
			continue
		}
		for one.State.Phase != session.Ended {
			if err := r.client.Cancel(ctx, one.Step, one.Attempt, session.Stop{Fence: newest}); err != nil {
				return err
			}
			if one.State, err = r.client.State(ctx, one.Step, one.Attempt, one.State.Version, time.Second); err != nil {
				return err
			}
		}
	}
	return nil
}

// newest is a fence above that of any delegate: the attempt is over.
const newest = 1 << 62

func (r run) follow(ctx context.Context, c Command) (session.Exit, error) {
	// The log is read to its end also when the command is interrupted.
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), executor.ErrLeaseLost) { // it may be another delegate's by now
			stop()
			return
		}
		_ = r.client.Cancel(reading, r.step, r.attempt, session.Stop{Fence: r.fence}) // the host's own time ends it else
		time.AfterFunc(interruption+10*time.Second, stop)
	})()
	state, err := r.client.Follow(reading, r.step, r.attempt, 0, c.log)
	switch {
	case ctx.Err() != nil:
		return session.Exit{}, context.Cause(ctx)
	case fault.Is(err, fault.Unavailable):
		return session.Exit{}, Gone(r.id, err)
	case err != nil:
		return session.Exit{}, err
	case state.Exit == nil:
		return session.Exit{}, errors.New("the session says that a command has ended, and not how")
	}
	return *state.Exit, nil
}

// log writes a part of the command's log.
func (c Command) log(l session.Log) error {
	if l.Dropped > 0 {
		fmt.Fprintf(c.Err, "... %d bytes of the log were dropped here: it is longer than %d ...\n", l.Dropped, session.MaxLog)
	}
	for _, f := range l.Frames {
		w := c.Out
		if f.Stream == 2 {
			w = c.Err
		}
		if _, err := w.Write(f.Bytes); err != nil {
			return fmt.Errorf("write the log: %w", err)
		}
	}
	return nil
}
