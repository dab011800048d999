package reconcile

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/live"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/syncing"
)

// record is what is kept of an application from one process to the next.
type record struct {
	App    Key                      `json:"app"`
	Status gitops.ApplicationStatus `json:"status"`
	// Key and Revisions are of the last target, so that it is there again when its
	// repository isn't.
	Key       string          `json:"key,omitempty"`
	Sources   []gitops.Source `json:"sources,omitempty"`
	Revisions []string        `json:"revisions,omitempty"`
	Inventory inventory       `json:"inventory,omitempty"`
	Run       *run            `json:"run,omitempty"`   // the operation under way
	Tried     *attempt        `json:"tried,omitempty"` // the last that was to make all of a target live
	Heals     []heal          `json:"heals,omitempty"`
	// Asked is the id of the request for the last operation, and Document the
	// operation of the document that was begun: neither is begun again.
	Asked   string `json:"asked,omitempty"`
	Request string `json:"request,omitempty"` // of OperationState; empty: nobody's
	// Before is the last operation before OperationState that was asked for.
	Before   *Ended            `json:"before,omitempty"`
	Document *gitops.Operation `json:"document,omitempty"`
	Hold     *hold             `json:"hold,omitempty"`
	// Forgotten is when the application's document went, which is Left.
	Forgotten time.Time           `json:"forgotten,omitzero"`
	Left      *gitops.Application `json:"left,omitempty"`
	// Removing says that its removal has begun, and RemovingNow that its document needn't
	// go before.
	Removing    bool `json:"removing,omitempty"`
	RemovingNow bool `json:"removingNow,omitempty"`
	// Partings are the hooks of a deletion, as they were rendered last, and Parting is
	// how far those of the removal are.
	Partings []json.RawMessage `json:"partings,omitempty"`
	Parting  *run              `json:"parting,omitempty"`

	version string // of the Secret; empty: there is none
}

// kept is an object that was applied.
type kept struct {
	object.Key

	Version string    `json:"version"`
	UID     string    `json:"uid"`
	Own     live.Hash `json:"own"`     // as the server showed it then
	Applied live.Hash `json:"applied"` // of what was applied
	Shows   shows     `json:"shows,omitzero"`
}

// attempt is a sync of a whole target. It is known by what was rendered, so that a
// commit that changes nothing for an application isn't another.
type attempt struct {
	Key     string                `json:"key"`
	Phase   gitops.OperationPhase `json:"phase"`
	Message string                `json:"message,omitempty"`
}

// run is an operation under way.
type run struct {
	Operation gitops.Operation `json:"operation"`
	Sources   []gitops.Source  `json:"sources"`
	Revisions []string         `json:"revisions"`
	Key       string           `json:"key"`
	State     *syncing.State   `json:"state"`
	Attempt   int64            `json:"attempt,omitempty"`
	RetryAt   time.Time        `json:"retryAt,omitzero"` // the try failed, and the next is then
	Heal      bool             `json:"heal,omitempty"`
}

// heal is how often an object was corrected lately.
type heal struct {
	object.Key

	Times int       `json:"times"`
	Last  time.Time `json:"last"`
}

// labelRecord is on the Secrets that hold records.
const labelRecord = object.Prefix + "gitops-record"

var secrets = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// secretOf is the name of the Secret of an application.
func secretOf(k Key) string {
	sum := sha256.Sum256([]byte(k.Namespace + "/" + k.Name))
	return "slipway-gitops-app-" + hex.EncodeToString(sum[:8])
}

// maxRecord bounds what a record may unpack to.
const maxRecord = 64 << 20

// load reads the records of all applications.
func (r *Reconciler) load(ctx context.Context) error {
	res, err := r.cfg.Home.Resource(applying.Named(secrets, object.Key{Kind: "Secret", Namespace: r.cfg.Namespace}))
	if err != nil {
		return fmt.Errorf("read the agent's records: %w", err)
	}
	all, err := applying.ListAll(ctx, res, metav1.ListOptions{LabelSelector: labelRecord + "=" + r.cfg.Agent})
	if err != nil {
		return fmt.Errorf("read the agent's records: %w", applying.Classify(err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range all {
		rec, err := decode(&all[i])
		if err != nil {
			// The objects say by themselves whose they are.
			r.cfg.Log.WarnContext(ctx, "a record can't be read, and is made anew", "secret", all[i].GetName(), "error", err)
			continue
		}
		if !rec.Forgotten.IsZero() && !rec.Removing && r.clock().Sub(rec.Forgotten) > forgottenFor {
			if _, err := r.cfg.Home.Delete(ctx, &all[i], applying.Deletion{UID: all[i].GetUID()}); err != nil {
				r.cfg.Log.WarnContext(ctx, "the record of an application that is gone stays", "app", rec.App.tracked(), "error", err)
			}
			continue
		}
		r.records[rec.App] = rec
	}
	return nil
}

func decode(secret *unstructured.Unstructured) (*record, error) {
	text, _, _ := unstructured.NestedString(secret.Object, "data", "record")
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("data.record: %w", err)
	}
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("data.record: %w", err)
	}
	doc, err := io.ReadAll(io.LimitReader(unpack, maxRecord))
	if err != nil {
		return nil, fmt.Errorf("data.record: %w", err)
	}
	rec := &record{version: secret.GetResourceVersion()}
	if err := json.Unmarshal(doc, rec); err != nil {
		return nil, fmt.Errorf("data.record: %w", err)
	}
	return rec, nil
}

// save writes the record of an application. Whoever has written it in between is
// another process of this agent, which leads then.
func (a *app) save(ctx context.Context) error {
	doc, err := json.Marshal(a.rec)
	if err != nil {
		return fmt.Errorf("keep the record: %w", err)
	}
	if bytes.Equal(doc, a.saved) {
		return nil
	}
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	if _, err := pack.Write(doc); err != nil {
		return fmt.Errorf("keep the record: %w", err)
	}
	if err := pack.Close(); err != nil {
		return fmt.Errorf("keep the record: %w", err)
	}
	home := a.r.cfg.Home
	secret := applying.Named(secrets, object.Key{Kind: "Secret", Namespace: a.r.cfg.Namespace, Name: secretOf(a.key)})
	secret.SetLabels(map[string]string{labelRecord: a.r.cfg.Agent})
	secret.Object["data"] = map[string]any{"record": base64.StdEncoding.EncodeToString(packed.Bytes())}
	write := home.Create
	if a.rec.version != "" {
		secret.SetResourceVersion(a.rec.version)
		write = home.Replace
	}
	saved, err := write(ctx, secret, object.Manager)
	if err != nil {
		return fmt.Errorf("keep the record: %w", err)
	}
	a.rec.version, a.saved = saved.GetResourceVersion(), doc
	return nil
}

// inventory is what was applied, by object. It is kept as a list, in order.
type inventory map[object.Key]kept

// MarshalJSON writes the list.
func (i inventory) MarshalJSON() ([]byte, error) {
	list := slices.SortedFunc(maps.Values(i), func(a, b kept) int { return compareKeys(a.Key, b.Key) })
	return json.Marshal(list)
}

// UnmarshalJSON reads the list.
func (i *inventory) UnmarshalJSON(doc []byte) error {
	var list []kept
	if err := json.Unmarshal(doc, &list); err != nil {
		return err
	}
	*i = make(inventory, len(list))
	for _, one := range list {
		(*i)[one.Key] = one
	}
	return nil
}

func compareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
