package resolve_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var pageRow = regexp.MustCompile("(?m)^\\| `(<\\+.*>.*)` \\| (?:`(.*)`|error) \\|$")

// TestExpressionsPage evaluates every example of docs/expressions.md in the
// pipeline that the page shows.
func TestExpressionsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "expressions.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	sample, _, _ := strings.Cut(rest, "```")
	rows := pageRow.FindAllStringSubmatch(string(page), -1)
	if want := strings.Count(string(page), "| `<+"); len(rows) != want || want < 50 {
		t.Errorf("%d of %d examples can be read", len(rows), want)
	}
	for _, row := range rows {
		t.Run(row[1], func(t *testing.T) {
			t.Parallel()
			got, err := pageScope(t, sample).Text(row[1])
			if wantError := strings.HasSuffix(row[0], "| error |"); (err != nil) != wantError || got != row[2] {
				t.Errorf("%s\n got %q, %v\nwant %q", row[1], got, err, row[2])
			}
		})
	}
}

// pageScope is where the page's examples stand.
func pageScope(t *testing.T, sample string) *resolve.Scope {
	t.Helper()
	docs, report := yamldoc.Parse("expressions.md", []byte(sample))
	if err := report.Err(); err != nil || len(docs) != 4 {
		t.Fatalf("the page has %d documents: %v", len(docs), err)
	}
	p, err := planning.Build(planning.Source{
		Pipeline: entity.DecodePart(ref.Pipeline, docs[0].Get("pipeline"), yamldoc.NewReport(""), entity.Options{}).Pipeline,
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "Kubernetes", ServiceRef: "shop", EnvironmentRef: "dev",
			Service: docs[1].Get("service"), Environment: docs[2].Get("environment"), Infrastructure: docs[3].Get("infrastructureDefinition"),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	states := map[plan.NodeID]plan.State{
		"pipeline.stages.build": {Status: plan.Success},
		"pipeline.stages.build.spec.execution.steps.make": {
			Status: plan.Success, EndedAt: time.Unix(1, 0), Outputs: []byte(`{"output":{"outputVariables":{"tag":"1.4.2"}}}`),
		},
		"pipeline.stages.build.spec.execution.steps.skipped": {Status: plan.Skipped},
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node("pipeline.stages.deploy.spec.execution.steps.roll"), Entities: entities{},
		Now:       time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		State:     func(id plan.NodeID) plan.State { return states[id] },
		Execution: store.Execution{ID: "x1", Sequence: 12, Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
}
