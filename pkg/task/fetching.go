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
		p, err := specOf[Kubernetes](payload)
		return p.fetchesFiles(), err
	case KindHelm:
		p, err := specOf[Helm](payload)
		return p.fetchesFiles(), err
	case KindShell, KindHTTP, KindJira, KindMail, KindServiceNow, KindJenkins, KindBamboo, KindArtifact, KindInstances, KindProbe:
	}
	return false, nil
}

// specOf is the spec of a Work.
func specOf[T any](payload json.RawMessage) (T, error) {
	var w Work
	var spec T
	err := json.Unmarshal(payload, &w)
	if err == nil {
		err = json.Unmarshal(w.Spec, &spec)
	}
	if err != nil {
		return spec, fmt.Errorf("decode the payload: %w", err)
	}
	return spec, nil
}

// StoredFiles are the files and folders of the file store that whoever does a
// task brings from there, as its payload names them. A path may hold
// placeholders.
func StoredFiles(kind Kind, payload json.RawMessage) ([]string, error) {
	fetches, err := FetchesFiles(kind, payload, nil)
	if err != nil || !fetches {
		return nil, err
	}
	p, err := specOf[Kubernetes](payload) // a Helm has its Target, too
	if err != nil {
		return nil, err
	}
	named := slices.Concat(p.Target.Manifest.stored(), p.ApplySource.stored())
	inStore := len(named) > 0
	for _, v := range slices.Concat(p.Target.Values, p.Target.Patches, p.Target.Params, p.ApplyValues, p.ApplyPatches, p.ApplyParams) {
		named = append(named, v.Store.stored()...)
		if inStore {
			named = append(named, v.Store.Inherited...)
		}
	}
	if p.Patch != nil {
		named = append(named, p.Patch.Source.stored()...)
	}
	return named, nil
}

// stored are the paths of a manifest in the file store, with those of its
// values, patches and parameters, which are there, too.
func (m *Manifest) stored() []string {
	if m == nil || m.Store.Files == nil {
		return nil
	}
	named := slices.Concat(m.Store.stored(), m.ValuesPaths, m.ParamsPaths)
	if m.Kustomize != nil {
		named = append(named, m.Kustomize.PatchesPaths...)
	}
	return named
}

func (s *Store) stored() []string {
	if s.Files == nil {
		return nil
	}
	return s.Files.Paths
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
