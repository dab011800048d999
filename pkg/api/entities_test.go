package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
)

const environment = `# Where we try things
environment:
  name: dev
  identifier: dev
  type:   PreProduction
`

const infrastructure = `infrastructureDefinition:
  name: cluster
  identifier: cluster
  environmentRef: dev
  deploymentType: Kubernetes
  type: KubernetesDirect
  spec:
    connectorRef: account.k8s
    namespace: web
    releaseName: release-<+INFRA_KEY_SHORT_ID>
`

const pipeline = `pipeline:
  name: hello
  identifier: hello
  stages:
    - stage:
        name: say
        identifier: say
        type: Custom
        spec:
          execution:
            steps:
              - step:
                  name: greet
                  identifier: greet
                  type: ShellScript
                  timeout: 1m
                  spec:
                    shell: Bash
                    onDelegate: true
                    source:
                      type: Inline
                      spec:
                        script: echo hello
`

func TestSavingSaysWhatItDid(t *testing.T) {
	t.Parallel()
	s := setup(t)
	want := api.SavedEntity{
		EntityKey: api.EntityKey{Kind: "environment", ID: "dev", Org: "default", Project: "web"},
		Version:   1, Change: catalog.Created, Warnings: []fault.Detail{},
	}
	if diff := cmp.Diff(want, s.save(environment)); diff != "" {
		t.Errorf("first save (-want +got):\n%s", diff)
	}
	want.Change = catalog.Unchanged
	if diff := cmp.Diff(want, s.save(environment)); diff != "" {
		t.Errorf("the same again (-want +got):\n%s", diff)
	}
	want.Change, want.Version = catalog.Configured, 2
	if diff := cmp.Diff(want, s.save(environment+"  description: x\n")); diff != "" {
		t.Errorf("another text (-want +got):\n%s", diff)
	}
}

func TestSavingAStaleVersionIsRefused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(environment)
	for version, want := range map[string]int{"0": 409, "2": 409, "1": 200} {
		got := s.ask("PUT", "/v1/entities"+scope+"&version="+version, environment)
		if got.status != want {
			t.Errorf("version %s: status %d; want %d: %s", version, got.status, want, got.body)
		}
		if want == 409 && got.problem(409).Code != fault.StaleVersion {
			t.Errorf("version %s: %s; want STALE_VERSION", version, got.body)
		}
	}
}

func TestWhatWasSavedIsGivenBackByteForByte(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.save(environment)
	const path = "/v1/entities/environment/dev" + scope
	got := s.ask("GET", path, "", "Accept", "application/yaml").want(200, nil)
	if diff := cmp.Diff(environment, string(got.body)); diff != "" {
		t.Errorf("as YAML (-want +got):\n%s", diff)
	}
	var e api.Entity
	s.ask("GET", path, "").want(200, &e)
	if diff := cmp.Diff(environment, e.YAML); diff != "" || e.Name != "dev" || e.UpdatedBy != "ada" {
		t.Errorf("as JSON: %+v (-want +got):\n%s", e, diff)
	}
}

func TestEverythingWrongIsSaidAtOnceWithItsPlace(t *testing.T) {
	t.Parallel()
	s := setup(t)
	doc := strings.NewReplacer("type: ShellScript", "type: ShelScript", "identifier: say", "identifier: s-ay").Replace(pipeline)
	for _, endpoint := range []string{"PUT /v1/entities", "POST /v1/entities:validate"} {
		method, path, _ := strings.Cut(endpoint, " ")
		p := s.ask(method, path+scope+"&file=a.yaml", doc).problem(400)
		lines := map[int]bool{}
		for _, d := range p.Details {
			if d.Severity == "error" && d.File == "a.yaml" && d.Path != "" && d.Column > 0 {
				lines[d.Line] = true
			}
		}
		if p.Code != fault.Invalid || !lines[7] || !lines[15] {
			t.Errorf("%s: %+v; want errors in lines 7 and 15", endpoint, p)
		}
	}
	s.ask("GET", "/v1/entities/pipeline/hello"+scope, "").problem(404)
}

func TestValidatingChangesNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var got api.SavedEntity
	s.ask("POST", "/v1/entities:validate"+scope, environment).want(200, &got)
	if got.Change != catalog.Created || got.Version != 0 {
		t.Errorf("got %+v; want that it would be created", got)
	}
	s.ask("GET", "/v1/entities/environment/dev"+scope, "").problem(404)
}

func TestUndocumentedKeysWarnUnlessStrict(t *testing.T) {
	t.Parallel()
	s := setup(t)
	doc := environment + "  colour: blue\n"
	p := s.ask("PUT", "/v1/entities"+scope+"&strict=true", doc).problem(400)
	if len(p.Details) != 1 || p.Details[0].Line != 6 || p.Details[0].Code != "UNKNOWN_KEY" {
		t.Errorf("strict: %+v; want one UNKNOWN_KEY in line 6", p)
	}
	if got := s.save(doc); len(got.Warnings) != 1 || got.Warnings[0].Code != "UNKNOWN_KEY" {
		t.Errorf("warnings are %+v; want one UNKNOWN_KEY", got.Warnings)
	}
}

func TestReferencesWarnWhenUnknownAndGuardDeletes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	got := s.save(infrastructure)
	if len(got.Warnings) != 2 || got.Warnings[0].Code != "UNKNOWN_REFERENCE" || got.Warnings[0].Line != 4 {
		t.Errorf("warnings are %+v; want unknown references in lines 4 and 8", got.Warnings)
	}
	if got.Env != "dev" {
		t.Errorf("the infrastructure's environment is %q; want dev", got.Env)
	}
	s.save(environment)
	if got := s.save(infrastructure + "    # a comment\n"); len(got.Warnings) != 1 {
		t.Errorf("warnings are %+v; want one for the connector", got.Warnings)
	}
	const path = "/v1/entities/environment/dev" + scope
	p := s.ask("DELETE", path, "").problem(409)
	if p.Code != fault.Referenced || !strings.Contains(p.Message+p.Details[0].Message, "cluster") {
		t.Errorf("deleting what is named: %+v; want REFERENCED by cluster", p)
	}
	const infra = "/v1/entities/infrastructureDefinition/cluster" + scope
	s.ask("DELETE", infra, "").problem(400)
	s.ask("DELETE", infra+"&env=dev&version=1", "").problem(409)
	s.ask("DELETE", infra+"&env=dev&version=2", "").want(204, nil)
	s.ask("DELETE", path, "").want(204, nil)
	s.ask("GET", path, "").problem(404)
}

func TestListingIsPaged(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, id := range []string{"c", "a", "d", "b", "e"} {
		s.save(strings.ReplaceAll(environment, "dev", id))
	}
	var ids []string
	for token := ""; ; {
		var page api.EntityList
		s.ask("GET", "/v1/entities/environment"+scope+"&limit=2&pageToken="+token, "").want(200, &page)
		if len(page.Entities) > 2 {
			t.Fatalf("a page has %d entities; want at most 2", len(page.Entities))
		}
		for _, e := range page.Entities {
			ids = append(ids, e.ID)
			if e.YAML != "" {
				t.Errorf("the list has the document of %s", e.ID)
			}
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestNamesThatNeverResolveWarn(t *testing.T) {
	t.Parallel()
	s := setup(t)
	got := s.save(`pipeline:
  identifier: names
  name: Names
  stages:
    - stage:
        identifier: s
        name: S
        type: Custom
        spec:
          execution:
            steps:
              - step: {identifier: a, name: A, type: Wait, timeout: <+pipeline.variables.nope>, spec: {duration: 10s}}
`)
	if len(got.Warnings) != 1 || got.Warnings[0].Code != "UNRESOLVABLE_EXPRESSION" || got.Warnings[0].Line != 12 || got.Warnings[0].Severity != "warning" {
		t.Errorf("warnings are %+v; want one in line 12", got.Warnings)
	}
}

// TestASaveLooksForSoMuchOnly: a document can name more than a save has the
// time to look for.
func TestASaveLooksForSoMuchOnly(t *testing.T) {
	t.Parallel()
	s := setup(t)
	group := func(n int) string {
		doc := "environmentGroup:\n  name: g\n  identifier: g\n  orgIdentifier: default\n  projectIdentifier: web\n  envIdentifiers: ["
		for i := range n {
			doc += fmt.Sprintf("e%d, ", i)
		}
		return doc + "]\n"
	}
	s.ask("PUT", "/v1/entities"+scope, group(1000), "Content-Type", "application/yaml").want(200, nil)
	p := s.ask("PUT", "/v1/entities"+scope, group(1001), "Content-Type", "application/yaml").problem(413)
	if p.Code != fault.TooLarge || !strings.Contains(p.Message, "names 1001 entities") {
		t.Errorf("got %s: %s; want that there are too many", p.Code, p.Message)
	}
}
