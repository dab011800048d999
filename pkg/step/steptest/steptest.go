// Package steptest is the suite that every step type passes: its example, its
// diagnostics on save and its scripted runs. Where they are read is
// pkg/step/stepfiles'.
//
//	example.yaml  a pipeline that uses the type; nothing is wrong with it
//	save-*.txtar  spec.yaml, and in want what is said about it on save
//	run-*.txtar   spec.yaml as it is when the step starts, perhaps in.json
//	              (see In) and the delegate's result.json; the wanted
//	              action.json, outcome.json and error
//
// With -update the wanted files are written as they are. It tests no engine.
package steptest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/stepfiles"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var update = flag.Bool("update", false, "write the wanted files of testdata")

// Run runs the suite for a type that has a folder of its own, in there.
func Run(t *testing.T, typ step.Type) {
	t.Helper()
	suite(t, typ, stepfiles.Own("."), setting{target: func() any { return nil }, judged: func(*testing.T, *step.Task) {}})
}

// RunLane runs the suite for each step type of a lane whose targets are of type
// *T, in the lane's folder. The lane must have the kinds of their tasks.
func RunLane[T any](t *testing.T, lane swimlane.Lane, types []step.Type) {
	t.Helper()
	if len(types) == 0 {
		t.Error("the lane has no step types")
	}
	together(t, types, setting{target: func() any { return new(T) }, judged: judgedBy(lane.Kinds)})
}

// RunProvisioner runs the suite for each step type of a provisioner, in its
// folder. Kinds must have those of their tasks.
func RunProvisioner(t *testing.T, kinds swimlane.Kinds, types []step.Type) {
	t.Helper()
	together(t, types, setting{target: func() any { return nil }, judged: judgedBy(kinds)})
}

// together runs the suite for step types that share a folder.
func together(t *testing.T, types []step.Type, with setting) {
	t.Helper()
	for _, typ := range types {
		t.Run(typ.Name, func(t *testing.T) {
			t.Parallel()
			with := with
			with.types = types
			suite(t, typ, stepfiles.Shared(".", typ.Name), with)
		})
	}
}

// setting is what a type's runs are made with.
type setting struct {
	types  []step.Type // that share the folder
	target func() any  // makes one that is decoded
	judged func(t *testing.T, started *step.Task)
}

// others are the specs of the stage's other steps: those that in.json has in YAML, by
// their types.
func (s setting) others(t *testing.T, doc []byte) func(string) ([]step.Spec, error) {
	t.Helper()
	var given struct {
		Others map[string][]string `json:"others"`
	}
	if doc != nil {
		if err := json.Unmarshal(doc, &given); err != nil {
			t.Fatalf("in.json: %v", err)
		}
	}
	return func(stepType string) (specs []step.Spec, err error) {
		for _, typ := range s.types {
			if typ.Name != stepType {
				continue
			}
			for _, text := range given.Others[stepType] {
				docs, report := yamldoc.Parse("", []byte(text))
				if err := report.Err(); err != nil {
					return nil, err
				}
				specs = append(specs, typ.Decode(docs[0], report))
			}
		}
		return specs, nil
	}
}

// judgedBy asks kinds of task what one of them fetches, which must be known.
func judgedBy(kinds swimlane.Kinds) func(*testing.T, *step.Task) {
	return func(t *testing.T, started *step.Task) {
		t.Helper()
		if started == nil {
			return
		}
		if _, err := kinds.Fetched(started.Kind, indented(t, started.Payload)); err != nil {
			t.Error(err)
		}
	}
}

// suite is all that a type must pass.
func suite(t *testing.T, typ step.Type, files stepfiles.Files, with setting) {
	t.Helper()
	t.Run("shape", func(t *testing.T) { t.Parallel(); shape(t, typ) })
	t.Run("example", func(t *testing.T) { t.Parallel(); example(t, typ, files.Example) })
	cases(t, typ, files.Cases, "save", save)
	cases(t, typ, files.Cases, "run", func(t *testing.T, typ step.Type, c *archive) { t.Helper(); run(t, typ, c, with) })
}

// shape: a type copes with any document and says which keys it doesn't know.
func shape(t *testing.T, typ step.Type) {
	t.Helper()
	if typ.Name == "" || typ.New == nil {
		t.Fatalf("type %q needs a name and New", typ.Name)
	}
	for _, doc := range []string{"", "~", "text", "[1, 2]", "{}", "{nobodysKey: 1}"} {
		r := yamldoc.NewReport("")
		if typ.Decode(parse(t, []byte(doc)), r) == nil {
			t.Errorf("New gives no spec for %q", doc)
		}
		if doc == "text" && !r.Failed() {
			t.Errorf("nothing is wrong with %q", doc)
		}
		if strings.Contains(doc, "nobodysKey") && !strings.Contains(fmt.Sprint(r.Findings()), "UNKNOWN_KEY") {
			t.Error("an unknown key isn't reported")
		}
	}
}

// example: the documentation's pipeline uses the type and is right.
func example(t *testing.T, typ step.Type, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	specs := specsOf(parse(t, data), typ.Name)
	if len(specs) == 0 {
		t.Fatalf("%s has no step of type %s", path, typ.Name)
	}
	for _, spec := range specs {
		r := yamldoc.NewReport("example.yaml").Strict()
		typ.Decode(spec, r)
		if got := findings(r); got != "" {
			t.Errorf("wrong with the example:\n%s", got)
		}
	}
}

// specsOf finds the specs of all steps of a type.
func specsOf(n *yamldoc.Node, name string) []*yamldoc.Node {
	if n == nil {
		return nil
	}
	var found []*yamldoc.Node
	if kind := n.Get("type"); kind != nil && kind.Value == name {
		found = append(found, n.Get("spec"))
	}
	for _, e := range n.Entries {
		found = append(found, specsOf(e.Value, name)...)
	}
	for _, item := range n.Items {
		found = append(found, specsOf(item, name)...)
	}
	return found
}

func parse(t *testing.T, data []byte) *yamldoc.Node {
	t.Helper()
	docs, r := yamldoc.Parse("", data)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if len(docs) == 0 {
		return nil
	}
	return docs[0]
}

func findings(r *yamldoc.Report) string {
	var b strings.Builder
	for _, f := range r.Findings() {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// save: what is wrong with a spec that a user saves.
func save(t *testing.T, typ step.Type, c *archive) {
	t.Helper()
	r := yamldoc.NewReport("")
	typ.Decode(parse(t, c.file("spec.yaml")), r)
	c.want(t, "want", []byte(findings(r)))
}

// run: what a step starts and how a result ends it.
func run(t *testing.T, typ step.Type, c *archive, with setting) {
	t.Helper()
	doc := parse(t, c.file("spec.yaml"))
	in := In(t, c.file("in.json"), with.target())
	in.Others = with.others(t, c.file("in.json"))
	failed := &bytes.Buffer{}
	r := yamldoc.NewReport("")
	spec := typ.Decode(doc, r)
	if err := r.Err(); err != nil {
		t.Fatalf("the spec is wrong: %v", err)
	}
	action, err := typ.Start(spec, in)
	if err != nil {
		fmt.Fprintln(failed, err)
	} else {
		c.want(t, "action.json", indented(t, described(action)))
		with.judged(t, action.Task)
		again, err := typ.Start(typ.Decode(doc, yamldoc.NewReport("")), in)
		if diff := cmp.Diff(action, again); err != nil || diff != "" {
			t.Errorf("Start isn't the same twice, %v (-first +second):\n%s", err, diff)
		}
	}
	if data := c.file("result.json"); data != nil {
		var result task.Result
		decode(t, data, &result)
		outcome, err := step.Outcome(result), error(nil)
		if typ.Finish != nil {
			outcome, err = typ.Finish(spec, in, result)
		}
		if err != nil {
			fmt.Fprintln(failed, err)
		} else {
			c.want(t, "outcome.json", indented(t, outcome))
		}
	}
	c.want(t, "error", failed.Bytes())
}

// described is an action with the names that its readers know.
func described(a step.Action) any {
	type wait struct {
		Duration string          `json:"duration"`
		Outputs  json.RawMessage `json:"outputs"`
	}
	type work struct {
		Kind      task.Kind `json:"kind"`
		Payload   any       `json:"payload"`
		Selectors []string  `json:"selectors,omitempty"`
		Timeout   string    `json:"timeout,omitempty"`
		Machine   string    `json:"machine,omitempty"`
		Tools     []string  `json:"tools,omitempty"`
	}
	switch {
	case a.Task != nil:
		w := work{Kind: a.Task.Kind, Payload: a.Task.Payload, Selectors: a.Task.Selectors, Machine: a.Task.Machine, Tools: a.Task.Tools}
		if a.Task.Timeout > 0 {
			w.Timeout = a.Task.Timeout.String()
		}
		return map[string]any{"task": w}
	case a.Wait != nil:
		return map[string]any{"wait": wait{a.Wait.Duration.Round(time.Millisecond).String(), a.Wait.Outputs}}
	case a.Turn != nil:
		return map[string]any{"turn": a.Turn.Key}
	case a.Barrier != "":
		return map[string]any{"barrier": a.Barrier}
	case a.Listen != "":
		return map[string]any{"listen": a.Listen}
	case a.Approval != nil:
		return map[string]any{"approval": a.Approval}
	}
	return map[string]any{"done": a.Done}
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// archive is one case.
type archive struct {
	path string
	txtar.Archive
}

// cases runs the cases of a kind in a folder; there is at least one.
func cases(t *testing.T, typ step.Type, folder, kind string, check func(*testing.T, step.Type, *archive)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, kind+"-*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Errorf("there is no %s/%s-*.txtar: %v", folder, kind, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(a.Comment)) == 0 {
				t.Errorf("%s doesn't say what it shows", path)
			}
			c := &archive{path: path, Archive: *a}
			check(t, typ, c)
			if *update {
				if err := os.WriteFile(path, txtar.Format(&c.Archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// file is a file's content; nil if there is none.
func (c *archive) file(name string) []byte {
	for _, f := range c.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// want compares what came with a file; without one, nothing must have come.
func (c *archive) want(t *testing.T, name string, got []byte) {
	t.Helper()
	if !*update {
		if diff := cmp.Diff(string(c.file(name)), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		return
	}
	for i := range c.Files {
		if c.Files[i].Name == name {
			c.Files[i].Data = got
			return
		}
	}
	if len(got) > 0 || name == "want" {
		c.Files = append(c.Files, txtar.File{Name: name, Data: got})
	}
}
