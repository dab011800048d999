package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// resultPath is the environment variable that tells the script where to write
// (semantics/entities §2.2).
const resultPath = "HARNESS_ARTIFACT_RESULT_PATH"

// custom is a script that writes which versions there are. It runs once.
type custom struct {
	spec   lookup.Custom
	name   string
	script executor.Executor
	a      task.Assignment
	env    executor.Env

	elements []element // nil until it has run
}

// element is one version with the document that it was found in.
type element struct {
	id  string
	doc expr.Value
}

func (c *custom) versions(ctx context.Context) ([]version, error) {
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	var all []version
	for _, e := range c.elements {
		all = append(all, version{id: e.id})
	}
	return sorted(all), nil
}

func (c *custom) find(ctx context.Context, id string) (found, error) {
	if err := c.run(ctx); err != nil {
		return found{}, err
	}
	for _, e := range c.elements {
		if e.id != id {
			continue
		}
		f := found{Metadata: map[string]string{}}
		for name, path := range c.spec.Attributes {
			v, err := expr.Select(path, e.doc)
			if err != nil {
				return f, fault.New(fault.Invalid, "attribute %s of version %s: %w", name, id, err)
			}
			f.Metadata[name] = v.Text()
		}
		return f, nil
	}
	return found{}, fault.New(fault.NotFound, "%s has no version %s", c.name, id)
}

// run runs the script and reads what it wrote.
func (c *custom) run(ctx context.Context) error {
	if c.elements != nil {
		return nil
	}
	dir, err := c.env.Dir()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "artifact-result.json")
	p := c.spec.Script
	p.Env = maps.Clone(p.Env)
	if p.Env == nil {
		p.Env = map[string]string{}
	}
	p.Env[resultPath] = path
	if c.a.Payload, err = json.Marshal(p); err != nil {
		return fmt.Errorf("encode the script: %w", err)
	}
	r, err := c.script(ctx, c.a, c.env)
	if err != nil {
		return err
	}
	if r.Status != task.Succeeded {
		return fault.New(fault.Conflict, "the script of %s: %s", c.name, r.Message).Causing(r.FailureTypes...)
	}
	doc, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return fault.New(fault.Invalid, "the script of %s has written nothing to $%s", c.name, resultPath).Causing(fault.Unknown)
	}
	if err != nil {
		return fmt.Errorf("read what the script wrote: %w", err)
	}
	return c.read(doc)
}

// read finds the versions in what the script wrote.
func (c *custom) read(doc []byte) error {
	v, err := expr.FromJSON(doc)
	if err != nil {
		return fault.New(fault.Invalid, "what the script of %s wrote isn't JSON: %w", c.name, err).Causing(fault.Unknown)
	}
	list, err := expr.Select(c.spec.Array, v)
	if err != nil {
		return fault.New(fault.Invalid, "artifactsArrayPath %s in what the script of %s wrote: %w", c.spec.Array, c.name, err).Causing(fault.Unknown)
	}
	if list.Kind() != expr.KindList {
		return fault.New(fault.Invalid, "artifactsArrayPath %s names no list in what the script of %s wrote", c.spec.Array, c.name).Causing(fault.Unknown)
	}
	c.elements = make([]element, 0, list.Len())
	for i, item := range list.Items() {
		id, err := expr.Select(c.spec.Version, item)
		if err != nil {
			return fault.New(fault.Invalid, "versionPath %s in element %d: %w", c.spec.Version, i, err).Causing(fault.Unknown)
		}
		if id.IsNull() {
			continue
		}
		c.elements = append(c.elements, element{id: id.Text(), doc: item})
	}
	return nil
}
