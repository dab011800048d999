package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
)

// The labels of Helm's records: which stage made a revision and for which
// task, and whether its workloads became steady, which Helm doesn't know.
const (
	labelStage  = "harness.io/stage"
	labelStep   = "harness.io/step"
	labelStatus = "harness.io/release-status"
)

// The values of labelStatus. Revisions that others made have none.
const (
	statusInProgress = "InProgress"
	statusSucceeded  = "Succeeded"
	statusFailed     = "Failed"
)

// history is the revisions of a release, the oldest first.
type history []*release.Release

func historyOf(cfg *action.Configuration, name string) (history, error) {
	list, err := cfg.Releases.History(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, refused(err)
	}
	var out history
	for _, one := range list {
		r, ok := one.(*release.Release)
		if !ok {
			return nil, fmt.Errorf("a record of release %s is a %T", name, one)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *release.Release) int { return a.Version - b.Version })
	return out, nil
}

// last is the newest revision; nil for none.
func (h history) last() *release.Release {
	if len(h) == 0 {
		return nil
	}
	return h[len(h)-1]
}

// good is the newest revision that was deployed well and is older than one;
// nil for none (semantics/kubernetes §19.2: the last good, not the previous
// one).
func (h history) good(before int) *release.Release {
	for _, r := range slices.Backward(h) {
		if r.Version >= before {
			continue
		}
		sound := r.Info.Status == common.StatusDeployed || r.Info.Status == common.StatusSuperseded
		if sound && r.Labels[labelStatus] != statusFailed && r.Labels[labelStatus] != statusInProgress {
			return r
		}
	}
	return nil
}

// ofStage is the oldest revision that a stage made; nil for none. A rollback's
// revision has the labels of the one that it goes back to, and isn't the stage's.
func (h history) ofStage(stage string) *release.Release {
	for _, r := range h {
		if r.Labels[labelStage] == stage && r.Info.RollbackRevision == 0 {
			return r
		}
	}
	return nil
}

// isOf says whether a stage made the newest revision, or went back from one
// that it made.
func (h history) isOf(stage string) bool {
	for _, r := range slices.Backward(h) {
		if r.Info.RollbackRevision == 0 {
			return r.Labels[labelStage] == stage
		}
	}
	return false
}

// stageLabel names the stage of the execution in a way that labels can hold.
func (s *session) stageLabel() string { return labelOf(s.work.Execution, s.work.Stage) }

// stepLabel names likewise what the step was told to do.
func (s *session) stepLabel() string {
	doc, err := json.Marshal(s.p)
	if err != nil {
		return s.stageLabel() // it came from JSON
	}
	return labelOf(s.work.Step, string(doc))
}

func labelOf(what, more string) string {
	sum := sha256.Sum256([]byte(what + "\n" + more))
	return hex.EncodeToString(sum[:16])
}

// delivered is the newest revision if this very task made it and it became
// steady: the task was delivered before, and its result was lost. Nil if not.
func (s *session) delivered(h history) *release.Release {
	last := h.last()
	if last == nil || last.Info.Status != common.StatusDeployed || last.Info.RollbackRevision != 0 {
		return nil
	}
	if last.Labels[labelStep] != s.stepLabel() || last.Labels[labelStatus] != statusSucceeded {
		return nil
	}
	return last
}

// mark writes into a revision's record how its deployment ended.
func mark(cfg *action.Configuration, name string, version int, status string) error {
	got, err := cfg.Releases.Get(name, version)
	if err != nil {
		return refused(err)
	}
	r, ok := got.(*release.Release)
	if !ok {
		return fmt.Errorf("a record of release %s is a %T", name, got)
	}
	r.Labels = maps.Clone(r.Labels)
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	r.Labels[labelStatus] = status
	return refused(cfg.Releases.Update(r))
}
