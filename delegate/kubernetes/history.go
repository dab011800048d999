package kubernetes

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The modes of a release.
const (
	modeRolling     = "rolling"
	modeCanary      = "canary"
	modeBlueGreen   = "bluegreen"
	modeProgressive = "progressive"
)

// The statuses of a release.
const (
	releaseInProgress = "InProgress"
	releaseSucceeded  = "Succeeded"
	releaseFailed     = "Failed"
)

// release is what is kept of one deployment, in a Secret of the namespace
// that it went to (semantics/kubernetes §9).
type release struct {
	Number    int       `json:"number"`
	Status    string    `json:"status"`
	Mode      string    `json:"mode"`
	CreatedAt time.Time `json:"createdAt"`
	Execution string    `json:"executionId"`
	Stage     string    `json:"stageId"`
	Step      string    `json:"stepId"`
	Service   string    `json:"service"`
	Hash      string    `json:"manifestHash"`
	// Objects are the manifests as they were applied.
	Objects []map[string]any `json:"manifests"`
	// Before are the workloads as they were before the first release of all, if
	// something else had deployed them.
	Before []map[string]any `json:"before,omitempty"`
	// Versioned are the ConfigMaps and Secrets of this release alone, as Kind/name.
	Versioned []string `json:"versioned,omitempty"`
	// Made are the objects that a canary step made beside what serves, as Kind/name.
	Made []string `json:"made,omitempty"`
	// Declarative: a rollback applies everything, not the workloads alone.
	Declarative bool     `json:"declarative,omitempty"`
	Pruning     bool     `json:"pruningEnabled,omitempty"`
	Pruned      []string `json:"pruned,omitempty"`
	// Blue-green: the colour that was deployed, and how the services stood
	// before the step.
	Color          string `json:"color,omitempty"`
	PrimaryColor   string `json:"primaryColor,omitempty"`
	PrimaryService string `json:"primaryService,omitempty"`
	StageService   string `json:"stageService,omitempty"`
	ServiceSpace   string `json:"serviceNamespace,omitempty"` // of both services
	Skipped        bool   `json:"skipped,omitempty"`
	// Canary: the services that traffic is routed to, if it is.
	StableService string `json:"stableService,omitempty"`
	CanaryService string `json:"canaryService,omitempty"`
	Deleted       bool   `json:"deleted,omitempty"` // the canary has been

	// Progressive: what the new workload takes the place of, and how many
	// instances there are in whole.
	Succeeds *succession `json:"succeeds,omitempty"`
	Budget   int64       `json:"budget,omitempty"`

	version string // of the Secret
}

// maxRelease is what fits into a Secret with its base64 and its metadata.
const maxRelease = 1 << 20

// history is the releases of a name, which the cluster keeps.
type history struct {
	client  *client
	work    task.Work
	p       lane.Spec
	applier *applier
}

// historySelector finds the releases of a name.
func (h *history) historySelector() string {
	return labels.Set{labelRelease: h.p.Target.ReleaseName, "owner": manager}.String()
}

// history reads the releases, the newest first. In a namespace that doesn't
// exist yet there are none.
func (h *history) all(ctx context.Context) ([]*release, error) {
	var out []*release
	var bad error
	_, err := applying.List(ctx, h.client.Dynamic.Resource(secrets()).Namespace(h.p.Target.Namespace), metav1.ListOptions{LabelSelector: h.historySelector()}, func(kept *unstructured.Unstructured) {
		r, err := unpack(kept)
		if err != nil {
			bad = fmt.Errorf("release %s: %w", kept.GetName(), err)
			return
		}
		out = append(out, r)
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, applying.Classify(err)
	}
	if bad != nil {
		return nil, bad
	}
	slices.SortFunc(out, func(a, b *release) int { return b.Number - a.Number })
	return out, nil
}

// decode64 reads the text of a Secret's value.
func decode64(text string) ([]byte, error) { return base64.StdEncoding.DecodeString(text) }

func unpack(o *unstructured.Unstructured) (*release, error) {
	packed, err := decode64(text(o, "data", "release"))
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	doc, err := io.ReadAll(io.LimitReader(z, 64*maxRelease))
	if err != nil {
		return nil, err
	}
	r := &release{version: o.GetResourceVersion()}
	return r, json.Unmarshal(doc, r)
}

func (h *history) secretOf(r *release) (*unstructured.Unstructured, error) {
	doc, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a sound one
	if _, err := z.Write(doc); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	if b.Len() > maxRelease*3/4 {
		return nil, fault.New(fault.TooLarge, "the manifests have %d bytes when compressed; the release history can keep %d", b.Len(), maxRelease*3/4)
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "harness.io/release",
		"data": map[string]any{"release": base64.StdEncoding.EncodeToString(b.Bytes())},
	}}
	o.SetNamespace(h.p.Target.Namespace)
	o.SetName(h.secretName(r.Number))
	o.SetLabels(map[string]string{
		labelRelease: h.p.Target.ReleaseName, labelNumber: strconv.Itoa(r.Number), labelStatus: r.Status,
		"owner": manager, "app.kubernetes.io/managed-by": manager,
	})
	return o, nil
}

func (h *history) secretName(number int) string {
	return fmt.Sprintf("harness.release.%s.%d", h.p.Target.ReleaseName, number)
}

// own finds the release that this very step began in an earlier try, so that
// a retry goes on with it (semantics/kubernetes §21).
func (h *history) own(all []*release) *release {
	for _, r := range all {
		if r.Execution == h.work.Execution && r.Step == h.work.Step && r.Status == releaseInProgress {
			return r
		}
	}
	return nil
}

// ofStage finds the newest release that this stage made in a mode.
func (h *history) ofStage(all []*release, mode string) *release {
	for _, r := range all {
		if r.Execution == h.work.Execution && r.Stage == h.work.Stage && r.Mode == mode {
			return r
		}
	}
	return nil
}

// lastGood is the newest release before another that succeeded in a mode. One
// of the same stage isn't earlier: a step that is delivered again after it has
// ended makes a second release of the same.
func lastGood(all []*release, before *release, mode string) *release {
	for _, r := range all {
		same := r.Execution == before.Execution && r.Stage == before.Stage
		if r.Number < before.Number && !same && r.Status == releaseSucceeded && r.Mode == mode {
			return r
		}
	}
	return nil
}

// begin gives a new release its number; the number is this step's once the
// record is made. Two pipelines that share a release name never get one number.
func (s *session) begin(all []*release, mode string) *release {
	r := s.history.own(all)
	if r == nil {
		r = &release{Number: 1}
		if len(all) > 0 {
			r.Number = all[0].Number + 1
			if who := all[0].Service; who != s.work.Target.Service {
				say(s.env.Log(unitPrepare), "warning: release %s was made for the service %s before", s.p.Target.ReleaseName, who)
			}
		}
		for s.taken[r.Number] {
			r.Number++
		}
	}
	r.Status, r.Mode, r.CreatedAt = releaseInProgress, mode, time.Now().UTC()
	r.Execution, r.Stage, r.Step, r.Service = s.work.Execution, s.work.Stage, s.work.Step, s.work.Target.Service
	r.Pruning, r.Deleted = s.p.Pruning, false
	s.renderer.number = r.Number
	return r
}

// fill puts the manifests into a release. The hash is of what was rendered,
// before names got their release's number.
func (r *release) fill(objects []*unstructured.Unstructured) {
	r.Objects = nil
	for _, o := range objects {
		r.Objects = append(r.Objects, o.Object)
	}
}

func hashOf(objects []*unstructured.Unstructured) string {
	h := sha256.New()
	for _, o := range objects {
		doc, _ := o.MarshalJSON() // it came from JSON
		h.Write(doc)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// objects are the release's manifests as objects.
func (r *release) objects() []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, len(r.Objects))
	for i, m := range r.Objects {
		out[i] = (&unstructured.Unstructured{Object: m}).DeepCopy()
	}
	return out
}

// errTaken: another execution, or another product, has the number of a release.
var errTaken = errors.New("the number is taken")

// save writes a release: a new one must not exist, an older one must be as
// it was read. A lost race is a conflict.
func (h *history) save(ctx context.Context, r *release) error {
	o, err := h.secretOf(r)
	if err != nil {
		return err
	}
	res := h.client.Dynamic.Resource(secrets()).Namespace(h.p.Target.Namespace)
	var saved *unstructured.Unstructured
	if r.version == "" {
		saved, err = res.Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
	} else {
		o.SetResourceVersion(r.version)
		saved, err = res.Update(ctx, o, metav1.UpdateOptions{FieldManager: manager})
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		if live, readErr := res.Get(ctx, o.GetName(), metav1.GetOptions{}); readErr == nil && text(live, "data", "release") == text(o, "data", "release") {
			saved, err = live, nil // by a try whose answer was lost
		}
	}
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("release %d: %w", r.Number, errTaken)
	}
	if err != nil {
		return applying.Classify(err)
	}
	r.version = saved.GetResourceVersion()
	return nil
}

// mark ends a release with a status, even when the task's time is up.
func (h *history) mark(ctx context.Context, r *release, status string) error {
	limit := applying.Outage
	if ctx.Err() != nil {
		limit = 10 * time.Second // the control plane waits no longer for what is late
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	r.Status = status
	return h.save(ctx, r)
}
