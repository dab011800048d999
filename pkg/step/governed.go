package step

import "github.com/slipway-cd/slipway/pkg/yamldoc"

// EnforcedSets are the policy sets that a step has asked about how it has ended, as
// they are written; nil: none.
func EnforcedSets(step *yamldoc.Node) *yamldoc.Node { return step.At("enforce", "policySets") }

// HasSelectors says whether a step, or what is around it, names delegates by itself.
func HasSelectors(node *yamldoc.Node) bool {
	for _, list := range []*yamldoc.Node{node.At("spec", "delegateSelectors"), node.Get("delegateSelectors")} {
		if list != nil && (len(list.Items) > 0 || list.Value != "") {
			return true
		}
	}
	return false
}
