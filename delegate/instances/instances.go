// Package instances finds the instances of a custom deployment: it runs the
// script of a deployment template and reads the list that the script writes
// (semantics/pipeline §9.6).
//
// How scripts run is delegate/shell's; which script it is, and where in what it
// writes the instances are, the control plane has resolved.
package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/task"
)

// outputPath is the environment variable that tells the script where to write.
const outputPath = "INSTANCE_OUTPUT_PATH"

// maxOutput bounds what is read of what the script writes, in bytes.
const maxOutput = 16 << 20

// New makes the executor. The script runs as tasks of the kind shell do.
func New(script executor.Executor) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, err := executor.Payload[task.Work](a)
		if err != nil {
			return task.Result{}, err
		}
		place, err := executor.Place[custom.Place](a.Kind, w.Place)
		if err != nil {
			return task.Result{}, err
		}
		p := place.Script
		doc, failed, err := written(ctx, p, script, a, env)
		if err != nil || failed != nil {
			return deref(failed), err
		}
		found, err := read(p, doc)
		if err != nil {
			fmt.Fprintln(env.LogError(shell.Unit), err)
			return executor.Fail(fault.Failures(err), "%s", err), nil
		}
		for _, one := range found.List {
			fmt.Fprintf(env.Log(shell.Unit), "found %s\n", one.HostName)
		}
		return result(w.Target, found)
	}
}

func deref(r *task.Result) task.Result {
	if r == nil {
		return task.Result{}
	}
	return *r
}

// written runs the script and gives what it wrote, or the result of a script
// that failed.
func written(ctx context.Context, p custom.Instances, script executor.Executor, a task.Assignment, env executor.Env) ([]byte, *task.Result, error) {
	dir, err := env.Dir()
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "instances.json")
	run := p.Script
	run.Env = maps.Clone(run.Env)
	if run.Env == nil {
		run.Env = map[string]string{}
	}
	run.Env[outputPath] = path
	if a.Payload, err = json.Marshal(run); err != nil {
		return nil, nil, fmt.Errorf("encode the script: %w", err)
	}
	r, err := script(ctx, a, env)
	if err != nil {
		return nil, nil, err
	}
	if r.Status != task.Succeeded {
		r.Outputs = nil
		return nil, &r, nil
	}
	doc, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = wrong("the script has written nothing to $%s", outputPath)
	}
	if err != nil {
		failed := executor.Fail(fault.Failures(err), "%s", err)
		return nil, &failed, nil
	}
	return doc, nil, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read what the script wrote: %w", err)
	}
	if info.Size() > maxOutput {
		return nil, fault.New(fault.TooLarge, "the script has written %d bytes to $%s; the limit is %d", info.Size(), outputPath, maxOutput)
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read what the script wrote: %w", err)
	}
	return doc, nil
}

// read finds the instances in what the script wrote.
func read(p custom.Instances, doc []byte) (task.InstancesFound, error) {
	found := task.InstancesFound{List: []task.InstanceFound{}}
	v, err := expr.FromJSON(doc)
	if err != nil {
		return found, wrong("what the script wrote isn't JSON: %w", err)
	}
	list, err := expr.Select(p.List, v)
	if err != nil {
		return found, wrong("instancesListPath %s in what the script wrote: %w", p.List, err)
	}
	if list.Kind() != expr.KindList {
		return found, wrong("instancesListPath %s names no list in what the script wrote", p.List)
	}
	if list.Len() > task.MaxInstances {
		return found, fault.New(fault.TooLarge, "the script has found %d instances; the limit is %d", list.Len(), task.MaxInstances).Causing(fault.Unknown)
	}
	names := map[string]bool{}
	for i, item := range list.Items() {
		one, err := readOne(p, item)
		if err != nil {
			return found, wrong("instance %d: %w", i, err)
		}
		if names[one.HostName] {
			return found, wrong("instance %d: there is another one of the name %s", i, one.HostName)
		}
		names[one.HostName] = true
		found.List = append(found.List, one)
	}
	return found, nil
}

func wrong(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.Unknown)
}

func readOne(p custom.Instances, item expr.Value) (task.InstanceFound, error) {
	name, err := expr.Select(p.Name, item)
	if err != nil {
		return task.InstanceFound{}, err
	}
	if name.IsNull() || strings.TrimSpace(name.Text()) == "" {
		return task.InstanceFound{}, fmt.Errorf("there is no name at %s", p.Name)
	}
	one := task.InstanceFound{HostName: name.Text(), InstanceName: name.Text(), Properties: map[string]string{}}
	for key, path := range p.Attributes {
		v, err := expr.Select(path, item)
		if err != nil {
			return one, fmt.Errorf("attribute %s: %w", key, err)
		}
		if !v.IsNull() {
			one.Properties[key] = v.Text()
		}
	}
	return one, nil
}

// result is what the step puts out, and what the instance ledger keeps.
func result(of task.Target, found task.InstancesFound) (task.Result, error) {
	doc, err := json.Marshal(map[string]any{"deploymentInfoOutcome": found})
	if err != nil {
		return task.Result{}, fmt.Errorf("encode the instances: %w", err)
	}
	change := task.Change{Target: "custom:" + of.Infrastructure, Action: "found", Instances: kept(of, found), Counted: true}
	return task.Result{Status: task.Succeeded, Outputs: doc, Changes: []task.Change{change}}, nil
}

// kept is what the instance ledger keeps of the instances.
func kept(of task.Target, found task.InstancesFound) []task.Instance {
	var out []task.Instance
	for _, one := range found.List {
		i := task.Instance{Name: one.HostName}
		if of.Image != "" {
			i.Images = []string{of.Image}
		}
		i.Describe(one.Properties)
		out = append(out, i)
	}
	return out
}
