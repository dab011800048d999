package shell

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

func runScript(t *testing.T, p task.Shell) (task.Result, *executortest.Env, error) {
	t.Helper()
	env := executortest.New(t, nil)
	if p.Shell == "" {
		p.Shell = "Bash"
	}
	r, err := New(os.Environ(), t.TempDir())(t.Context(), executortest.Assignment(t, task.KindShell, p), env.Env)
	return r, env, err
}

func output(name string) task.ShellOutput { return task.ShellOutput{Name: name, Variable: name} }

// read is a result's outputs as expressions see them.
func read(t *testing.T, r task.Result) map[string]any {
	t.Helper()
	var got struct {
		ExitCode int `json:"exitCode"`
		Output   struct {
			ExitCode  int            `json:"exitCode"`
			Variables map[string]any `json:"outputVariables"`
		} `json:"output"`
	}
	if err := json.Unmarshal(r.Outputs, &got); err != nil {
		t.Fatalf("outputs %s: %v", r.Outputs, err)
	}
	if got.ExitCode != got.Output.ExitCode {
		t.Errorf("exitCode is %d at the step and %d below output", got.ExitCode, got.Output.ExitCode)
	}
	got.Output.Variables["exit code"] = got.ExitCode
	return got.Output.Variables
}

func TestScript(t *testing.T) {
	t.Parallel()
	type vars = map[string]any
	for name, c := range map[string]struct {
		in     task.Shell
		status task.Status
		want   vars
		log    string
		errors string
	}{
		"stdout is INFO, stderr is ERROR": {
			in:   task.Shell{Script: "echo out; echo err >&2"},
			want: vars{"exit code": 0}, log: "out\n", errors: "err\n",
		},
		"the environment's variables": {
			in:   task.Shell{Script: `echo "$greeting"`, Env: map[string]string{"greeting": "hello 'world'"}},
			want: vars{"exit code": 0}, log: "hello 'world'\n",
		},
		"values of several lines stay whole": {
			in:   task.Shell{Script: "X='a\n b=c\n\n'", Outputs: []task.ShellOutput{output("X")}},
			want: vars{"exit code": 0, "X": "a\n b=c\n\n"},
		},
		"an output takes the variable of another name": {
			in:   task.Shell{Script: "v=1", Outputs: []task.ShellOutput{{Name: "image.tag", Variable: "v"}}},
			want: vars{"exit code": 0, "image.tag": "1"},
		},
		"empty is not unset": {
			in:   task.Shell{Script: "A=", Outputs: []task.ShellOutput{output("A"), output("B")}},
			want: vars{"exit code": 0, "A": ""},
		},
		"pipeline §7.4 early exit 0: success without outputs": {
			in:   task.Shell{Script: "X=1\nexit 0", Outputs: []task.ShellOutput{output("X")}},
			want: vars{"exit code": 0},
		},
		"pipeline §7.4 non-zero exit: failed, exit code, no outputs": {
			in:     task.Shell{Script: "X=1\nexit 3", Outputs: []task.ShellOutput{output("X")}},
			status: task.Failed, want: vars{"exit code": 3}, errors: "exit code 3",
		},
		"the last command's status is the script's": {
			in:     task.Shell{Script: "X=1\nfalse", Outputs: []task.ShellOutput{output("X")}},
			status: task.Failed, want: vars{"exit code": 1}, errors: "exit code 1",
		},
		"pipeline §7.4 no implicit set -e": {
			in:   task.Shell{Script: "false\nX=1", Outputs: []task.ShellOutput{output("X")}},
			want: vars{"exit code": 0, "X": "1"},
		},
		"set -eux doesn't break the dump": {
			in:   task.Shell{Script: "set -eu\nX=1", Outputs: []task.ShellOutput{output("X"), output("UNSET")}},
			want: vars{"exit code": 0, "X": "1"},
		},
		"a script that ends in a comment": {
			in:   task.Shell{Script: "X=1 # done", Outputs: []task.ShellOutput{output("X")}},
			want: vars{"exit code": 0, "X": "1"},
		},
		"a signal ends the script as in shells": {
			in:     task.Shell{Script: "kill -9 $$"},
			status: task.Failed, want: vars{"exit code": 137}, errors: "exit code 137",
		},
		"sh by its first line": {
			in:   task.Shell{Script: "#!/bin/sh -u\nX=\"${BASH_VERSION-none}\"", Outputs: []task.ShellOutput{output("X")}},
			want: vars{"exit code": 0, "X": "none"},
		},
		"bash through env": {
			in:   task.Shell{Script: "#!/usr/bin/env bash\nX=${BASH_VERSION:+bash}", Outputs: []task.ShellOutput{output("X")}},
			want: vars{"exit code": 0, "X": "bash"},
		},
		"bash without a first line": {
			in:   task.Shell{Script: "X=${BASH_VERSION:+bash}", Outputs: []task.ShellOutput{output("X")}},
			want: vars{"exit code": 0, "X": "bash"},
		},
		"another interpreter": {
			in:   task.Shell{Script: "#!/usr/bin/env cat\nshown by cat"},
			want: vars{"exit code": 0}, log: "shown by cat",
		},
		"numbers are numbers": {
			in:   task.Shell{Script: "A=' 007'; B=1.50", Outputs: []task.ShellOutput{{Name: "A", Variable: "A", Number: true}, {Name: "B", Variable: "B", Number: true}}},
			want: vars{"exit code": 0, "A": 7.0, "B": 1.5},
		},
		"an empty script": {in: task.Shell{Script: "\n  # nothing\n"}, want: vars{"exit code": 0}},
		"an empty script's outputs come from the environment": {
			in:   task.Shell{Script: "# nothing", Env: map[string]string{"X": "1"}, Outputs: []task.ShellOutput{output("X")}},
			want: vars{"exit code": 0, "X": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, env, err := runScript(t, c.in)
			if err != nil {
				t.Fatal(err)
			}
			if c.status == "" {
				c.status = task.Succeeded
			}
			if r.Status != c.status {
				t.Errorf("status %s, want %s: %s", r.Status, c.status, r.Message)
			}
			if diff := cmp.Diff(c.want, read(t, r)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
			if got := env.Text(Unit, executor.Info); !strings.Contains(got, c.log) {
				t.Errorf("INFO log %q, want %q in it", got, c.log)
			}
			if got := env.Text(Unit, executor.Error); !strings.Contains(got, c.errors) || c.errors == "" && got != "" {
				t.Errorf("ERROR log %q, want %q in it", got, c.errors)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   task.Shell
		want string
	}{
		"a secret output is empty": {
			in:   task.Shell{Script: "X=", Outputs: []task.ShellOutput{{Name: "X", Variable: "X", Secret: true}}},
			want: `secret output variable "X" is empty`,
		},
		"a number isn't one": {
			in:   task.Shell{Script: "X=ten", Outputs: []task.ShellOutput{{Name: "n", Variable: "X", Number: true}}},
			want: `output variable "n" is "ten"; want a number`,
		},
		"outputs over the limit": {
			in:   task.Shell{Script: "X=$(head -c 524289 /dev/zero | tr '\\0' x)", Outputs: []task.ShellOutput{output("X")}},
			want: "the output variables are larger than 512 KiB together",
		},
		"outputs of another language": {
			in:   task.Shell{Script: "#!/usr/bin/python3\nX=1", Outputs: []task.ShellOutput{output("X")}},
			want: "the script's first line names /usr/bin/python3; output variables need a Bourne shell or PowerShell",
		},
		"a variable that would be code": {
			in:   task.Shell{Script: "true", Outputs: []task.ShellOutput{{Name: "X", Variable: "X}$(id)"}}},
			want: `output variable "X": "X}$(id)" isn't the name of a shell variable`,
		},
		"no such interpreter": {
			in:   task.Shell{Script: "#!/no/such/shell\ntrue"},
			want: "start /no/such/shell: fork/exec /no/such/shell: no such file or directory",
		},
		"no such shell": {in: task.Shell{Shell: "Fish", Script: "true"}, want: `shell is "Fish"; want Bash or PowerShell`},
		"an impossible variable": {
			in:   task.Shell{Script: "true", Env: map[string]string{"a=b": "1"}},
			want: `environment variable "a=b": a name may hold neither = nor NUL and isn't empty`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _, err := runScript(t, c.in)
			got, types := r.Message, r.FailureTypes
			if err != nil {
				got, types = err.Error(), fault.Failures(err)
			}
			if got != c.want {
				t.Errorf("said %q, want %q", got, c.want)
			}
			if diff := cmp.Diff([]fault.FailureType{fault.ConfigurationFailure, fault.Unknown}, types); diff != "" {
				t.Errorf("failure types (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretOutputIsKeptApartAndMasked(t *testing.T) {
	t.Parallel()
	r, env, err := runScript(t, task.Shell{
		Script:  "set -x\nTOKEN=$(printf 'open%s' sesame)\nPLAIN=p",
		Outputs: []task.ShellOutput{{Name: "token", Variable: "TOKEN", Secret: true}, output("PLAIN")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"output.outputVariables.token": "opensesame"}, r.SecretOutputs); diff != "" {
		t.Errorf("secret outputs (-want +got):\n%s", diff)
	}
	if strings.Contains(string(r.Outputs), "opensesame") {
		t.Errorf("the outputs show it: %s", r.Outputs)
	}
	if diff := cmp.Diff([]string{"opensesame"}, env.Masked()); diff != "" {
		t.Errorf("masked (-want +got):\n%s", diff)
	}
	// The script itself traced the assignment; the added lines must not trace.
	if got := strings.Count(env.Text(Unit, executor.Error), "opensesame"); got != 1 {
		t.Errorf("traced %d times, want once, by the script itself:\n%s", got, env.Text(Unit, executor.Error))
	}
}

func TestScriptsDontSeeTheDelegatesCredentials(t *testing.T) {
	t.Parallel()
	env := executortest.New(t, nil)
	run := New([]string{"PATH=" + os.Getenv("PATH"), "DELEGATE_TOKEN=dlg.1", "SLIPWAY_DELEGATE_TOKEN=dlg.2", "TEAM=blue"}, t.TempDir())
	a := executortest.Assignment(t, task.KindShell, task.Shell{Shell: "Bash", Script: "env"})
	a.Traceparent = "00-01-02-01"
	if _, err := run(t.Context(), a, env.Env); err != nil {
		t.Fatal(err)
	}
	got := env.Text(Unit, executor.Info)
	if !strings.Contains(got, "TRACEPARENT=00-01-02-01\n") {
		t.Errorf("the script can't join the trace:\n%s", got)
	}
	if strings.Contains(got, "dlg.") || !strings.Contains(got, "TEAM=blue\n") {
		t.Errorf("the script's environment:\n%s\nwant TEAM and no token", got)
	}
}

func TestWorkingDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, env, err := runScript(t, task.Shell{Script: "pwd -P", WorkingDirectory: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := env.Text(Unit, executor.Info); !strings.HasPrefix(got, dir+"\n") {
		t.Errorf("ran in %q, want %s", got, dir)
	}
}

func TestAnEmptyScriptNeedsNoDirectoryAndNoLog(t *testing.T) {
	t.Parallel()
	a := executortest.Assignment(t, task.KindShell, task.Shell{Shell: "Bash", Script: "# nothing"})
	r, err := New(nil, t.TempDir())(t.Context(), a, executor.Env{})
	if err != nil || r.Status != task.Succeeded {
		t.Errorf("got %s, %v; want %s", r.Status, err, task.Succeeded)
	}
}

func TestPowerShellEpilogueNamesEachVariable(t *testing.T) {
	t.Parallel()
	got := powerShellEpilogue([]task.ShellOutput{output("A"), output("B")}, "/tmp/it's")
	for _, want := range []string{"Get-Variable -Name 'A'", "Get-Variable -Name 'B'", "'/tmp/it''s'"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func FuzzParseDump(f *testing.F) {
	f.Add([]byte("a\x001\x00\x00"))
	f.Add([]byte("a\x001\x00b"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, size, err := parseDump(doc)
		if err != nil {
			return
		}
		var again strings.Builder
		sum := 0
		for name, value := range got {
			fmt.Fprintf(&again, "%s\x00%s\x00", name, value)
			sum += len(value)
		}
		if sum > size {
			t.Errorf("size %d is smaller than the values' %d", size, sum)
		}
		second, _, err := parseDump([]byte(again.String() + "\x00"))
		if diff := cmp.Diff(got, second); err != nil || diff != "" {
			t.Errorf("read again (-first +second), %v:\n%s", err, diff)
		}
	})
}

// semantics/pipeline §3.6: the path is in the script's text and in its
// environment.
func TestAScriptIsGivenTheKubeconfigOfItsCluster(t *testing.T) {
	t.Parallel()
	r, env, err := runScript(t, task.Shell{
		Script:  `[ "${HARNESS_KUBE_CONFIG_PATH}" = "$HARNESS_KUBE_CONFIG_PATH" ] && grep server: ${HARNESS_KUBE_CONFIG_PATH}`,
		Cluster: &task.Cluster{URL: "https://cluster.example.com", Token: "t"},
	})
	if err != nil || r.Status != task.Succeeded {
		t.Fatalf("%s, %v", r.Status, err)
	}
	if got := env.Text(Unit, executor.Info); !strings.Contains(got, "server: https://cluster.example.com") {
		t.Errorf("the script printed %q", got)
	}
}
