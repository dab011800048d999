package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// remote is a script on another host. Everything that it needs is in one
// folder there, which only the user may read and which is removed afterwards:
//
//	env      the step's environment, as a Bourne shell reads it
//	script   the script
//	pid      the process group that it runs in
//	outputs  the dump of its output variables
type remote struct {
	client *ssh.Client
	folder string
}

// parting is how long a host has to end a script and to clear up once the task
// is stopped. One that has gone silent would keep it waiting for ever.
const parting = 5 * time.Second

// runRemote runs a script on another host.
func runRemote(ctx context.Context, p task.Shell, trace string, hosts *knownHosts, env executor.Env) (task.Result, error) {
	client, err := dial(ctx, *p.Remote, hosts)
	if err != nil {
		fmt.Fprintln(env.LogError(Unit), err)
		if ctx.Err() != nil {
			return task.Result{}, context.Cause(ctx)
		}
		return executor.Fail(fault.Failures(err), "%s", err), nil
	}
	defer client.Close()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(parting, func() { _ = client.Close() }) })() // closed already is as good
	r := remote{client: client, folder: "/tmp/slipway-" + rand.Text()}
	defer r.remove(env)
	command, err := r.prepare(p, trace)
	if err != nil {
		return task.Result{}, stopped(ctx, err)
	}
	began := time.Now()
	code, err := r.run(ctx, command, env)
	if err = stopped(ctx, err); err != nil {
		fmt.Fprintln(env.LogError(Unit), err)
		return task.Result{}, err
	}
	return ended(code, began, func() (outputs, error) { return r.outputs(p.Outputs) }, env)
}

// prepare writes the files and gives the command that runs the script.
func (r remote) prepare(p task.Shell, trace string) (string, error) {
	text, run, err := r.script(p)
	if err != nil {
		return "", err
	}
	environ := maps.Clone(p.Env)
	if trace != "" {
		if environ == nil {
			environ = map[string]string{}
		}
		environ["TRACEPARENT"] = trace
	}
	var exports strings.Builder
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if !variable.MatchString(name) {
			return "", fault.New(fault.Invalid, "environment variable %q: on another host a name is of letters, digits and _", name)
		}
		fmt.Fprintf(&exports, "export %s=%s\n", name, quote(environ[name]))
	}
	err = r.write("umask 077 && mkdir "+r.folder+" && cat > "+r.folder+"/env", exports.String())
	if err == nil {
		err = r.write("umask 077 && cat > "+r.folder+"/script", text)
	}
	if err != nil {
		return "", err
	}
	directory := r.folder
	if p.WorkingDirectory != "" {
		directory = p.WorkingDirectory
	}
	// The login shell may be any: what follows is a Bourne shell's.
	return "exec sh -c " + quote(fmt.Sprintf("echo $$ > %[1]s/pid; . %[1]s/env; cd %[2]s || exit 1; %[3]s", r.folder, quote(directory), run)), nil
}

// script is the script's text with the lines that dump output variables, and
// what runs it. Which shells there are is known on the host only.
func (r remote) script(p task.Shell) (text, run string, err error) {
	file, dump := r.folder+"/script", r.folder+"/outputs"
	if p.Shell == "PowerShell" {
		text = p.Script + "\n" + powerShellEpilogue(p.Outputs, dump)
		missing := `echo "there is no PowerShell on this host: found no pwsh in its PATH" >&2; exit 127`
		return text, fmt.Sprintf("mv %[1]s %[1]s.ps1; command -v pwsh >/dev/null || { %[2]s; }; exec pwsh -NoProfile -NonInteractive -File %[1]s.ps1", file, missing), nil
	}
	epilogue := "\n" + bourneEpilogue(p.Outputs, dump)
	args := shebang(p.Script)
	switch {
	case len(args) == 0:
		return p.Script + epilogue, fmt.Sprintf("if command -v bash >/dev/null; then exec bash %[1]s; else exec sh %[1]s; fi", file), nil
	case bourne(args):
		text = p.Script + epilogue
	case len(p.Outputs) > 0:
		return "", "", fault.New(fault.Unsupported, "the script's first line names %s; output variables need a Bourne shell or PowerShell", args[0])
	default:
		text = p.Script
	}
	var words []string
	for _, a := range args {
		words = append(words, quote(a))
	}
	return text, "exec " + strings.Join(words, " ") + " " + file, nil
}

// write runs a command that reads a text.
func (r remote) write(command, text string) error {
	s, err := r.client.NewSession()
	if err != nil {
		return lost(err)
	}
	defer s.Close()
	s.Stdin = strings.NewReader(text)
	if said, err := s.CombinedOutput("exec sh -c " + quote(command)); err != nil {
		return fault.New(fault.Unavailable, "the script can't be put on the host: %w: %s", err, strings.TrimSpace(string(said))).Causing(fault.Unknown)
	}
	return nil
}

// run runs a command to its end and gives its exit code. If ctx ends first,
// the whole process group is ended and the context's cause is the error.
func (r remote) run(ctx context.Context, command string, env executor.Env) (int, error) {
	s, err := r.client.NewSession()
	if err != nil {
		return 0, lost(err)
	}
	defer s.Close()
	s.Stdout, s.Stderr = env.Log(Unit), env.LogError(Unit)
	if err := s.Start(command); err != nil {
		return 0, lost(err)
	}
	end := make(chan error, 1)
	go func() { end <- s.Wait() }()
	select {
	case err = <-end:
	case <-ctx.Done():
		r.stop()
		return 0, context.Cause(ctx)
	}
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.Signal() != "":
		return 128 + signals()[exit.Signal()], nil
	case errors.As(err, &exit):
		return exit.ExitStatus(), nil
	}
	return 0, lost(err)
}

// signals are the numbers of the signals of RFC 4254 §6.10.
func signals() map[string]int {
	return map[string]int{
		"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15,
	}
}

// stop ends the script's process group.
func (r remote) stop() {
	_, _ = r.do(fmt.Sprintf("kill -TERM -$(cat %[1]s/pid); sleep 1; kill -KILL -$(cat %[1]s/pid)", r.folder)) // it may have ended
}

// outputs reads the dump. Without one, the script exited early.
func (r remote) outputs(wanted []task.ShellOutput) (outputs, error) {
	if len(wanted) == 0 {
		return outputs{}, nil
	}
	doc, err := r.do("cat " + r.folder + "/outputs 2>/dev/null || true")
	if err != nil {
		return outputs{}, lost(err)
	}
	if len(doc) == 0 {
		return outputs{}, nil
	}
	return decodeOutputs(bytes.NewReader(doc), wanted)
}

// remove removes the folder, also after an abort.
func (r remote) remove(env executor.Env) {
	if _, err := r.do("rm -rf " + r.folder); err != nil {
		fmt.Fprintf(env.LogError(Unit), "The folder %s stays on the host: %v\n", r.folder, err)
	}
}

// most is how much of a command's output is read, in bytes.
const most = maxOutputs + 128<<10

// do runs a command and gives what it prints.
func (r remote) do(command string) ([]byte, error) {
	s, err := r.client.NewSession()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.Start("exec sh -c " + quote(command)); err != nil {
		return nil, err
	}
	doc, err := io.ReadAll(io.LimitReader(out, most))
	if err != nil {
		return nil, err
	}
	return doc, s.Wait()
}

// stopped prefers the reason why the time is up to what that broke: a host that
// says nothing more is hung up on.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// lost is the error of a connection that broke.
func lost(err error) error {
	return fault.New(fault.Unavailable, "the connection to the host is lost: %w", err).Causing(fault.Connectivity)
}
