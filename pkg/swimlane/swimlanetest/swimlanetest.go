// Package swimlanetest is the suite that every deployment type passes: what
// would be silent if it were forgotten. Each lane's own test calls Run.
//
// What a lane's steps do is steptest's, what its delegate does the delegate's,
// and that its deployments reach the instance ledger is shown by internal/e2e,
// which runs an example of every lane.
package swimlanetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Config is what the suite can't know of a lane.
type Config struct {
	// Service is the spec of a service's definition, in YAML.
	Service string
	// Infrastructures are specs by the types of infrastructure definitions, in
	// YAML, with every key that says where something is.
	Infrastructures map[string]string
	// Template is the spec of a deployment template, for a lane that has such.
	Template string
	// Connector is the type of its connectors, if their servers are asked for by it;
	// empty: Rancher.
	Connector string
	// NotPlace are keys of those specs that say how or under which name something
	// is deployed, not where: two deployments that differ in them alone mustn't run
	// at once.
	NotPlace []string
	// Undo is for each step type that deploys the one that takes it back in a
	// stage's rollbackSteps. Those that need none have an empty text.
	Undo map[string]string
	// Shared are the step types of other lanes that its stages have, too.
	Shared []string
	// Others are the other lanes, whose steps, manifests and infrastructures are
	// refused.
	Others swimlane.Lanes
}

// Run runs the suite.
func Run(t *testing.T, lane swimlane.Lane, steps []step.Type, cfg Config) {
	t.Helper()
	t.Run("steps", func(t *testing.T) { t.Parallel(); stepsOf(t, lane, steps, cfg) })
	if lane.Pulled { // its documents are those of the lanes near it, which have this suite themselves
		return
	}
	t.Run("service", func(t *testing.T) { t.Parallel(); service(t, lane, cfg) })
	t.Run("foreigners", func(t *testing.T) { t.Parallel(); foreigners(t, lane, cfg) })
	for _, i := range lane.Infrastructures {
		t.Run(i.Type, func(t *testing.T) { t.Parallel(); infrastructure(t, lane, i, cfg) })
	}
}

// stepsOf: the lane has the steps that it lists, some deploy by tasks of its
// kinds, and what deploys can be taken back.
func stepsOf(t *testing.T, lane swimlane.Lane, steps []step.Type, cfg Config) {
	t.Helper()
	names := step.Names(steps)
	if diff := cmp.Diff(append(names, cfg.Shared...), lane.Steps); diff != "" {
		t.Errorf("the lane's steps (-listed +lane):\n%s", diff)
	}
	deploying := map[string]bool{}
	for _, s := range steps {
		if s.Deploys {
			deploying[s.Name] = true
		}
	}
	if len(deploying) == 0 && !lane.Pulled {
		t.Error("no step of the lane deploys")
	}
	if len(lane.Kinds) == 0 {
		t.Error("the lane has no kind of task that deploys")
	}
	for _, k := range lane.Kinds {
		if k.Name == "" || k.Fetched == nil {
			t.Errorf("the lane doesn't say what tasks of the kind %q fetch", k.Name)
		}
	}
	for name := range deploying {
		undo, said := cfg.Undo[name]
		if !said && !slices.Contains(slices.Collect(maps.Values(cfg.Undo)), name) {
			t.Errorf("nothing says what takes back what %s does", name)
		}
		if undo != "" && !slices.Contains(names, undo) {
			t.Errorf("%s is taken back by %s, which is no step of the lane", name, undo)
		}
	}
}

// service: the example is right, a key that nobody documents is told of, and
// the same decoder reads it again when a stage deploys.
func service(t *testing.T, lane swimlane.Lane, cfg Config) {
	t.Helper()
	doc := func(spec string) string {
		return "service: {name: web, identifier: web, serviceDefinition: {type: " + lane.Type + ", spec: " + spec + "}}"
	}
	if got := said(t, doc(cfg.Service), lane); got != "" {
		t.Errorf("wrong with the service:\n%s", got)
	}
	if got := said(t, doc("{nobodysKey: 1, "+strings.TrimPrefix(cfg.Service, "{")), lane); !strings.Contains(got, `unknown key "nobodysKey"`) {
		t.Errorf("of an unknown key is said:\n%s", got)
	}
	report := yamldoc.NewReport("").Resolved()
	lane.Service(swimlane.Resolved(report), value(t, cfg.Service))
	if err := report.Err(); err != nil {
		t.Errorf("the service when a stage deploys it: %v", err)
	}
}

// foreigners: what only other lanes have is refused by name.
func foreigners(t *testing.T, lane swimlane.Lane, cfg Config) {
	t.Helper()
	all := append(swimlane.Lanes{lane}, cfg.Others...)
	told := func(doc, word string) {
		t.Helper()
		if got := said(t, doc, all...); !strings.Contains(got, word) {
			t.Errorf("of %s is said:\n%sin\n%s", word, got, doc)
		}
	}
	for _, other := range cfg.Others {
		for _, name := range other.Steps {
			if !slices.Contains(lane.Steps, name) {
				told(stage(lane.Type, name), name+" is a step of")
			}
		}
		for _, kind := range other.Manifests {
			if !slices.ContainsFunc(lane.Manifests, func(k swimlane.ManifestKind) bool { return k.Type == kind.Type }) {
				told("service: {name: web, identifier: web, serviceDefinition: {type: "+lane.Type+", spec: {manifests: [{manifest: {identifier: m, type: "+kind.Type+", spec: {}}}]}}}", "manifests")
			}
		}
		for _, i := range other.Infrastructures {
			if _, has := lane.Infrastructure(i.Type); !has {
				told(definition(lane.Type, i.Type, "{}"), "found the type "+i.Type+" for the deployment type "+lane.Type)
			}
		}
	}
}

func stage(deployment, stepType string) string {
	return `pipeline: {name: p, identifier: p, stages: [{stage: {name: s, identifier: s, type: Deployment,
  failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}], spec: {deploymentType: ` + deployment + `,
  service: {serviceRef: web}, environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: i}]},
  execution: {steps: [{step: {name: x, identifier: x, type: ` + stepType + `, spec: {}}}]}}}}]}`
}

func definition(deployment, typ, spec string) string {
	return "infrastructureDefinition: {name: i, identifier: i, environmentRef: dev, deploymentType: " + deployment + ", type: " + typ + ", spec: " + spec + "}"
}

// infrastructure: the example is right, an unknown key is told of, and two
// places have two keys.
func infrastructure(t *testing.T, lane swimlane.Lane, i swimlane.Infrastructure, cfg Config) {
	t.Helper()
	spec, ok := cfg.Infrastructures[i.Type]
	if !ok {
		t.Fatalf("there is no example of the infrastructure type %s", i.Type)
	}
	if got := said(t, definition(lane.Type, i.Type, spec), lane); got != "" {
		t.Errorf("wrong with the infrastructure definition:\n%s", got)
	}
	if got := said(t, definition(lane.Type, i.Type, "{nobodysKey: 1, "+strings.TrimPrefix(spec, "{")), lane); !strings.Contains(got, `unknown key "nobodysKey"`) {
		t.Errorf("of an unknown key is said:\n%s", got)
	}
	v := value(t, spec)
	if len(i.Key) == 0 {
		return // the definition's identifier is the key
	}
	first := target(t, lane, i, v, cfg)
	for _, e := range v.Node.Entries {
		if e.Value.Kind != yamldoc.Scalar {
			continue
		}
		moved := target(t, lane, i, replaced(v, e.Key), cfg)
		elsewhere, key := first != moved, slices.Contains(i.Key, e.Key)
		switch {
		case elsewhere && !key && !slices.Contains(cfg.NotPlace, e.Key):
			t.Errorf("another %s is another target, but makes no other INFRA_KEY: two places would take turns, or share a release", e.Key)
		case key && !elsewhere:
			t.Errorf("%s makes another INFRA_KEY, but no other target", e.Key)
		}
	}
}

// replaced is a mapping with another text under a key.
func replaced(v yamldoc.Value, key string) yamldoc.Value {
	doc := *v.Node
	doc.Entries = slices.Clone(doc.Entries)
	for n, e := range doc.Entries {
		if e.Key == key {
			other := *e.Value
			if other.Value = other.Value + "x"; strings.EqualFold(e.Value.Value, "true") || strings.EqualFold(e.Value.Value, "false") {
				other.Value = map[bool]string{true: "false", false: "true"}[strings.EqualFold(e.Value.Value, "true")]
			}
			doc.Entries[n].Value = &other
		}
	}
	v.Node = &doc
	return v
}

// target is what the lane makes of a place.
func target(t *testing.T, lane swimlane.Lane, i swimlane.Infrastructure, spec yamldoc.Value, cfg Config) string {
	t.Helper()
	report := yamldoc.NewReport("").Resolved()
	place := i.New(swimlane.Resolved(report), spec)
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	got, err := place.Target(&Reach{Lane: lane, ServiceSpec: value(t, cfg.Service), TemplateSpec: value(t, cfg.Template), ConnectorType: cfg.Connector})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

func value(t *testing.T, text string) yamldoc.Value {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte(text))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	if len(docs) == 0 {
		return yamldoc.Sub(&yamldoc.Node{Kind: yamldoc.Mapping}, "")
	}
	return yamldoc.Sub(docs[0], "")
}

// said is what is wrong with a document when it is saved.
func said(t *testing.T, text string, lanes ...swimlane.Lane) string {
	t.Helper()
	var steps step.Types
	for _, lane := range lanes {
		for _, name := range lane.Steps {
			steps = append(steps, step.Type{Name: name, New: func(*document.Decoder, yamldoc.Value) step.Spec { return nil }})
		}
	}
	docs, report := yamldoc.Parse("", []byte(text))
	for _, doc := range docs {
		entity.Decode(doc, report, entity.Options{
			Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}, Types: entity.Types{Lanes: lanes},
			Steps: steps,
		})
	}
	var b strings.Builder
	for _, f := range report.Findings() {
		if f.Code != document.MissingKey || f.Severity == yamldoc.Error {
			fmt.Fprintln(&b, f)
		}
	}
	return b.String()
}
