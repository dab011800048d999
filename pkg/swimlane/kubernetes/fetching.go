package kubernetes

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// fetched is what a delegate brings for a task.
func (s *Spec) fetched() swimlane.Fetched {
	if !s.fetchesFiles() {
		return swimlane.Fetched{}
	}
	all := s.Target
	all.Values = slices.Concat(all.Values, s.ApplyValues)
	all.Patches = slices.Concat(all.Patches, s.ApplyPatches)
	all.Params = slices.Concat(all.Params, s.ApplyParams)
	stored := stored(&all, s.ApplySource)
	if s.Patch != nil {
		stored = append(stored, s.Patch.Source.Stored()...)
	}
	return swimlane.Fetched{Files: true, Stored: stored}
}

// Fetched is what a delegate brings that reads what the target is made of.
func (t *Target) Fetched() swimlane.Fetched {
	if !t.fetched() {
		return swimlane.Fetched{}
	}
	return swimlane.Fetched{Files: true, Stored: stored(t, nil)}
}

// stored are the paths in the file store of a target's files, and of a manifest
// beside its own. Layers may name files beside a manifest that is there.
func stored(t *Target, beside *origin.Manifest) []string {
	named := slices.Concat(t.Manifest.Stored(), beside.Stored())
	inStore := len(named) > 0
	for _, v := range slices.Concat(t.Values, t.Patches, t.Params) {
		named = append(named, v.Store.Stored()...)
		if inStore {
			named = append(named, v.Store.Inherited...)
		}
	}
	return named
}

// fetchesFiles says whether the operation reads manifests at all, and whether
// any of its files aren't in the payload itself.
func (s *Spec) fetchesFiles() bool {
	switch s.Op {
	case OpRolling, OpCanary, OpBlueGreen, OpApply, OpDryRun, OpDiff:
	case OpDelete:
		if s.Delete == nil || s.Delete.Type != byManifest {
			return false
		}
	case OpRollout:
		if s.Rollout == nil || s.Rollout.Resources.Type != byManifest {
			return false
		}
	case OpPatch:
		return s.Patch != nil && s.Patch.Source.Fetched()
	case OpRollingRollback, OpCanaryDelete, OpProgressiveRollback, OpSwap, OpScale, OpStageScaleDown, OpStageScaleUp, OpTrafficRouting:
		return false
	}
	return s.Target.fetched() || s.ApplySource.Fetched() || anyFetched(s.ApplyValues, s.ApplyPatches, s.ApplyParams)
}

func (t *Target) fetched() bool {
	return t.Manifest.Fetched() || anyFetched(t.Values, t.Patches, t.Params)
}

func anyFetched(layers ...[]origin.ValuesFile) bool {
	return slices.ContainsFunc(slices.Concat(layers...), func(v origin.ValuesFile) bool { return v.Store.Fetched() })
}
