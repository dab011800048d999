// Package protocol has what a GitOps agent and the control plane say to each
// other, below /v1/delegate/gitops (semantics/gitops §2).
//
// Every message may come twice: documents go by their versions, reports by fence
// and number, requests by their ids.
package protocol

import (
	"encoding/json"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// Agent names an agent: an entity of the kind gitopsAgent.
type Agent struct {
	Org     string `json:"org,omitempty"`
	Project string `json:"project,omitempty"`
	ID      string `json:"id"`
}

// Lead is who speaks for an agent. Of several processes the one with the highest
// fence leads; what others send is refused (LEASE_LOST).
type Lead struct {
	Agent Agent `json:"agent"`
	Fence int64 `json:"fence"`
}

// Hello is an agent's first message, and its first after it took the lead.
type Hello struct {
	Lead
	Delegate   string `json:"delegate,omitempty"` // the id of the delegate that it is, too; it hears of news over its socket
	Version    string `json:"version"`
	ClusterUID string `json:"clusterUID"` // the uid of the namespace kube-system
	Kubernetes string `json:"kubernetesVersion,omitempty"`
	Namespace  string `json:"namespace"`
}

// Welcome answers Hello.
type Welcome struct {
	ReportMin time.Duration `json:"reportMin"` // between reports
	PollEvery time.Duration `json:"pollEvery"` // between Polls that nothing woke
	// Quiet is as PollEvery, for an agent that hears over its delegate's socket that
	// there is news; 0: PollEvery.
	Quiet time.Duration `json:"quiet,omitempty"`
	Seq   int64         `json:"seq"` // of the last report that was taken in from this fence
}

// Poll asks what is new. What the agent has is said by numbers that the server
// gave; 0: nothing.
type Poll struct {
	Lead
	Documents int64  `json:"documents"`
	Requests  int64  `json:"requests"`
	Digest    string `json:"digest,omitempty"` // as in Report
}

// News answers Poll.
type News struct {
	// Documents is the number of what is saved now. If it isn't the agent's, it asks
	// for Documents.
	Documents int64 `json:"documents"`
	// Requests is the number of what was asked now; Open are those that nobody has
	// answered, if it isn't the agent's.
	Requests int64     `json:"requests"`
	Open     []Request `json:"open,omitempty"`
	Resync   bool      `json:"resync,omitempty"` // report all applications
}

// Have asks for the documents by what the agent has of them.
type Have struct {
	Lead
	Versions map[string]int64 `json:"versions,omitempty"` // Document.ID -> Document.Version
}

// Documents answers Have.
type Documents struct {
	Version int64      `json:"version"` // News.Documents
	Upserts []Document `json:"upserts,omitempty"`
	Deletes []string   `json:"deletes,omitempty"`
	More    bool       `json:"more,omitempty"` // ask again with these
}

// The kinds of documents.
const (
	KindApplication    = "Application"    // gitops.Application
	KindApplicationSet = "ApplicationSet" // appset.Set
	KindProject        = "AppProject"     // gitops.Project
	KindRepository     = "Repository"     // access.Repository
	KindCluster        = "Cluster"        // access.Cluster
	KindCertificate    = "Certificate"    // []access.Certificate
	KindKey            = "Key"            // []access.Key
	KindSettings       = "Settings"       // access.Settings
)

// Document is one that the agent keeps.
type Document struct {
	ID      string          `json:"id"` // opaque
	Kind    string          `json:"kind"`
	Version int64           `json:"version"`
	Body    json.RawMessage `json:"body"` // of the type of Kind
}

// AppKey names an application of an agent. Names are unique within a namespace;
// empty is the agent's own. Sets of applications are named so, too (SetKey).
type AppKey struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is the name, behind its namespace if it has one.
func (k AppKey) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// setsNamespace is one that no cluster has.
const setsNamespace = "applicationsets:"

// SetKey names a set of applications, of which is reported and asked as of an
// application.
func SetKey(name string) AppKey { return AppKey{Namespace: setsNamespace, Name: name} }

// IsSet says whether a key is a set's.
func (k AppKey) IsSet() bool { return k.Namespace == setsNamespace }

// Summary is what of an application is known to the control plane.
type Summary struct {
	Sync       SyncSummary         `json:"sync"`
	Health     gitops.HealthStatus `json:"health"`
	Operation  *OperationSummary   `json:"operation,omitempty"` // the last one, or the one under way
	Requested  *OperationSummary   `json:"requested,omitempty"` // the last before it that somebody asked for
	Counts     Counts              `json:"counts"`
	Conditions []gitops.Condition  `json:"conditions,omitempty"`
	Images     []string            `json:"images,omitempty"`
	URLs       []string            `json:"urls,omitempty"`
	Rollouts   []string            `json:"rollouts,omitempty"` // of Argo's, as namespace/name
	Hold       string              `json:"hold,omitempty"`     // the revision that it is held at
	Generated  *Generated          `json:"generated,omitempty"`
	Set        *Set                `json:"set,omitempty"` // of a set, which has nothing else
}

// Generated is an application that is no document: a set's.
type Generated struct {
	Set         string             `json:"set"`
	Application gitops.Application `json:"application"`
	Deleting    bool               `json:"deleting,omitempty"`
}

// Set is what is known of a set.
type Set struct {
	Conditions   []SetCondition `json:"conditions"`
	Applications []string       `json:"applications,omitempty"` // that are its own, by name
	Statuses     []SetStatus    `json:"applicationStatus,omitempty"`
}

// SetStatus is how far an application is in its set's steps, in Argo CD's words.
type SetStatus struct {
	Application        string    `json:"application"`
	Status             string    `json:"status"` // Waiting, Pending, Progressing or Healthy
	Step               string    `json:"step"`
	TargetRevisions    []string  `json:"targetRevisions,omitempty"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// SetCondition is one of a set, in Argo CD's words.
type SetCondition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"` // True or False
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// OperationOf is the operation that a request began; nil if it can't be seen, since
// it hasn't begun or others have hidden it.
func (s Summary) OperationOf(request string) *OperationSummary {
	for _, o := range []*OperationSummary{s.Operation, s.Requested} {
		if o != nil && o.Request == request {
			return o
		}
	}
	return nil
}

// Hidden says whether others that were asked for hide the operation of a request
// that was made at a time. Operations of one application follow each other, so it
// has ended. The time is another clock's than the agent's.
func (s Summary) Hidden(request string, at time.Time) bool {
	const apart = 5 * time.Second
	return s.OperationOf(request) == nil && s.Requested != nil && s.Requested.StartedAt.After(at.Add(apart))
}

// SyncSummary is gitops.SyncStatus without what was compared.
type SyncSummary struct {
	Status    gitops.SyncCode `json:"status"`
	Revision  string          `json:"revision,omitempty"`
	Revisions []string        `json:"revisions,omitempty"`
}

// OperationSummary is gitops.OperationState without what was done to each object.
type OperationSummary struct {
	Phase      gitops.OperationPhase `json:"phase"`
	Message    string                `json:"message,omitempty"`
	Request    string                `json:"request,omitempty"` // whose operation it is
	By         gitops.Initiator      `json:"by,omitzero"`
	StartedAt  time.Time             `json:"startedAt"`
	FinishedAt *time.Time            `json:"finishedAt,omitempty"`
	Retry      int64                 `json:"retry,omitempty"`
}

// Counts are how many objects there are, and of what sorts.
type Counts struct {
	Objects   int `json:"objects"`
	OutOfSync int `json:"outOfSync,omitempty"`
	Missing   int `json:"missing,omitempty"`
	Degraded  int `json:"degraded,omitempty"`
	Orphaned  int `json:"orphaned,omitempty"`
	ToPrune   int `json:"toPrune,omitempty"`
}

// The bounds of a report.
const (
	MaxApps    = 200
	MaxHistory = 200
)

// Report says what has changed since the last one. Seq counts the reports of a
// fence from 1 on; one that comes again changes nothing.
type Report struct {
	Lead
	Seq     int64     `json:"seq"`
	Apps    []App     `json:"apps,omitempty"`
	History []History `json:"history,omitempty"`
	// Digest is of all summaries of the agent once this report is taken in.
	Digest string `json:"digest,omitempty"`
}

// App is what is new of an application.
type App struct {
	AppKey
	Summary *Summary `json:"summary"` // nil: it is gone
}

// History is a sync that succeeded.
type History struct {
	App   AppKey              `json:"app"`
	Entry gitops.HistoryEntry `json:"entry"`
}

// Reported answers Report.
type Reported struct {
	Seq       int64         `json:"seq"`
	Resync    bool          `json:"resync,omitempty"` // report all applications
	ReportMin time.Duration `json:"reportMin"`
}
