// Package shell runs scripts on the delegate's host, or on another one over
// SSH: the executor of ShellScript steps (semantics/pipeline §7.4).
//
// A script runs as a file in a process group of its own, so that stopping the
// task stops its children too. Output variables are dumped by lines that are
// added to the end of the script; a script that exits early has none. What the
// step's YAML may hold is pkg/step/shellscript's.
package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/clusteraccess"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Unit is the command unit of a script's log.
const Unit = "Execute"

// New makes the executor. environ is the delegate's environment, as from
// os.Environ; scripts on its host get it without the delegate's own
// credentials. The keys of other hosts are remembered below the folder known.
func New(environ []string, known string) executor.Executor {
	environ = withoutCredentials(environ)
	hosts := &knownHosts{folder: known}
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		p, err := executor.Payload[task.Shell](a)
		if err != nil {
			return task.Result{}, err
		}
		if err := check(p); err != nil {
			return task.Result{}, err
		}
		if len(p.Outputs) == 0 && idle(p) {
			return succeed(outputs{})
		}
		if p.Remote != nil {
			return runRemote(ctx, p, a.Traceparent, hosts, env)
		}
		return run(ctx, p, traced(environ, a.Traceparent), env)
	}
}

// run runs the script in a process and reads its output variables.
func run(ctx context.Context, p task.Shell, environ []string, env executor.Env) (task.Result, error) {
	dir, err := env.Dir()
	if err != nil {
		return task.Result{}, err
	}
	if p.Cluster != nil {
		config, secret, err := clusteraccess.WriteKubeconfig(ctx, *p.Cluster, dir, lookup(environ))
		if err != nil {
			return task.Result{}, err
		}
		env.Mask(secret)
		environ = append(slices.Clip(environ), task.KubeConfigPath+"="+config)
		p.Script = strings.ReplaceAll(p.Script, "${"+task.KubeConfigPath+"}", config)
	}
	s, err := prepare(p, dir)
	if err != nil {
		return task.Result{}, err
	}
	began := time.Now()
	code, err := process{
		args: s.args, dir: workingDirectory(p, dir), environ: environment(environ, p.Env),
		stdout: env.Log(Unit), stderr: env.LogError(Unit),
	}.run(ctx)
	if err != nil {
		fmt.Fprintf(env.LogError(Unit), "%v\n", err)
		return task.Result{}, err
	}
	return ended(code, began, func() (outputs, error) { return readOutputs(s.dump, p.Outputs) }, env)
}

// ended makes the result of a script that has ended, and tells of it.
func ended(code int, began time.Time, read func() (outputs, error), env executor.Env) (task.Result, error) {
	if code != 0 {
		fmt.Fprintf(env.LogError(Unit), "The script ended with exit code %d after %s.\n", code, elapsed(began))
		return exited(code)
	}
	out, err := read()
	env.Mask(values(out.secret)...)
	if err != nil {
		fmt.Fprintf(env.LogError(Unit), "The script ended with exit code 0 after %s, but: %v.\n", elapsed(began), err)
		return executor.Fail(fault.Failures(err), "%v", err), nil
	}
	fmt.Fprintf(env.Log(Unit), "The script ended with exit code 0 after %s.\n", elapsed(began))
	return succeed(out)
}

func elapsed(since time.Time) time.Duration { return time.Since(since).Round(time.Millisecond) }

func workingDirectory(p task.Shell, scratch string) string {
	if p.WorkingDirectory != "" {
		return p.WorkingDirectory
	}
	return scratch
}

// prepared is a script that is ready to run.
type prepared struct {
	args []string // interpreter, its options and the script's file
	dump string   // file that the script's last lines write output variables to
}

// prepare writes the script's file into dir. The file isn't executed itself
// but given to its interpreter, which needs neither execute permission nor a
// file system that allows it.
func prepare(p task.Shell, dir string) (prepared, error) {
	lang, err := interpreter(p)
	if err != nil {
		return prepared{}, err
	}
	s := prepared{dump: filepath.Join(dir, "outputs")}
	text := p.Script
	if len(p.Outputs) > 0 {
		if lang.epilogue == nil {
			return prepared{}, fault.New(fault.Unsupported, "the script's first line names %s; output variables need a Bourne shell or PowerShell", lang.args[0])
		}
		text += "\n" + lang.epilogue(p.Outputs, s.dump)
	}
	file := filepath.Join(dir, "script"+lang.suffix)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return prepared{}, fmt.Errorf("write the script: %w", err)
	}
	s.args = append(lang.args, file)
	return s, nil
}

// outcome is what expressions read below the step.
type outcome struct {
	ExitCode int `json:"exitCode"` // for retry conditions: <+step.exitCode>
	Output   struct {
		ExitCode  int                        `json:"exitCode"`
		Variables map[string]json.RawMessage `json:"outputVariables"`
	} `json:"output"`
}

func (o outcome) document() (json.RawMessage, error) {
	doc, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode the outputs: %w", err)
	}
	return doc, nil
}

func succeed(out outputs) (task.Result, error) {
	var o outcome
	o.Output.Variables = out.plain
	if o.Output.Variables == nil {
		o.Output.Variables = map[string]json.RawMessage{}
	}
	doc, err := o.document()
	if err != nil {
		return task.Result{}, err
	}
	r := task.Result{Status: task.Succeeded, Outputs: doc}
	for name, value := range out.secret {
		if r.SecretOutputs == nil {
			r.SecretOutputs = map[string]string{}
		}
		r.SecretOutputs["output.outputVariables."+name] = value
	}
	return r, nil
}

// exited is the result of a script that ended with another code than 0: it
// has no output variables.
func exited(code int) (task.Result, error) {
	o := outcome{ExitCode: code}
	o.Output.ExitCode = code
	o.Output.Variables = map[string]json.RawMessage{}
	doc, err := o.document()
	if err != nil {
		return task.Result{}, err
	}
	r := executor.Fail([]fault.FailureType{fault.Unknown}, "the script ended with exit code %d", code)
	r.Outputs = doc
	return r, nil
}
