package judge_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

var (
	account = ref.Scope{Account: "acme"}
	project = ref.Scope{Account: "acme", Org: "o", Project: "p"}
)

// bench saves documents over a real store, with policies.
type bench struct {
	*testing.T
	catalog *catalog.Catalog
	judge   *judge.Judge
	store   store.Store
}

func setup(t *testing.T, engine policy.Engine) *bench {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	j := judge.New(judge.Config{Entities: s.Store.Entities, Evaluations: s.Store.Evaluations, Engine: engine, Now: time.Now, Alone: true})
	return &bench{t, catalog.New(catalog.Config{
		Store: s.Store, Secret: secret.New(key, s.Store, time.Now), Options: builtin.Options(ref.Scope{}), Policies: j, Now: time.Now,
	}), j, s.Store}
}

// save saves a document and gives what is warned of.
func (b *bench) save(in ref.Scope, doc string) (string, error) {
	b.Helper()
	r, err := b.catalog.Save(b.Context(), catalog.Draft{Scope: in, YAML: []byte(doc), Version: catalog.AnyVersion}, audit.Author{Actor: "me"})
	var warned []string
	for _, w := range r.Warnings {
		if w.Code == "POLICY_WARNING" {
			warned = append(warned, w.Message)
		}
	}
	return strings.Join(warned, "\n"), err
}

func (b *bench) must(in ref.Scope, doc string) {
	b.Helper()
	if _, err := b.save(in, doc); err != nil {
		b.Fatalf("%s: %s", doc, fault.Told(err))
	}
}

// policy saves a policy and a set that asks it.
func (b *bench) policy(in ref.Scope, moment policy.Moment, severity policy.Severity, text string) {
	b.Helper()
	id := fmt.Sprintf("%s_%s", moment.Type, severity)
	b.must(in, fmt.Sprintf("policy:\n  identifier: %s\n  name: p\n  rego: |\n    %s\n", id, strings.ReplaceAll(text, "\n", "\n    ")))
	b.must(in, fmt.Sprintf("policySet: {identifier: %[1]s, name: s, type: %[2]s, action: %[3]s, enabled: true, policies: [{identifier: %[1]s, severity: %[4]s}]}", id, moment.Type, moment.Action, severity))
}

const pipeline = "pipeline: {name: %[1]s, identifier: %[1]s, stages: [{stage: {name: s, identifier: s, type: Custom, spec: {execution: {steps: [{step: {name: w, identifier: w, type: Wait, spec: {duration: 1m}}}]}}}}]}"

// TestPoliciesSeeWhatIsSaved of each kind, under the key of its type.
func TestPoliciesSeeWhatIsSaved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, deny, bad, good string }{
		{"pipeline", `input.pipeline.stages[_].stage.spec.execution.steps[_].step.type == "Wait"; input.pipeline.name == "bad"`, fmt.Sprintf(pipeline, "bad"), fmt.Sprintf(pipeline, "good")},
		{
			"template", `input.template.versionLabel == "v1"`, "template: {name: n, identifier: n, versionLabel: v1, type: Step, spec: {type: Wait, spec: {duration: 1m}}}",
			"template: {name: n, identifier: n, versionLabel: v2, type: Step, spec: {type: Wait, spec: {duration: 1m}}}",
		},
		{
			"connector", `input.entity.type == "K8sCluster"; input.entity.spec.credential.type == "InheritFromDelegate"`,
			"connector: {name: c, identifier: c, type: K8sCluster, spec: {credential: {type: InheritFromDelegate}, delegateSelectors: [d]}}",
			"connector: {name: d, identifier: d, type: DockerRegistry, spec: {dockerRegistryUrl: https://example.com, providerType: Other, auth: {type: Anonymous}}}",
		},
		{"service", `not input.serviceEntity.tags.team`, "service: {name: web, identifier: web, serviceDefinition: {type: Kubernetes, spec: {}}}", "service: {name: web, identifier: web, tags: {team: a}, serviceDefinition: {type: Kubernetes, spec: {}}}"},
		{"environment", `input.environmentEntity.type == "Production"`, "environment: {name: prod, identifier: prod, type: Production}", "environment: {name: dev, identifier: dev, type: PreProduction}"},
		{
			"infrastructure", `input.infrastructureEntity.spec.namespace == "default"`,
			"infrastructureDefinition: {name: k, identifier: k, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: c, namespace: default, releaseName: r}}",
			"infrastructureDefinition: {name: k, identifier: k, environmentRef: dev, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: c, namespace: web, releaseName: r}}",
		},
		{
			"override", `input.overrideEntity.variables[_].value == "never"`,
			"overrides: {type: ENV_GLOBAL_OVERRIDE, environmentRef: dev, spec: {variables: [{name: v, type: String, value: never}]}}",
			"overrides: {type: ENV_GLOBAL_OVERRIDE, environmentRef: dev, spec: {variables: [{name: v, type: String, value: always}]}}",
		},
		{"variable", `input.variable.spec.fixedValue == "x"`, "variable: {name: v, identifier: v, type: String, spec: {valueType: FIXED, fixedValue: x}}", "variable: {name: v, identifier: v, type: String, spec: {valueType: FIXED, fixedValue: y}}"},
		{"serviceaccount", `not endswith(input.serviceAccount.email, "example.com")`, "serviceAccount: {name: s, identifier: s, email: a@b.org}", "serviceAccount: {name: s, identifier: s, email: a@example.com}"},
		{"usergroup", `count(input.userGroup.users) > 1`, "userGroup: {name: g, identifier: g, users: [a@b.org, c@d.org]}", "userGroup: {name: g, identifier: g, users: [a@b.org]}"},
	} {
		t.Run(c.typ, func(t *testing.T) {
			t.Parallel()
			b := setup(t, rego.New())
			b.policy(account, policy.Moment{Type: c.typ, Action: policy.OnSave}, policy.Error, "package p\n\ndeny[\"not so\"] {\n  "+c.deny+"\n  input.metadata.type == \""+c.typ+"\"\n  input.metadata.projectMetadata.identifier == \"p\"\n}")
			if _, err := b.save(project, c.bad); !fault.Is(err, fault.PolicyDenied) || !strings.Contains(fault.Told(err), "\nnot so (policy account."+c.typ+"_error of set account."+c.typ+"_error)") {
				t.Errorf("saved what the policy denies: %v", err)
			}
			b.must(project, c.good)
		})
	}
}

// TestASecretsValueIsNeverSeen, but where it is kept is.
func TestASecretsValueIsNeverSeen(t *testing.T) {
	t.Parallel()
	b := setup(t, rego.New())
	b.policy(project, policy.Moment{Type: "secret", Action: policy.OnSave}, policy.Warning, "package p\n\ndeny[x] { x := json.marshal(input) }")
	warned, err := b.save(project, "secret: {name: s, identifier: s, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: hunter2}}")
	if err != nil || strings.Contains(warned, "hunter2") || !strings.Contains(warned, `"secretManagerIdentifier":"harnessSecretManager"`) {
		t.Errorf("warned of %q, %v", warned, err)
	}
}

// TestWhatCounts: sets around the scope that are enabled, by the severity that
// they give; what can't be evaluated fails.
func TestWhatCounts(t *testing.T) {
	t.Parallel()
	const never = "package p\n\ndeny[\"never\"] { true }"
	onSave := policy.Moment{Type: policy.OfPipeline, Action: policy.OnSave}
	for _, c := range []struct {
		name         string
		saved        func(b *bench)
		denied, says string
	}{
		{"nothing", func(*bench) {}, "", ""},
		{"an error of the account's", func(b *bench) { b.policy(account, onSave, policy.Error, never) }, "never (policy account.pipeline_error of set account.pipeline_error)", ""},
		{"a warning", func(b *bench) { b.policy(project, onSave, policy.Warning, never) }, "", "never (policy pipeline_warning of set pipeline_warning)"},
		{"what a policy only warns of", func(b *bench) { b.policy(project, onSave, policy.Error, "package p\n\nwarn[\"soon\"] { true }") }, "", "soon (policy pipeline_error of set pipeline_error)"},
		{"another project's", func(b *bench) {
			b.policy(ref.Scope{Account: "acme", Org: "o", Project: "q"}, onSave, policy.Error, never)
		}, "", ""},
		{"another moment's", func(b *bench) {
			b.policy(project, policy.Moment{Type: policy.OfPipeline, Action: policy.OnRun}, policy.Error, never)
		}, "", ""},
		{"one that is disabled", func(b *bench) {
			b.policy(project, onSave, policy.Error, never)
			b.must(project, "policySet: {identifier: pipeline_error, name: s, type: pipeline, action: onsave, enabled: false, policies: [{identifier: pipeline_error, severity: error}]}")
		}, "", ""},
		{"a policy that isn't there", func(b *bench) {
			b.must(project, "policySet: {identifier: s, name: s, type: pipeline, action: onsave, enabled: true, policies: [{identifier: gone, severity: error}]}")
		}, "it couldn't be evaluated: there is no such policy (policy gone of set s)", ""},
		{"one that breaks", func(b *bench) { b.policy(project, onSave, policy.Error, "package p\n\ndeny = x { x := [1, 2][_] }") }, "conflicting values", ""},
		{"one that breaks, as a warning", func(b *bench) { b.policy(project, onSave, policy.Warning, "package p\n\ndeny = x { x := [1, 2][_] }") }, "", "conflicting values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, rego.New())
			c.saved(b)
			warned, err := b.save(project, fmt.Sprintf(pipeline, "a"))
			switch {
			case c.denied != "" && (!fault.Is(err, fault.PolicyDenied) || !strings.Contains(fault.Told(err), c.denied)):
				t.Errorf("got %v; want that it is denied by %q", err, c.denied)
			case c.denied == "" && err != nil:
				t.Errorf("got %s; want that it is saved", fault.Told(err))
			case !strings.Contains(warned, c.says) || c.says == "" && warned != "":
				t.Errorf("warned of %q; want %q", warned, c.says)
			}
			_, err = b.store.Entity(t.Context(), store.EntityKey{Scope: project, Kind: ref.Pipeline, ID: "a"})
			if there := err == nil; there != (c.denied == "") {
				t.Errorf("it is there: %t", there)
			}
		})
	}
}

// TestWhatIsSavedTogetherIsJudgedTogether: by the policies of the same set, and
// with the templates of it; who was denied is in the audit trail.
func TestWhatIsSavedTogetherIsJudgedTogether(t *testing.T) {
	t.Parallel()
	b := setup(t, rego.New())
	var set []catalog.Draft
	for _, doc := range []string{
		"pipeline: {name: a, identifier: a, stages: [{stage: {name: s, identifier: s, template: {templateRef: nap, versionLabel: v1}}}]}",
		"template: {name: nap, identifier: nap, versionLabel: v1, type: Stage, spec: {type: Custom, spec: {execution: {steps: [{step: {name: w, identifier: w, type: Wait, spec: {duration: 1m}}}]}}}}",
		"policySet: {identifier: s, name: s, type: pipeline, action: onsave, enabled: true, policies: [{identifier: p, severity: error}]}",
		"policy: {identifier: p, name: p, rego: \"package p\\ndeny[msg] { msg := input.pipeline.stages[_].stage.spec.execution.steps[_].step.type }\"}",
	} {
		set = append(set, catalog.Draft{Scope: project, YAML: []byte(doc), Version: catalog.AnyVersion})
	}
	_, err := b.catalog.SaveAll(t.Context(), set, audit.Author{Actor: "me"})
	if !fault.Is(err, fault.PolicyDenied) || !strings.Contains(fault.Told(err), "\nWait (policy p of set s)") {
		t.Errorf("got %v; want that it is denied", err)
	}
	records, err := b.store.ListAudit(t.Context(), "acme", 1, 10)
	if err != nil || len(records) != 1 || records[0].Action != audit.PolicyDenied || records[0].ID != "a" || !strings.Contains(records[0].After, "Wait (policy p") {
		t.Errorf("recorded %+v, %v", records, err)
	}
}

// TestPoliciesAreKeptWhileASetNamesThem.
func TestPoliciesAreKeptWhileASetNamesThem(t *testing.T) {
	t.Parallel()
	b := setup(t, rego.New())
	b.policy(project, policy.Moment{Type: policy.OfPipeline, Action: policy.OnSave}, policy.Error, "package p\n\ndeny[\"never\"] { true }")
	drop := func(kind ref.Kind) error {
		return b.catalog.Delete(t.Context(), store.EntityKey{Scope: project, Kind: kind, ID: "pipeline_error"}, catalog.AnyVersion, audit.Author{Actor: "me"}, catalog.Deleter{})
	}
	if err := drop(ref.Policy); !fault.Is(err, fault.Referenced) {
		t.Errorf("got %v; want that a set names it", err)
	}
	if err := drop(ref.PolicySet); err != nil {
		t.Error(err)
	}
	if err := drop(ref.Policy); err != nil {
		t.Error(err)
	}
}

// TestWithoutAnEngineNoPolicyIsSaved: nothing would ask it.
func TestWithoutAnEngineNoPolicyIsSaved(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, doc := range []string{
		"policy: {identifier: p, name: p, rego: \"package p\\ndeny { true }\"}",
		"policySet: {identifier: s, name: s, type: pipeline, action: onsave, enabled: false, policies: [{identifier: p, severity: error}]}",
	} {
		if _, err := b.save(project, doc); !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "no policies are evaluated here") {
			t.Errorf("got %v", err)
		}
	}
	b.must(project, fmt.Sprintf(pipeline, "a"))
}

// TestInputsAreBounded, and nobody is asked for one where there is no set.
func TestInputsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, rego.New())
	asked := 0
	c := judge.Case{
		Moment: policy.Moment{Type: policy.OfPipeline, Action: policy.OnRun}, Scope: project,
		Input: func() (map[string]any, error) {
			asked++
			return map[string]any{"pipeline": strings.Repeat("x", policy.MaxRun)}, nil
		},
	}
	if v, err := b.judge.On(t.Context(), c); err != nil || len(v.Verdict) != 0 || asked != 0 {
		t.Errorf("without a set: %v, %v, asked %d times", v, err, asked)
	}
	b.policy(account, c.Moment, policy.Error, "package p\n\ndeny[\"never\"] { true }")
	if _, err := b.judge.On(t.Context(), c); !fault.Is(err, fault.TooLarge) {
		t.Errorf("got %v; want that it is too large", err)
	}
}

// BenchmarkNoSets is what a save or a start pays where there is no set.
func BenchmarkNoSets(b *testing.B) {
	db, err := sqlitedb.Open(b.Context(), filepath.Join(b.TempDir(), "test.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	s, err := sqlite.New(b.Context(), db)
	if err != nil {
		b.Fatal(err)
	}
	j := judge.New(judge.Config{Entities: s.Store.Entities, Evaluations: s.Store.Evaluations, Engine: rego.New(), Now: time.Now, Alone: true})
	c := judge.Case{Moment: policy.Moment{Type: policy.OfPipeline, Action: policy.OnRun}, Scope: project}
	for b.Loop() {
		if _, err := j.On(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// TestNamedSets are asked by a Policy step: those of scopes around it, of its own
// type alone, and with metadata beside what it is given.
func TestNamedSets(t *testing.T) {
	t.Parallel()
	b := setup(t, rego.New())
	onStep := judge.Case{Moment: policy.Moment{Type: policy.Custom, Action: policy.OnStep}, Scope: project, Actor: "me"}
	b.policy(account, onStep.Moment, policy.Error, "package p\n\ndeny[msg] { msg := sprintf(\"%v of %v\", [input.risk, input.metadata.type]) }")
	b.policy(project, policy.Moment{Type: policy.OfPipeline, Action: policy.OnRun}, policy.Error, "package p\n\ndeny[\"never\"] { true }")
	input := map[string]any{"risk": 9}
	v, err := b.judge.Named(t.Context(), onStep, []string{"account.custom_error"}, input)
	if got := v.Denied("it"); err != nil || got == nil || !strings.Contains(fault.Told(got), "9 of custom (policy account.custom_error of set account.custom_error)") {
		t.Errorf("got %v, %v", got, err)
	}
	if len(input) != 1 {
		t.Errorf("the input has become %v", input)
	}
	for name, want := range map[string]fault.Code{"nobodys": fault.NotFound, "pipeline_error": fault.Invalid, "not a name": fault.Invalid} {
		if _, err := b.judge.Named(t.Context(), onStep, []string{name}, input); !fault.Is(err, want) {
			t.Errorf("%s: got %v; want %s", name, err, want)
		}
	}
	b.must(account, "policySet: {identifier: custom_error, name: s, type: custom, action: onstep, enabled: false, policies: [{identifier: custom_error, severity: error}]}")
	if v, err := b.judge.Named(t.Context(), onStep, []string{"account.custom_error"}, input); err != nil || len(v.Verdict) != 1 || v.Verdict[0].Status() != policy.Pass {
		t.Errorf("one that is disabled: %v, %v", v, err)
	}
	if _, err := judge.New(judge.Config{Entities: b.store.Entities, Engine: nil, Now: time.Now, Alone: true}).Named(t.Context(), onStep, nil, input); !fault.Is(err, fault.Unsupported) {
		t.Errorf("without an engine: %v", err)
	}
}

// TestSetsCountAsSoonAsTheyAreSaved, although they are kept.
func TestSetsCountAsSoonAsTheyAreSaved(t *testing.T) {
	t.Parallel()
	b := setup(t, rego.New())
	round := 0
	denied := func() bool {
		round++
		_, err := b.save(project, strings.Replace(fmt.Sprintf(pipeline, "a"), "1m", fmt.Sprintf("%dm", round), 1))
		return fault.Is(err, fault.PolicyDenied)
	}
	set := "policySet: {identifier: pipeline_error, name: s, type: pipeline, action: onsave, enabled: %t, policies: [{identifier: pipeline_error, severity: error}]}"
	if denied() {
		t.Error("denied without a set")
	}
	b.policy(account, policy.Moment{Type: policy.OfPipeline, Action: policy.OnSave}, policy.Error, "package p\n\ndeny[\"never\"] { true }")
	if !denied() {
		t.Error("saved in spite of a set that was made")
	}
	if _, err := b.catalog.SaveAll(t.Context(), []catalog.Draft{{Scope: account, YAML: fmt.Appendf(nil, set, false), Version: catalog.AnyVersion}}, audit.Author{Actor: "me"}); err != nil {
		t.Fatal(err)
	}
	if denied() {
		t.Error("denied by a set that was disabled")
	}
	b.must(account, fmt.Sprintf(set, true))
	if !denied() {
		t.Error("saved in spite of a set that was enabled")
	}
	if err := b.catalog.Delete(t.Context(), store.EntityKey{Scope: account, Kind: ref.PolicySet, ID: "pipeline_error"}, catalog.AnyVersion, audit.Author{Actor: "me"}, catalog.Deleter{}); err != nil {
		t.Fatal(err)
	}
	if denied() {
		t.Error("denied by a set that was deleted")
	}
}

// lists counts how often entities are listed.
type lists struct {
	store.Entities
	asked atomic.Int32
}

func (l *lists) ListEntities(ctx context.Context, scope ref.Scope, kind ref.Kind, parent string, page store.Page) ([]store.Entity, string, error) {
	l.asked.Add(1)
	return l.Entities.ListEntities(ctx, scope, kind, parent, page)
}

// TestAStartSaysWhetherItsStepsAreJudged from what it reads for itself, where others
// may save sets: each scope is read once.
func TestAStartSaysWhetherItsStepsAreJudged(t *testing.T) {
	t.Parallel()
	b := setup(t, rego.New())
	read := &lists{Entities: b.store.Entities}
	j := judge.New(judge.Config{Entities: read, Evaluations: b.store.Evaluations, Engine: rego.New(), Now: time.Now, Alone: false})
	c := judge.Case{Moment: policy.Moment{Type: policy.OfPipeline, Action: policy.OnRun}, Scope: project}
	look := func() bool {
		t.Helper()
		read.asked.Store(0)
		v, steps, err := j.OnStart(t.Context(), c)
		if err != nil || len(v.Verdict) != 0 || read.asked.Load() != 3 {
			t.Errorf("got %v, %v after %d reads; want 3", v, err, read.asked.Load())
		}
		return steps
	}
	if look() {
		t.Error("there is no set, and steps are judged")
	}
	b.policy(account, policy.Moment{Type: policy.OfPipeline, Action: policy.OnStepStart}, policy.Error, "package p\n\ndeny[\"never\"] { true }")
	if !look() {
		t.Error("there is a set in the account, and steps aren't judged")
	}
}

// TestEvaluationsAreKept of what denied or warned, and of runs; in an execution one,
// however often it is asked again.
func TestEvaluationsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t, rego.New())
	onRun := policy.Moment{Type: policy.OfPipeline, Action: policy.OnRun}
	onStep := policy.Moment{Type: policy.Custom, Action: policy.OnStep}
	for _, m := range []policy.Moment{onRun, onStep} {
		b.policy(project, m, policy.Error, "package p\n\ndeny[\"no\"] { input.risk == 9 }\n\nwarn[\"hm\"] { input.risk == 5 }")
	}
	kept := func(execution string) (all []policy.Evaluation) {
		t.Helper()
		all, _, err := b.store.ListEvaluations(t.Context(), store.EvaluationsOf{Scope: project, Execution: execution}, time.Now(), store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, c := range []struct {
		risk  int
		run   bool
		want  policy.Status
		kept  int
		lasts time.Duration
	}{
		{1, true, policy.Pass, 1, policy.KeptForPassed},
		{5, true, policy.Warned, 1, policy.KeptFor},
		{1, false, policy.Pass, 0, 0},
		{5, false, policy.Warned, 1, policy.KeptFor},
		{9, false, policy.Refused, 1, policy.KeptFor},
	} {
		id := fmt.Sprintf("x%d%t", c.risk, c.run)
		for range 2 { // the second time because a call was cut short
			var got policy.Judged
			var err error
			if c.run {
				got, _, err = b.judge.OnStart(t.Context(), judge.Case{Moment: onRun, Scope: project, Execution: id, Input: func() (map[string]any, error) { return map[string]any{"risk": c.risk}, nil }})
			} else {
				got, err = b.judge.Named(t.Context(), judge.Case{Moment: onStep, Scope: project, Execution: id, Node: "n", Attempt: 1}, []string{"custom_error"}, map[string]any{"risk": c.risk})
			}
			if err != nil || got.Status() != c.want || (got.Evaluation != "") != (c.kept > 0) {
				t.Fatalf("%s: got %v with the evaluation %q, %v", id, got.Verdict, got.Evaluation, err)
			}
		}
		all := kept(id)
		if len(all) != c.kept || c.kept > 0 && (all[0].Status != c.want || all[0].ExpiresAt.Sub(all[0].CreatedAt) != c.lasts) {
			t.Errorf("%s: kept are %+v; want %d", id, all, c.kept)
		}
	}
	if _, err := b.judge.Named(t.Context(), judge.Case{Moment: onStep, Scope: project, Execution: "checked", Unkept: true}, []string{"custom_error"}, map[string]any{"risk": 9}); err != nil || len(kept("checked")) != 0 {
		t.Errorf("of a check %v is kept, %v", kept("checked"), err)
	}
}
