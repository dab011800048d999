package plan

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A Deployment stage may make what it deploys to: the steps of its
// environment.provisioner run before all others, and what they put out is read
// by its infrastructure definition (semantics/pipeline §7.16). They are children
// of the stage like the others, with names of their own, and so are their
// rollbackSteps.

// provisioner puts the steps of a stage's provisioner section before its others,
// and its rollbackSteps after the others.
func (b *builder) provisioner(stage *Node, doc *yamldoc.Node) {
	section := doc.At("spec", "environment", "provisioner")
	if section == nil {
		return
	}
	base := string(stage.ID) + ".spec.environment.provisioner."
	forth := place{id: NodeID(base + "steps"), selectors: stage.Selectors, levels: stage.Strategies}
	back := place{id: NodeID(base + "rollbackSteps"), selectors: stage.Selectors, rollback: true}
	steps := b.opened(b.steps(section.Get("steps"), forth), section.Get("steps"), forth)
	undo := b.opened(b.steps(section.Get("rollbackSteps"), back), section.Get("rollbackSteps"), back)
	for _, n := range slices.Concat(steps, undo) {
		n.Provisions = true
	}
	stage.Children, stage.Rollback = append(steps, stage.Children...), append(stage.Rollback, undo...)
}

// unprovisioned is a stage's document without what its provisioner section holds,
// which has nodes of its own.
func unprovisioned(stage *yamldoc.Node) *yamldoc.Node {
	environment := stage.At("spec", "environment")
	if environment.Get("provisioner") == nil {
		return stage
	}
	return with(stage, "spec", with(stage.Get("spec"), "environment", trim(environment, "provisioner")))
}

// with is a mapping with another value of a key that it has.
func with(n *yamldoc.Node, key string, value *yamldoc.Node) *yamldoc.Node {
	c := *n
	c.Entries = slices.Clone(n.Entries)
	for i, e := range c.Entries {
		if e.Key == key {
			c.Entries[i].Value = value
		}
	}
	return &c
}

// Provisioning are the steps, groups and blocks of a stage's provisioner section:
// the first of its children.
func (n *Node) Provisioning() []*Node {
	i := slices.IndexFunc(n.Children, func(c *Node) bool { return !c.Provisions })
	if i < 0 {
		i = len(n.Children)
	}
	return n.Children[:i:i]
}

// InProvisioner says whether the node is within its stage's provisioner section.
func (n *Node) InProvisioner() bool {
	for ; n != nil && n.Kind != KindStage; n = n.parent {
		if n.Provisions {
			return true
		}
	}
	return false
}
