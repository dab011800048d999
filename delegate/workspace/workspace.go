// Package workspace brings manifests into the workspace of a session and runs
// tools there, for the deployment types whose steps do.
//
// Which tool is run, and how, is the executor's of its deployment type; how a
// program is run in a session is delegate/session's.
package workspace

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/pkg/fault"
	pkg "github.com/slipway-cd/slipway/pkg/session"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Tool runs programs for one task.
type Tool struct {
	executor.Section
	Sessions *session.Sessions
	Task     task.Assignment
	Access   *aws.Access
	Spec     lane.Run
	// Legacy are variables that the tool reads, or scripts written for other runners.
	Legacy map[string]string
	runs   int
}

// Call is a program that a task runs, in a folder of the workspace.
type Call struct {
	Part string // tells several of one task apart
	Dir  string
	Args []string
	// Out gets what it writes, beside the log; Quiet: in its place, unless it fails.
	Out   *strings.Builder
	Quiet bool
}

// Run runs a program in a folder of the workspace, after the step's script. What
// ends it with another exit code than 0 is its error.
func (t *Tool) Run(ctx context.Context, dir string, args ...string) error {
	exit, err := t.Try(ctx, dir, io.Discard, args...)
	if err == nil {
		err = ended(args, exit)
	}
	if err != nil {
		t.missing(ctx)
	}
	return err
}

// ended is the error of a program that has ended with another exit code than 0.
func ended(args []string, exit pkg.Exit) error {
	if exit.Code == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "%s ended with exit code %d", strings.Join(args[:min(len(args), 2)], " "), exit.Code).Causing(fault.Unknown)
}

// Do runs one of several programs as Run does; the script runs before the first.
func (t *Tool) Do(ctx context.Context, c Call) error {
	run := session.Command{Part: c.Part, Args: c.Args, Dir: c.Dir}
	if t.runs == 0 {
		run.Before = t.Spec.Before
		t.idle()
	}
	var said strings.Builder
	run.Out, run.Err = t.Env.Log(t.Unit), t.Env.LogError(t.Unit)
	if c.Quiet {
		run.Out, run.Err = &said, &said
	} else {
		t.Say("$ %s", strings.Join(c.Args, " "))
	}
	if c.Out != nil {
		run.Out = io.MultiWriter(c.Out, run.Out)
	}
	if err := t.environ(ctx, &run); err != nil {
		return err
	}
	exit, err := t.run(ctx, run)
	if err == nil {
		err = ended(c.Args, exit)
	}
	if err != nil && c.Quiet {
		t.Say("$ %s\n%s", strings.Join(c.Args, " "), said.String())
	}
	if err != nil {
		t.missing(ctx)
	}
	return err
}

// Try is Run for programs whose exit code says something: it gives how the program
// has ended. Another writer gets what it writes, too.
func (t *Tool) Try(ctx context.Context, dir string, also io.Writer, args ...string) (pkg.Exit, error) {
	if t.runs == 0 {
		t.idle()
	}
	t.Say("$ %s", strings.Join(args, " "))
	c := session.Command{
		Args: args, Before: t.Spec.Before, Dir: dir, Out: io.MultiWriter(t.Env.Log(t.Unit), also), Err: io.MultiWriter(t.Env.LogError(t.Unit), also),
	}
	if err := t.environ(ctx, &c); err != nil {
		return pkg.Exit{}, err
	}
	return t.run(ctx, c)
}

// Ask runs a program that only tells something, and gives that; empty if it fails.
// It has no credentials.
func (t *Tool) Ask(ctx context.Context, dir string, args ...string) (string, error) {
	var out strings.Builder
	exit, err := t.run(ctx, session.Command{Args: args, Dir: dir, Out: &out, Err: io.Discard})
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	if err != nil || exit.Code != 0 {
		return "", nil
	}
	return strings.TrimSpace(out.String()), nil
}

func (t *Tool) run(ctx context.Context, c session.Command) (pkg.Exit, error) {
	t.runs++
	if c.Part == "" {
		c.Part = fmt.Sprint(t.runs)
	}
	began := time.Now()
	exit, err := t.Sessions.Run(ctx, t.Spec.Session, t.Task, c)
	switch {
	case err != nil:
		return exit, err
	case exit.Reason != "":
		return exit, fault.New(fault.Invalid, "%s: %s", c.Args[0], exit.Reason)
	case exit.Signal != 0:
		return exit, fault.New(fault.Invalid, "%s was ended by signal %d after %s, not by Slipway", c.Args[0], exit.Signal, time.Since(began).Round(time.Millisecond))
	}
	return exit, nil
}

// idle tells which fields of the step say something about a container.
func (t *Tool) idle() {
	if len(t.Spec.Idle) > 0 {
		t.Say("The step runs as a process on the delegate's machine: %s don't apply.", strings.Join(t.Spec.Idle, ", "))
	}
}

// environ is what a program gets besides what all get: the credentials of the
// connector, which are in no file, and the step's own variables.
func (t *Tool) environ(ctx context.Context, c *session.Command) error {
	all := map[string]string{"SAM_CLI_TELEMETRY": "0", "SLS_TELEMETRY_DISABLED": "1", "SLS_NOTIFICATIONS_MODE": "off"}
	if t.Access != nil {
		own, err := t.credentials(ctx)
		if err != nil {
			return err
		}
		keys := map[string]string{
			"AWS_ACCESS_KEY_ID": own.AccessKeyID, "AWS_SECRET_ACCESS_KEY": own.SecretAccessKey, "AWS_SESSION_TOKEN": own.SessionToken,
			"PLUGIN_AWS_ACCESS_KEY": own.AccessKeyID, "PLUGIN_AWS_SECRET_KEY": own.SecretAccessKey,
		}
		enough := !own.CanExpire || time.Until(own.Expires) > t.Task.Timeout+time.Minute
		if enough {
			maps.Copy(all, keys)
		}
		if own.CanExpire { // also for a program that an earlier delegate has begun
			c.Lends, c.Lent = t.lends, func(at pkg.Lent) []string {
				t.Env.Mask(at.Token)
				if enough {
					return nil
				}
				return []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + at.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN=" + at.Token}
			}
		}
		all["AWS_REGION"], all["AWS_DEFAULT_REGION"], all["PLUGIN_REGION"] = t.Access.Region, t.Access.Region, t.Access.Region
	}
	maps.Copy(all, t.Legacy)
	maps.Copy(all, t.Spec.Env)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if value := all[name]; value != "" {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	return nil
}

// credentials are the connector's, masked. Those that would end while the step
// runs are asked for anew: they may be as old as the execution.
func (t *Tool) credentials(ctx context.Context) (sdk.Credentials, error) {
	own, err := t.Access.Credentials.Retrieve(ctx)
	if cache, ok := t.Access.Credentials.(*sdk.CredentialsCache); ok && err == nil && own.CanExpire && time.Until(own.Expires) < t.Task.Timeout+time.Minute {
		cache.Invalidate()
		own, err = t.Access.Credentials.Retrieve(ctx)
	}
	if err != nil {
		return own, t.Access.Failed(ctx, "sts:AssumeRole", err)
	}
	t.Env.Mask(own.SecretAccessKey, own.SessionToken)
	return own, nil
}

// lends are the credentials that a program finds at an address of its session.
func (t *Tool) lends(ctx context.Context) (pkg.Credentials, error) {
	own, err := t.credentials(ctx)
	return pkg.Credentials{AccessKeyID: own.AccessKeyID, SecretAccessKey: own.SecretAccessKey, Token: own.SessionToken, Expiration: own.Expires}, err
}

// Has says whether the workspace has a file.
func (t *Tool) Has(ctx context.Context, name string) (bool, error) {
	r, err := t.Sessions.Client(t.Spec.Session).Get(ctx, name)
	switch {
	case fault.Is(err, fault.NotFound):
		return false, nil
	case fault.Is(err, fault.Unavailable):
		return false, session.Gone(t.Spec.Session, err)
	case err != nil:
		return false, err
	}
	return true, r.Close()
}

// Read reads a file of a session's workspace; fault.TooLarge if it has more bytes
// than are wanted.
func Read(ctx context.Context, sessions *session.Sessions, id, name string, most int64) ([]byte, error) {
	r, err := sessions.Client(id).Get(ctx, name)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, fault.New(fault.NotFound, "the workspace has no file %s", name).Causing(fault.ConfigurationFailure)
	case fault.Is(err, fault.Unavailable):
		return nil, session.Gone(id, err)
	case err != nil:
		return nil, err
	}
	defer r.Close()
	files := tar.NewReader(r)
	head, err := files.Next()
	if err != nil || head.Typeflag != tar.TypeReg || head.Name != path.Base(name) {
		return nil, fault.New(fault.Invalid, "%s of the workspace is no file", name).Causing(fault.ConfigurationFailure)
	}
	if head.Size > most {
		return nil, fault.New(fault.TooLarge, "%s has %d bytes; want at most %d", name, head.Size, most)
	}
	text, err := io.ReadAll(files)
	if err != nil {
		return nil, fmt.Errorf("read %s of the workspace: %w", name, err)
	}
	return text, nil
}

// Folders are where the files of a manifest may lie in the workspace that a store
// names by a folder, or by a file in it.
func Folders(m lane.Manifest) []string {
	named := ""
	switch s := m.Store; {
	case s.Git != nil && len(s.Git.Paths) > 0:
		named = s.Git.Paths[0]
	case s.Files != nil && len(s.Files.Paths) > 0:
		named = stored(s.Files.Paths[0])
	case s.S3 != nil && len(s.S3.Paths) > 0:
		named = s.S3.Paths[0]
	}
	named = strings.Trim(path.Clean("/"+named), "/")
	if path.Ext(named) == ".zip" {
		return []string{path.Join(m.ID, path.Dir(named))}
	}
	return slices.Compact([]string{path.Join(m.ID, named), path.Join(m.ID, path.Dir("/"+named))})
}

// stored is a path of the file store without its scope.
func stored(named string) string {
	if _, below, ok := strings.Cut(named, ":"); ok {
		return below
	}
	return named
}

// Words splits options as a shell would: each may hold several words.
func Words(options []string) ([]string, error) {
	var out []string
	for _, option := range options {
		words, err := split(option)
		if err != nil {
			return nil, fault.New(fault.Invalid, "the option %q: %w", option, err).Causing(fault.ConfigurationFailure)
		}
		out = append(out, words...)
	}
	return out, nil
}

func split(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	escaped := false
	for _, c := range text {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				out = append(out, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("a quote isn't closed")
	}
	if inWord {
		out = append(out, word.String())
	}
	return out, nil
}
