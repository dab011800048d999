package entity

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// pulled decodes what stages with gitOpsEnabled have.
type pulled struct{ *decoder }

// gitOpsCluster is a cluster that a GitOps agent looks after (semantics/gitops §17).
type gitOpsCluster struct {
	Identifier yamldoc.Field[string]
	Agent      yamldoc.Field[string] // a reference; not set in a stage: whichever is linked
}

// cluster reads one.
func (d pulled) cluster(c *gitOpsCluster) document.Keys {
	return document.Keys{
		"identifier":      d.Text(&c.Identifier),
		"agentIdentifier": d.Reference(ref.GitOpsAgent, &c.Agent),
		"metadata":        document.Nothing, // the console's
		"name":            document.Nothing, // likewise
		"scope":           document.Nothing, // the identifier says it
	}
}

// linkedClusters are those that are linked to an environment.
func (d pulled) linkedClusters(v yamldoc.Value) []gitOpsCluster {
	var list []gitOpsCluster
	type link struct{ cluster, agent string }
	seen := map[link]int{}
	for item := range d.Items(v) {
		var one gitOpsCluster
		d.Fields(item, d.cluster(&one))
		d.Need(item, "identifier", "agentIdentifier")
		d.Fixed(item, one.Identifier.Expr)
		this := link{one.Identifier.Value, one.Agent.Value}
		if first := seen[this]; first != 0 && this.cluster != "" {
			d.Errorf(item, document.DuplicateIdentifier, "cluster %s of agent %s stands twice; the first is in line %d", this.cluster, this.agent, first)
		}
		seen[this] = item.Pos(d.Report).Line
		list = append(list, one)
	}
	return list
}

// clusters are those that a stage is about.
func (d pulled) clusters(s *StageEnvironment) document.Rule {
	return func(v yamldoc.Value) {
		for item := range d.Items(v) {
			var one gitOpsCluster
			d.Fields(item, d.cluster(&one))
			d.Need(item, "identifier")
			s.Clusters = append(s.Clusters, one)
		}
		d.Empty(v, "found no clusters: a run has nothing to deploy to")
	}
}

// clusterKeys are the keys of the environment of a stage with gitOpsEnabled that
// others read otherwise.
func (d pulled) clusterKeys() document.Keys {
	infrastructure := d.Never("a stage with gitOpsEnabled deploys to gitOpsClusters, or to all of the environment (deployToAll); infrastructure definitions are for other stages")
	return document.Keys{
		"infrastructureDefinition":  infrastructure,
		"infrastructureDefinitions": infrastructure,
		"provisioner":               d.Never("GitOps agents deploy to clusters that are there already"),
		"useFromStage":              d.Refuse("a stage with gitOpsEnabled names its environment by environmentRef; taking that of another stage isn't supported"),
	}
}

// clustersNeeded says what is missing where no cluster is named.
func (d pulled) clustersNeeded(v yamldoc.Value) {
	chosen := !document.Neutral(v.Node.Get("deployToAll")) || !document.Neutral(v.Node.Get("filters")) || v.Node.Get("gitOpsClusters") != nil
	if v.Is(yamldoc.Mapping) && !chosen {
		d.Errorf(v, document.MissingKey, "one of deployToAll, gitOpsClusters and filters is missing: they say which clusters of the environment are meant")
	}
}

// stageType reads the deployment type of a stage, of which GitOps agents deploy
// those alone that are manifests of a cluster.
func (d pulled) stageType(v yamldoc.Value, f *yamldoc.Field[string], gitOps bool) {
	d.deploymentType(f)(v)
	lane, ok := d.options.Lanes.Pulled()
	if gitOps && ok && f.Value != "" && !slices.Contains(lane.Near, f.Value) {
		d.Errorf(v, document.WrongValue, "found %s; a stage with gitOpsEnabled has the deployment type %s", f.Value, document.Choice(lane.Near))
	}
}

// agrees reads the key of a stage that some write beside the one of its spec.
func (d pulled) agrees(v yamldoc.Value, s *Stage) {
	var on yamldoc.Field[bool]
	d.Decided(&on)(v)
	if spec := s.Doc.Get("spec"); on.Set && spec != nil && on.Value != gitOps(spec) {
		d.Errorf(v, document.WrongValue, "gitOpsEnabled is %t here and %t in the stage's spec, which counts", on.Value, gitOps(spec))
	}
}

// stagesOf says for people which stages some deployment types have.
func stagesOf(lanes swimlane.Lanes, types []string) string {
	if lane, ok := lanes.Pulled(); ok && slices.Equal(types, []string{lane.Type}) {
		return "with gitOpsEnabled"
	}
	return "of the deployment type " + strings.Join(types, " or ")
}
