package launch

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// launching is a launcher over documents of a project.
func launching(t *testing.T, scope ref.Scope, documents string) *Launcher {
	t.Helper()
	c, s := setup(t)
	for doc := range strings.SplitSeq(documents, "---\n") {
		if _, err := c.Save(t.Context(), catalog.Draft{Scope: scope, YAML: []byte(doc), Version: catalog.AnyVersion}, audit.Author{Actor: "me"}); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
	}
	return New(Config{Store: s, Runner: idle{}, Options: builtin.Options(ref.Scope{}), Now: time.Now})
}

const asking = `pipeline: {identifier: p, name: p, variables: [{name: a, type: String, value: <+input>}, {name: b, type: String, value: <+input>.default(own)}], stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [{step: {identifier: w, name: w, type: Wait, spec: {duration: 10s}}}]}}}}]}
---
inputSet: {identifier: one, name: one, pipeline: {identifier: p, variables: [{name: a, type: String, value: one}, {name: b, type: String, value: one}]}}
---
inputSet: {identifier: two, name: two, pipeline: {identifier: p, variables: [{name: b, type: String, value: two}]}}
---
overlayInputSet: {identifier: both, name: both, pipelineIdentifier: p, inputSetReferences: [one, two]}
---
overlayInputSet: {identifier: back, name: back, pipelineIdentifier: p, inputSetReferences: [two, one]}
`

// semantics/pipeline §2.4: where several say something, the later wins; a document
// wins over sets, and single values over both.
func TestTheLaterInputWins(t *testing.T) {
	t.Parallel()
	scope := ref.Scope{Account: "acme", Org: "o", Project: "p"}
	l := launching(t, scope, asking)
	doc, err := InputDocument("values.yaml", []byte("pipeline: {variables: [{name: b, type: String, value: document}]}"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		in   Inputs
		want string // a and b, or what is wrong
	}{
		{"nothing for what has no default", Inputs{}, "error: "},
		{"a set", Inputs{Sets: []string{"one"}}, "one one"},
		{"two sets", Inputs{Sets: []string{"one", "two"}}, "one two"},
		{"two sets the other way", Inputs{Sets: []string{"two", "one"}}, "one one"},
		{"an overlay", Inputs{Sets: []string{"both"}}, "one two"},
		{"an overlay the other way", Inputs{Sets: []string{"back"}}, "one one"},
		{"a set after an overlay", Inputs{Sets: []string{"back", "two"}}, "one two"},
		{"a document", Inputs{Sets: []string{"one"}, Document: doc}, "one document"},
		{"a value", Inputs{Sets: []string{"one"}, Document: doc, Values: map[string]string{"pipeline.variables.b": "value"}}, "one value"},
		{"a value alone", Inputs{Values: map[string]string{"variables.a": "value"}}, "value own"},
		{"a set that isn't there", Inputs{Sets: []string{"one", "none"}}, `error: pipeline p has no input set and no overlay "none"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			made, err := l.Plan(t.Context(), Request{Scope: scope, Pipeline: "p", Inputs: tt.in})
			if words, fails := strings.CutPrefix(tt.want, "error: "); fails {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("%v; want %s", err, words)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, variablesOf(t, made)); diff != "" {
				t.Errorf("a and b (-want +got):\n%s", diff)
			}
			again, err := GivenTo(store.Execution{Inputs: made.Inputs})
			if err != nil {
				t.Fatal(err)
			}
			in, err := again.Again()
			if err != nil {
				t.Fatal(err)
			}
			if made, err = l.Plan(t.Context(), Request{Scope: scope, Pipeline: "p", Inputs: in}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, variablesOf(t, made)); diff != "" {
				t.Errorf("a and b with what was kept of the inputs (-want +got):\n%s", diff)
			}
		})
	}
}

// variablesOf are the values of a plan's variables.
func variablesOf(t *testing.T, made Planned) string {
	t.Helper()
	p, err := plan.Decode(made.Doc)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, v := range p.Pipeline.Get("variables").Items {
		values = append(values, v.Text("value"))
	}
	return strings.Join(values, " ")
}

// Inputs as a file: one document, with or without the root key.
func TestInputDocuments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		"~":                             "",
		"variables: []":                 "variables",
		"pipeline: {variables: []}":     "variables",
		"a: 1\n---\nb: 2":               "error: in.yaml: want one document that is a part of the pipeline's",
		"[a]":                           "error: in.yaml: want one document that is a part of the pipeline's",
		"a: [":                          "error: in.yaml:",
		"pipeline: {variables: [], a: ": "error: in.yaml:",
	} {
		doc, err := InputDocument("in.yaml", []byte(text))
		if words, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%q: %v; want %s", text, err, words)
			}
			continue
		}
		got := ""
		if doc != nil {
			got = doc.Entries[0].Key
		}
		if err != nil || got != want {
			t.Errorf("%q gives %q (%v); want %q", text, got, err, want)
		}
	}
}

// semantics/pipeline §8.5: values of expressions are for stages that don't run.
func TestValuesOfOtherStages(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, value, want string }{
		{"<+pipeline.stages.build.variables.tag>", "v1", ""},
		{" pipeline.stages.build.variables.tag ", "v1", ""},
		{"<+pipeline.stages.deploy.variables.tag>", "v1", "stage deploy runs; <+pipeline.stages.deploy.variables.tag> gets its value from it"},
		{"<+pipeline.stages.build>", "v1", "can't be given a value"},
		{"<+pipeline.variables.tag.x>", "v1", "can't be given a value"},
		{"<+pipeline.stages.build.variables.<+x>>", "v1", "can't be given a value"},
		{"<+pipeline.stages.build.variables.tag>", "<+trigger.tag>", "is an expression; want a fixed value"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.value, func(t *testing.T) {
			t.Parallel()
			got, err := valuesOf(map[string]string{tt.name: tt.value}, []string{"deploy"})
			if tt.want != "" {
				if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v; want %s", err, tt.want)
				}
				return
			}
			if diff := cmp.Diff(map[string]string{"pipeline.stages.build.variables.tag": tt.value}, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := valuesOf(map[string]string{"<+pipeline.stages.build.variables.tag>": "v1"}, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("for all stages: %v; want it refused", err)
	}
}

const chaining = `pipeline: {identifier: leaf, name: leaf, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [{step: {identifier: w, name: w, type: Wait, spec: {duration: 10s}}}]}}}}]}
---
pipeline: {identifier: top, name: top, stages: [{parallel: [{stage: {identifier: one, name: one, type: Pipeline, spec: {org: o, project: p, pipeline: leaf}}}, {stage: {identifier: two, name: two, type: Pipeline, spec: {org: o, project: p, pipeline: leaf}}}]}]}
---
pipeline: {identifier: over, name: over, stages: [{stage: {identifier: far, name: far, type: Pipeline, spec: {org: o, project: p, pipeline: top}}}]}
---
pipeline: {identifier: asks, name: asks, stages: [{stage: {identifier: any, name: any, type: Pipeline, spec: {org: o, project: p, pipeline: <+input>}}}]}
`

// semantics/pipeline §1.7: what is chained is there, chains nothing itself, and may
// be touched by who starts it.
func TestChainsAreCheckedAtTheStart(t *testing.T) {
	t.Parallel()
	scope := ref.Scope{Account: "acme", Org: "o", Project: "p"}
	l := launching(t, scope, chaining)
	tests := []struct {
		name string
		r    Request
		code fault.Code
		want string // what is wrong; empty: it starts
	}{
		{"two in a block", Request{Pipeline: "top"}, "", ""},
		{"by somebody of the organization", Request{Pipeline: "top", Within: ref.Scope{Account: "acme", Org: "o"}}, "", ""},
		{"by somebody of another project", Request{Pipeline: "top", Within: ref.Scope{Account: "acme", Org: "o", Project: "q"}}, fault.Forbidden, "the pipeline chains one in acme/o/p, and whoever starts it may only touch acme/o/q"},
		{"from a pipeline that is chained itself", Request{Pipeline: "top", Parent: store.Holder{Execution: "x1"}}, fault.Invalid, "pipeline top can't be chained, because it chains another one"},
		{"one that chains", Request{Pipeline: "over"}, fault.Invalid, "stage far: pipeline top can't be chained, because its stage one chains another one"},
		{"one that an input names", Request{Pipeline: "asks", Inputs: Inputs{Values: map[string]string{"stages.any.spec.pipeline": "leaf"}}}, "", ""},
		{"one that isn't there", Request{Pipeline: "asks", Inputs: Inputs{Values: map[string]string{"stages.any.spec.pipeline": "none"}}}, fault.NotFound, `stage any: there is no pipeline "none" in acme/o/p`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.r.Scope, tt.r.By = scope, audit.Author{Actor: "me"}
			_, err := l.Start(t.Context(), tt.r)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !fault.Is(err, tt.code) || err.Error() != tt.want {
				t.Errorf("%v; want %s", err, tt.want)
			}
		})
	}
}
