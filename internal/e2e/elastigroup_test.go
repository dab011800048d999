package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/api"
)

// spotEntities are the documents of examples/spot for an account.
func spotEntities(t *testing.T) string {
	t.Helper()
	docs := strings.NewReplacer("eu-central-1", testaws.Region, "your-token", testservers.SpotToken).Replace(read(t, "../../examples/spot/entities.yaml"))
	const connector = "  type: Spot\n  spec:\n"
	return strings.Replace(byTheAccounts(docs), connector, connector+"    delegateSelectors: [account]\n", 1)
}

// TestElastigroupsRollOutAndBack: a group is made, followed by another one, and
// that one is taken back; the ledger knows which machines run, and nobody ever
// sees the token.
func TestElastigroupsRollOutAndBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w, spot := start(t), testaws.NewWorld(t), testservers.NewSpot(t)
		delegateOf(t, s, w, often, spotEnv+"="+spot.URL)
		images := map[string]string{}
		for _, name := range []string{"web-1", "web-2"} {
			images[name] = imageOf(t, w, name)
		}
		entities := spotEntities(t)
		s.Apply(t, entities)
		s.Apply(t, phasedPipeline("spot", "Elastigroup", "ElastigroupSetup", "{name: web, instances: {type: Fixed, spec: {min: 1, max: 4, desired: 2}}}",
			"ElastigroupDeploy", "newService", "newElastigroupName", "ElastigroupRollback"))
		of := func(image string) { s.Apply(t, strings.Replace(service(entities), "web-1", image, 1)) }
		run := func(image, script string) e2e.Execution {
			t.Helper()
			of(image)
			return finish(t, s, s.Begin(t, "spot", map[string]string{"variables.script": script}))
		}
		runs := func(image string, groups ...string) {
			t.Helper()
			if diff := cmp.Diff(groups, spot.Groups()); diff != "" {
				t.Errorf("the groups (-want +got):\n%s", diff)
			}
			var l api.PlacementList
			if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
				t.Fatal(err)
			}
			if len(l.Placements) != 1 || l.Placements[0].Count != 2 || l.Placements[0].Artifact != images[image] {
				t.Errorf("the ledger has %+v; want two machines of %s", l.Placements, image)
			}
		}
		group := func(n int, image string) string {
			return fmt.Sprintf("web__%d: 1 to 4, 2 desired of %s, 2 there", n, images[image])
		}
		if e := run("web-1", "true"); e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s", e.Status, e.Message)
		}
		runs("web-1", group(1, "web-1"))
		of("web-2")
		before := len(spot.Calls())
		d := preview(t, s, "spot", map[string]string{"variables.script": "true"})
		if !slices.Equal(d.Changed, []string{"Elastigroup/web__2"}) || !strings.Contains(d.Diff, "+      \"imageId\": \""+images["web-2"]+"\",\n") {
			t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
		}
		if got := spot.Changes(before); len(got) > 0 || strings.Contains(d.Diff, testservers.SpotToken) {
			t.Errorf("the preview changes %v, and shows\n%s", got, d.Diff)
		}
		if e := run("web-2", "exit 1"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("what is rolled back is %s: %s", e.Status, e.Message)
		}
		runs("web-1", group(1, "web-1"))
		if e := run("web-2", "true"); e.Status != "Success" {
			t.Fatalf("the next deployment is %s: %s", e.Status, e.Message)
		}
		runs("web-2", fmt.Sprintf("web__1: 0 to 4, 0 desired of %s, 0 there", images["web-1"]), group(2, "web-2"))
		drifts(t, s, " has 3 replicas; deployed were 2", func() error {
			spot.Change("web__2", map[string]any{"capacity": map[string]any{"target": 3.0}})
			return nil
		})
	})
}
