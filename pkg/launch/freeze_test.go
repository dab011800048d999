package launch

import (
	"fmt"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// TestAFreezeRefusesAStart by what is deployed where, and only in its window.
func TestAFreezeRefusesAStart(t *testing.T) {
	t.Parallel()
	c, s := setup(t)
	scope, by := ref.Scope{Account: "acme", Org: "o", Project: "p"}, audit.Author{Actor: "me"}
	save := func(in ref.Scope, doc string) {
		t.Helper()
		if _, err := c.Save(t.Context(), catalog.Draft{Scope: in, YAML: []byte(doc), Version: catalog.AnyVersion}, by); err != nil {
			t.Fatal(err)
		}
	}
	save(scope, "connector: {name: c, identifier: c, type: K8sCluster, spec: {credential: {type: InheritFromDelegate}, delegateSelectors: [d]}}")
	save(scope, "service: {name: web, identifier: web, serviceDefinition: {type: Kubernetes, spec: {}}}")
	save(scope, "environment: {name: prod, identifier: prod, type: Production}")
	save(scope, "infrastructureDefinition: {name: k, identifier: k, environmentRef: prod, deploymentType: Kubernetes, type: KubernetesDirect, "+
		"spec: {connectorRef: c, namespace: n, releaseName: r}}")
	save(scope, "pipeline: {name: p, identifier: p, stages: [{stage: {name: s, identifier: s, type: Deployment, spec: {deploymentType: Kubernetes, "+
		"service: {serviceRef: web}, environment: {environmentRef: prod, infrastructureDefinitions: [{identifier: k}]}, "+
		"execution: {steps: [{step: {name: w, identifier: w, type: Wait, timeout: 1h, spec: {duration: 1m}}}], rollbackSteps: []}}, "+
		"failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}]}}]}")
	freeze := func(status, envType string) string {
		return fmt.Sprintf("freeze: {name: f, identifier: f, status: %s, entityConfigs: [{name: r, entities: [{type: EnvType, filterType: Equals, entityRefs: [%s]}]}], "+
			"windows: [{timeZone: Europe/Berlin, startTime: 2024-12-24 12:00 PM, duration: 2d}]}", status, envType)
	}
	account := ref.Scope{Account: "acme"}
	for _, row := range []struct {
		name, freeze, now string
		frozen            bool
	}{
		{"in_the_window", freeze("Enabled", "Production"), "2024-12-24T11:00:00Z", true},
		{"before_it", freeze("Enabled", "Production"), "2024-12-24T10:59:59Z", false},
		{"after_it", freeze("Enabled", "Production"), "2024-12-26T11:00:00Z", false},
		{"of_other_environments", freeze("Enabled", "PreProduction"), "2024-12-25T00:00:00Z", false},
		{"disabled", freeze("Disabled", "Production"), "2024-12-25T00:00:00Z", false},
	} {
		save(account, row.freeze)
		now, err := time.Parse(time.RFC3339, row.now)
		if err != nil {
			t.Fatal(err)
		}
		l := New(Config{Store: s, Runner: idle{}, Options: builtin.Options(ref.Scope{}), Now: func() time.Time { return now }})
		_, err = l.Start(t.Context(), Request{Scope: scope, Pipeline: "p", By: by})
		if row.frozen != fault.Is(err, fault.Frozen) || !row.frozen && err != nil {
			t.Errorf("%s: found %v; want frozen: %v", row.name, err, row.frozen)
		}
	}
}

// TestWhoOverridesAFreeze: only those who may touch its scope, and only if they
// say why; pipelines that a rule names are stopped whatever they do.
func TestWhoOverridesAFreeze(t *testing.T) {
	t.Parallel()
	c, s := setup(t)
	project, by := ref.Scope{Account: "acme", Org: "o", Project: "p"}, audit.Author{Actor: "me"}
	save := func(in ref.Scope, doc string) {
		t.Helper()
		if _, err := c.Save(t.Context(), catalog.Draft{Scope: in, YAML: []byte(doc), Version: catalog.AnyVersion}, by); err != nil {
			t.Fatal(err)
		}
	}
	const pipeline = "pipeline: {name: %[1]s, identifier: %[1]s, stages: [{stage: {name: s, identifier: s, type: Custom, spec: {execution: {steps: [{step: {name: w, identifier: w, type: Wait, spec: {duration: 1m}}}]}}}}]}"
	const freeze = "freeze: {name: f, identifier: f, status: Enabled, entityConfigs: [{name: r, entities: [%s]}], " +
		"windows: [{timeZone: UTC, startTime: 2024-12-24 12:00 PM, duration: 2d}]}"
	save(project, fmt.Sprintf(pipeline, "a"))
	save(project, fmt.Sprintf(pipeline, "b"))
	save(project, fmt.Sprintf(freeze, "{type: Pipeline, filterType: Equals, entityRefs: [a]}, {type: Service, filterType: All}"))
	now := time.Date(2024, 12, 24, 18, 0, 0, 0, time.UTC)
	l := New(Config{Store: s, Runner: idle{}, Options: builtin.Options(ref.Scope{}), Now: func() time.Time { return now }})
	for _, row := range []struct {
		name     string
		pipeline string
		override string
		within   ref.Scope
		want     fault.Code
	}{
		{name: "a rule names it", pipeline: "a", within: project, want: fault.Frozen},
		{name: "another isn't named", pipeline: "b", within: project},
		{name: "who says why passes", pipeline: "a", override: "outage", within: project},
		{name: "so does the account's", pipeline: "a", override: "outage", within: ref.Scope{Account: "acme"}},
		{name: "who may not touch its scope doesn't", pipeline: "a", override: "outage", within: ref.Scope{Account: "acme", Org: "other"}, want: fault.Forbidden},
	} {
		e, err := l.Start(t.Context(), Request{Scope: project, Pipeline: row.pipeline, By: by, Within: row.within, Override: row.override})
		switch {
		case row.want != "" && !fault.Is(err, row.want), row.want == "" && err != nil:
			t.Errorf("%s: found %v; want %q", row.name, err, row.want)
		case err == nil && row.override != "" && (e.Override == nil || e.Override.Reason != row.override || !e.Override.Passes(project)):
			t.Errorf("%s: the execution has %+v", row.name, e.Override)
		}
	}
	trail, err := s.ListAudit(t.Context(), "acme", 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	rejected := 0
	for _, r := range trail {
		if r.Action == audit.FreezeRejected {
			rejected++
		}
	}
	if rejected != 2 {
		t.Errorf("the trail has %d refusals; want 2", rejected)
	}
}
