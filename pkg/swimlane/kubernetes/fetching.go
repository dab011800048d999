package kubernetes

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/swimlane"
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
func stored(t *Target, beside *Manifest) []string {
	named := slices.Concat(t.Manifest.stored(), beside.stored())
	inStore := len(named) > 0
	for _, v := range slices.Concat(t.Values, t.Patches, t.Params) {
		named = append(named, v.Store.Stored()...)
		if inStore {
			named = append(named, v.Store.Inherited...)
		}
	}
	return named
}

// stored are the paths of a manifest in the file store, with those of its
// values, patches and parameters, which are there, too.
func (m *Manifest) stored() []string {
	if m == nil || m.Store.Files == nil {
		return nil
	}
	named := slices.Concat(m.Store.Stored(), m.ValuesPaths, m.ParamsPaths)
	if m.Kustomize != nil {
		named = append(named, m.Kustomize.PatchesPaths...)
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
	return s.Target.fetched() || s.ApplySource.fetched() || anyFetched(s.ApplyValues, s.ApplyPatches, s.ApplyParams)
}

func (t *Target) fetched() bool {
	return t.Manifest.fetched() || anyFetched(t.Values, t.Patches, t.Params)
}

func (m *Manifest) fetched() bool { return m != nil && m.Store.Fetched() }

func anyFetched(layers ...[]ValuesFile) bool {
	return slices.ContainsFunc(slices.Concat(layers...), func(v ValuesFile) bool { return v.Store.Fetched() })
}
