// Command compareschema lists the keys that Harness's public JSON Schema has
// for a supported type and Slipway doesn't know, neither to honour nor to
// refuse them. It reads a checkout of github.com/harness/harness-schema, of
// which this repository keeps nothing but the names of those keys.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/schema"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: compareschema CHECKOUT > pkg/schema/testdata/lacking.txt")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run lists the keys of pipelines and triggers, the kinds that the schema has.
func run(out io.Writer, checkout string) error {
	lines := map[string]bool{}
	options := builtin.Options(ref.Scope{Account: "a", Org: "o", Project: "p"})
	for _, kind := range []ref.Kind{ref.Pipeline, ref.Trigger} {
		data, err := os.ReadFile(filepath.Join(checkout, "v0", string(kind)+".json"))
		if err != nil {
			return fmt.Errorf("read the schema of %s: %w", kind, err)
		}
		var root map[string]any
		if err := json.Unmarshal(data, &root); err != nil {
			return fmt.Errorf("decode the schema of %s: %w", kind, err)
		}
		theirs := &theirs{root: root}
		c := &comparison{theirs: theirs, lines: lines, done: map[pair]bool{}}
		ours, err := schema.Explore(kind, options)
		if err != nil {
			return err
		}
		c.object(string(kind), "", theirs.node(root, string(kind)), ours)
		if kind == ref.Pipeline {
			c.steps(find(ours, "stepItem"))
		}
	}
	for _, line := range sorted(lines) {
		fmt.Fprintln(out, line)
	}
	return nil
}

// steps compares the step types, each with the node that names it.
func (c *comparison) steps(item *schema.Object) {
	step := item.Keys["step"].Object
	for _, name := range builtin.Steps().Names() {
		node := c.theirs.step(name)
		if node == nil {
			continue // Harness's schema doesn't have it
		}
		i := slices.IndexFunc(step.Cases, func(k schema.Case) bool { return slices.Contains(k.Words, name) })
		if i < 0 {
			continue
		}
		c.object(name, "", node, step.Cases[i].Object)
	}
}

func sorted(lines map[string]bool) []string {
	var out []string
	for l := range lines {
		out = append(out, l)
	}
	slices.Sort(out)
	return out
}
