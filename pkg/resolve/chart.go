package resolve

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// chartFound is what a manifest's chart says of itself; nil if it wasn't read,
// or not yet.
func (r record) chartFound(stage *plan.Node, manifest string) (*lookup.ChartFound, error) {
	id := stage.ID + ".spec.manifests"
	if r.plan.Node(id) == nil {
		return nil, nil
	}
	st := r.state(id)
	if !st.Status.Terminal() {
		return nil, nil
	}
	var out struct {
		Output struct{ Chart *lookup.ChartFound }
	}
	if doc := st.Result(); len(doc) == 0 {
		return nil, nil
	} else if err := json.Unmarshal(doc, &out); err != nil {
		return nil, fmt.Errorf("decode the chart: %w", err)
	}
	if c := out.Output.Chart; c != nil && c.Manifest == manifest {
		return c, nil
	}
	return nil, nil
}

// chart resolves manifests.ID.helm.X and manifest.ID.commitId.
func (dep deployments) chart(stage *plan.Node, m entity.Manifest, path []string) (expr.Value, int, error) {
	found, err := dep.scope.record().chartFound(stage, path[1])
	if err != nil {
		return expr.Null(), 0, err
	}
	if found == nil {
		return expr.Null(), 0, unknown("what the chart of manifest %s says of itself isn't known: want fetchHelmChartMetadata: true on the chart that is deployed, of a service that is chosen before the stage starts", path[1])
	}
	if path[2] == "commitId" {
		return expr.String(found.CommitID), 3, nil
	}
	if store := storeOf(m); store.Type.Text == filesource.OCI && slices.Equal(path[3:], []string{"metadata", "basePath"}) {
		return dep.word(store.Charts.BasePath, 5)
	}
	doc, err := json.Marshal(found)
	if err != nil {
		return expr.Null(), 0, fmt.Errorf("encode the chart: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(doc, &values); err != nil {
		return expr.Null(), 0, fmt.Errorf("decode the chart: %w", err)
	}
	delete(values, "manifest")
	delete(values, "commitId")
	var at any = values
	for i, key := range path[3:] {
		m, ok := at.(map[string]any)
		if !ok {
			return expr.FromAny(at), 3 + i, nil
		}
		if at, ok = m[key]; !ok {
			return expr.Null(), 0, fault.New(fault.UnresolvedExpression, "a chart has no %q; want name, description, version, apiVersion, appVersion, kubeVersion or metadata", key)
		}
	}
	return expr.FromAny(at), len(path), nil
}
