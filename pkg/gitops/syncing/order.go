package syncing

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// kinds are applied in this order, and all others after them.
var kinds = rank(
	"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget", "ServiceAccount", "Secret", "ConfigMap",
	"StorageClass", "PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
	"Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob",
	"IngressClass", "Ingress", "APIService",
)

func rank(names ...string) map[string]int {
	m := make(map[string]int, len(names))
	for i, name := range names {
		m[name] = i
	}
	return m
}

func kindRank(kind string) int {
	if i, ok := kinds[kind]; ok {
		return i
	}
	return len(kinds)
}

// phaseRank is the order of the phases of a sync. What runs if it fails stands
// apart.
func phaseRank(p gitops.SyncPhase) int {
	return slices.Index([]gitops.SyncPhase{gitops.PreSync, gitops.Sync, gitops.PostSync, gitops.SyncFail}, p)
}

// Wave is the wave that an object asks for.
func Wave(annotations map[string]string) int64 {
	for _, name := range []string{object.AnnotationWave, "helm.sh/hook-weight"} {
		if wave, err := strconv.ParseInt(annotations[name], 10, 32); err == nil {
			return wave
		}
	}
	return 0
}

// compareTasks is the order in which tasks have their turn: phases, waves, what is
// applied before what is pruned, kinds (backwards where they are pruned), names.
func compareTasks(a, b Task) int {
	kind := cmp.Compare(kindRank(a.Key.Kind), kindRank(b.Key.Kind))
	if a.Prune && b.Prune {
		kind = -kind
	}
	pruned := func(t Task) int {
		if t.Prune {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(phaseRank(a.Phase), phaseRank(b.Phase)), cmp.Compare(a.Wave, b.Wave), cmp.Compare(pruned(a), pruned(b)), kind,
		cmp.Compare(a.Key.Kind, b.Key.Kind), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name),
	)
}

// order gives the tasks their final waves and sorts them.
func (s *State) order(definitions map[object.Key]string) {
	s.turnPrunes()
	s.needsFirst(definitions)
	slices.SortStableFunc(s.Tasks, compareTasks)
	type wave struct {
		phase gitops.SyncPhase
		wave  int64
	}
	hooks := map[wave]bool{}
	var last wave
	for _, t := range s.Tasks {
		if t.Phase != gitops.SyncFail {
			last = wave{t.Phase, t.Wave}
			hooks[last] = hooks[last] || t.Hook
		}
	}
	for i := range s.Tasks {
		// What comes after it, or beside it, needs it healthy; for the last wave
		// it is enough to be applied.
		t := &s.Tasks[i]
		at := wave{t.Phase, t.Wave}
		t.Wait = at != last || hooks[at] && !t.Prune
	}
}

// turnPrunes prunes in the waves' opposite order: the lowest and the highest swap,
// and so inwards. What is to go last goes one wave after all.
func (s *State) turnPrunes() {
	var waves []int64
	for _, t := range s.Tasks {
		if t.Prune {
			waves = append(waves, t.Wave)
		}
	}
	slices.Sort(waves)
	waves = slices.Compact(waves)
	last := int64(0)
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.Prune {
			at, _ := slices.BinarySearch(waves, t.Wave)
			t.Wave = waves[len(waves)-1-at]
		}
		if t.Phase == gitops.Sync && (i == 0 || t.Wave > last) {
			last = t.Wave
		}
	}
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Prune && t.last {
			t.Wave = last + 1
		}
	}
}

// needsFirst brings namespaces and definitions of kinds before what needs them,
// whatever their waves say. definitions has the kind, as group/Kind, that an
// object defines.
func (s *State) needsFirst(definitions map[object.Key]string) {
	type need struct {
		phase gitops.SyncPhase
		what  string
	}
	lowest := map[need]int64{}
	note := func(n need, wave int64) {
		if was, ok := lowest[n]; !ok || wave < was {
			lowest[n] = wave
		}
	}
	for _, t := range s.Tasks {
		if !t.Prune {
			note(need{t.Phase, "namespace " + t.Key.Namespace}, t.Wave)
			note(need{t.Phase, t.Key.Group + "/" + t.Key.Kind}, t.Wave)
		}
	}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.Prune {
			continue
		}
		what := definitions[t.Key]
		if t.Key.Group == "" && t.Key.Kind == "Namespace" {
			what = "namespace " + t.Key.Name
		}
		if wave, ok := lowest[need{t.Phase, what}]; ok && what != "" && wave < t.Wave {
			t.Wave = wave
		}
	}
}
