package shell

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// credential says whether a variable holds the delegate's own token. Who has
// that can claim tasks with their secrets, so scripts never see it.
func credential(name string) bool {
	return name == "DELEGATE_TOKEN" || name == "ACCOUNT_SECRET" || strings.HasPrefix(name, "SLIPWAY_") && strings.Contains(name, "TOKEN")
}

func withoutCredentials(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return credential(name)
	})
}

// traced lets the script's own spans join the execution's trace.
func traced(environ []string, parent string) []string {
	if parent == "" {
		return environ
	}
	return append(slices.Clip(environ), "TRACEPARENT="+parent)
}

// environment is the delegate's with the step's on top: exec takes the last of
// several values.
func environment(base []string, step map[string]string) []string {
	environ := slices.Clip(base)
	for _, name := range slices.Sorted(maps.Keys(step)) {
		environ = append(environ, name+"="+step[name])
	}
	return environ
}

// lookup reads an environment.
func lookup(environ []string) func(name string) string {
	return func(name string) string {
		for _, kv := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// variable is what may stand in ${...}. Checking it here keeps the epilogue
// safe whoever made the task.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// check refuses what can't be run.
func check(p task.Shell) error {
	if p.Shell != "Bash" && p.Shell != "PowerShell" {
		return fault.New(fault.Invalid, "shell is %q; want Bash or PowerShell", p.Shell)
	}
	for name, value := range p.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fault.New(fault.Invalid, "environment variable %q: a name may hold neither = nor NUL and isn't empty", name)
		}
		if strings.Contains(value, "\x00") {
			return fault.New(fault.Invalid, "the value of environment variable %q holds a NUL", name)
		}
	}
	for _, o := range p.Outputs {
		if !variable.MatchString(o.Variable) {
			return fault.New(fault.Invalid, "output variable %q: %q isn't the name of a shell variable", o.Name, o.Variable)
		}
	}
	return nil
}
