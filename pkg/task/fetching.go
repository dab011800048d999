package task

import (
	"encoding/json"
	"fmt"
	"slices"
)

// FetchesFiles says whether who does a task fetches files whose expressions the
// control plane resolves for it: values, patches and parameters beside manifests
// or above them, and config files of Git repositories. The texts of all other
// tasks come with their payloads, resolved.
func FetchesFiles(kind Kind, payload json.RawMessage, late map[string]LateText) (bool, error) {
	for _, t := range late {
		if t.Git != nil {
			return true, nil
		}
	}
	switch kind {
	case KindKubernetes:
		var p Kubernetes
		if err := json.Unmarshal(payload, &p); err != nil {
			return false, fmt.Errorf("decode the payload: %w", err)
		}
		return p.fetchesFiles(), nil
	case KindHelm:
		var p Helm
		if err := json.Unmarshal(payload, &p); err != nil {
			return false, fmt.Errorf("decode the payload: %w", err)
		}
		return p.fetchesFiles(), nil
	case KindShell, KindHTTP, KindJira, KindMail, KindServiceNow, KindJenkins, KindBamboo, KindArtifact, KindInstances:
	}
	return false, nil
}

// fetchesFiles says whether the operation reads manifests at all, and whether
// any of its files aren't in the payload itself.
func (k *Kubernetes) fetchesFiles() bool {
	switch k.Op {
	case OpRolling, OpCanary, OpBlueGreen, OpApply, OpDryRun, OpDiff:
	case OpDelete:
		if k.Delete == nil || k.Delete.Type != resourcesOfManifests {
			return false
		}
	case OpRollout:
		if k.Rollout == nil || k.Rollout.Resources.Type != resourcesOfManifests {
			return false
		}
	case OpPatch:
		return k.Patch != nil && k.Patch.Source.fetched()
	case OpRollingRollback, OpCanaryDelete, OpProgressiveRollback, OpSwap, OpScale, OpStageScaleDown, OpStageScaleUp, OpTrafficRouting:
		return false
	}
	return k.Target.fetched() || k.ApplySource.fetched() || anyFetched(k.ApplyValues, k.ApplyPatches, k.ApplyParams)
}

// resourcesOfManifests is the type of a ResourceSelection that reads manifests.
const resourcesOfManifests = "ManifestPath"

func (h *Helm) fetchesFiles() bool {
	return slices.Contains([]HelmOp{OpHelmDeploy, OpHelmCanary, OpHelmBlueGreen}, h.Op) && h.Target.fetched()
}

func (t *KubernetesTarget) fetched() bool {
	return t.Manifest.fetched() || anyFetched(t.Values, t.Patches, t.Params)
}

func (m *Manifest) fetched() bool { return m != nil && m.Store.fetched() }

func anyFetched(layers ...[]ValuesFile) bool {
	return slices.ContainsFunc(slices.Concat(layers...), func(v ValuesFile) bool { return v.Store.fetched() })
}

// fetched says whether a delegate brings the files of a store from somewhere.
func (s *Store) fetched() bool {
	return s.Git != nil || s.Charts != nil || s.Files != nil || s.Script != nil || s.Inherited != nil
}
