package plan

import "slices"

// A Deployment stage may make what it deploys to: the steps of its
// environment.provisioner run before all others, and what they put out is read
// by its infrastructure definition (semantics/pipeline §7.16). They are children
// of the stage like the others, with names of their own, and so are their
// rollbackSteps.

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
