package awscdk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// maxDiff bounds the differences that the step's output has, in bytes.
const maxDiff = 64 << 10

// head keeps the beginning of what is written to it.
type head struct {
	bytes.Buffer
	most int
}

// Write keeps what there is room for.
func (h *head) Write(p []byte) (int, error) {
	_, _ = h.Buffer.Write(p[:min(len(p), max(h.most-h.Len(), 0))]) // it always succeeds
	return len(p), nil
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

// Write keeps the last 4 KiB.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = slices.Clone(t.kept[max(len(t.kept)-4<<10, 0):])
	return len(p), nil
}

// differences is how cdk ends what it tells of an app that differs.
var differences = regexp.MustCompile(`Number of stacks with differences: [1-9]`)

// diff tells in what the app differs from what is deployed. That it differs is no
// failure, unless an option says so; older versions of cdk end with 1 then.
func (j *job) diff(ctx context.Context, options []string) (task.Result, error) {
	said, end := &head{most: maxDiff}, &tail{}
	args := slices.Concat([]string{"cdk", "diff"}, j.spec.Stacks, options)
	exit, err := j.Try(ctx, j.spec.App, both{said, end}, args...)
	if err != nil {
		return task.Result{}, err
	}
	differs := differences.Match(end.kept)
	text := said.String()
	if said.Len() == maxDiff {
		text += "\n... the rest is in the log ..."
	}
	out, err := executor.Succeed(map[string]any{"diff": text})
	switch {
	case err != nil || exit.Code == 0:
		return out, err
	case exit.Code == 1 && differs && !given(options, "--fail"):
		j.Say("The app differs from what is deployed, which is no failure.")
		return out, nil
	case exit.Code == 1 && differs:
		return out, fault.New(fault.Conflict, "the app differs from what is deployed, which the option --fail makes a failure").Causing(fault.Unknown)
	}
	return out, fault.New(fault.Invalid, "cdk diff ended with exit code %d", exit.Code).Causing(fault.Unknown)
}

// both writes to two writers that never fail.
type both struct {
	head *head
	tail *tail
}

// Write writes to both.
func (b both) Write(p []byte) (int, error) {
	_, _ = b.head.Write(p) // it always succeeds
	return b.tail.Write(p)
}

// synth has cdk make the templates, and puts them out if the step says so.
func (j *job) synth(ctx context.Context, options []string) (task.Result, error) {
	if err := j.cdk(ctx, slices.Concat([]string{"synth"}, j.spec.Stacks, options)); err != nil {
		return task.Result{}, err
	}
	if !j.spec.Export {
		return executor.Succeed(struct{}{})
	}
	templates, err := j.templates(ctx, options)
	if err != nil {
		return task.Result{}, err
	}
	return executor.Succeed(map[string]any{"outputVariables": templates})
}

// maxTemplates bounds the templates that a step's output has, in bytes: what a
// delegate reports at once has 256 KiB.
const maxTemplates = 160 << 10

// maxManifest bounds what is read of what cdk has made, in bytes.
const maxManifest = 4 << 20

// templates are those of the stacks that the step names, or of all.
func (j *job) templates(ctx context.Context, options []string) (map[string]string, error) {
	dir, doc, err := j.assembly(ctx, options)
	if err != nil {
		return nil, err
	}
	all, err := j.stacks(ctx, dir, doc)
	if err != nil {
		return nil, err
	}
	out, size := map[string]string{}, 0
	for _, one := range all {
		if len(j.spec.Stacks) > 0 && !slices.ContainsFunc(j.spec.Stacks, one.is) {
			continue
		}
		text, err := j.read(ctx, one.template, maxManifest)
		if err != nil {
			return nil, err
		}
		var small bytes.Buffer
		if err := decode(one.template, text, &map[string]any{}); err != nil {
			return nil, err
		}
		_ = json.Compact(&small, text) // it is JSON
		size += small.Len()
		out[one.id] = small.String()
	}
	if size > maxTemplates {
		return nil, wrong("the templates have %d bytes together, and a step's outputs take %d of them: name fewer stacks, or leave exportTemplate out", size, maxTemplates)
	}
	return out, nil
}

// assembly finds where cdk has written what it has made, and its manifest.
func (j *job) assembly(ctx context.Context, options []string) (dir string, manifest []byte, err error) {
	settings, err := j.read(ctx, path.Join(j.spec.App, "cdk.json"), maxManifest)
	if err != nil {
		return "", nil, err
	}
	var own struct{ Output string }
	_ = json.Unmarshal(settings, &own) // cdk has read it: it is right, or it isn't there
	for _, name := range []string{value(options, "--output", "-o"), own.Output, value(options, "--app", "-a"), "cdk.out"} {
		if name == "" {
			continue
		}
		dir := path.Join(j.spec.App, name)
		doc, err := j.read(ctx, path.Join(dir, "manifest.json"), maxManifest)
		if err != nil || doc != nil {
			return dir, doc, err
		}
	}
	return "", nil, fault.New(fault.NotFound, "the workspace doesn't have what cdk has made; expected cdk.out below %q", j.spec.App).Causing(fault.ConfigurationFailure)
}

// stack is one that cdk has made a template of.
type stack struct {
	id, shown   string // as people name it
	name        string // in CloudFormation
	template    string // the file
	environment string // aws://ACCOUNT/REGION
	needs       []string
}

// is says whether a pattern names the stack.
func (s stack) is(pattern string) bool {
	for _, name := range []string{s.id, s.shown} {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// stacks are those of what cdk has written to a folder, and of the parts of it that
// have folders of their own.
func (j *job) stacks(ctx context.Context, dir string, manifest []byte) ([]stack, error) {
	var found struct {
		Artifacts map[string]struct {
			Type         string   `json:"type"`
			Environment  string   `json:"environment"`
			DisplayName  string   `json:"displayName"`
			Dependencies []string `json:"dependencies"`
			Properties   struct {
				TemplateFile  string `json:"templateFile"`
				StackName     string `json:"stackName"`
				DirectoryName string `json:"directoryName"`
			} `json:"properties"`
		} `json:"artifacts"`
	}
	if err := decode(path.Join(dir, "manifest.json"), manifest, &found); err != nil {
		return nil, err
	}
	var out []stack
	for _, id := range slices.Sorted(maps.Keys(found.Artifacts)) {
		switch a := found.Artifacts[id]; a.Type {
		case "aws:cloudformation:stack":
			out = append(out, stack{
				id: id, shown: cmp.Or(a.DisplayName, id), name: cmp.Or(a.Properties.StackName, id),
				template: path.Join(dir, a.Properties.TemplateFile), environment: a.Environment, needs: a.Dependencies,
			})
		case "cdk:cloud-assembly":
			part := path.Join(dir, a.Properties.DirectoryName)
			doc, err := j.read(ctx, path.Join(part, "manifest.json"), maxManifest)
			if err != nil {
				return nil, err
			}
			more, err := j.stacks(ctx, part, doc)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	}
	return out, nil
}

// decode reads a file of the workspace that cdk has written.
func decode(file string, doc []byte, into any) error {
	if doc == nil {
		return wrong("cdk hasn't written %s, which what it has made names", file)
	}
	err := json.Unmarshal(doc, into)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return wrong("cdk has written %s, in which %s is of the type %s; want %s", file, cmp.Or(other.Field, "a value"), other.Value, sort(other.Type.Kind()))
	}
	if err != nil {
		return wrong("cdk has written %s, which can't be read: %w", file, err)
	}
	return nil
}

// sort is what JSON calls values of a kind.
func sort(k reflect.Kind) string {
	switch k { //nolint:exhaustive // nothing is read into others
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array"
	}
	return "object"
}
