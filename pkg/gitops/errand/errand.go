// Package errand is what the GitOps steps of pipelines have done by delegates: the
// pull requests of a release repository, and what is asked of the agents whose
// applications a stage is about (semantics/gitops §17).
//
// A delegate does a pull request itself. What applications there are, and how they
// fare, only the control plane knows: there the delegate asks it, by what its task
// says, and no more than that is answered (pkg/gitops/mirror).
package errand

import (
	"encoding/json"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/amend"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The kinds of their tasks.
const (
	KindApplications task.Kind = "gitops"
	KindRelease      task.Kind = "gitops-release"
)

// Stage is what a stage deploys where.
type Stage struct {
	Service     string    `json:"service"` // as the stage names it
	Environment string    `json:"environment"`
	Clusters    []Cluster `json:"clusters"`
}

// Cluster is one that an agent looks after.
type Cluster struct {
	Identifier string `json:"identifier"`
	Agent      string `json:"agentIdentifier"` // a reference
	Name       string `json:"name,omitempty"`  // what applications call it
	Server     string `json:"server,omitempty"`
}

// Op is what is to be done with applications.
type Op string

// The operations, one for each step type.
const (
	OpFetch     Op = "GitOpsFetchLinkedApps"
	OpSync      Op = "GitOpsSync"
	OpRollback  Op = "GitOpsRollback"
	OpDetails   Op = "GitOpsGetAppDetails"
	OpUpdateApp Op = "UpdateGitOpsApp"
	OpRollout   Op = "GitOpsRollout"
)

// Applications is the spec of a task about applications.
type Applications struct {
	Op     Op     `json:"op"`
	Stage  Stage  `json:"stage"`
	Choice Choice `json:"choice"`
	// Sets are files with application sets: what they make is the service's. nil: there
	// are none.
	Sets *Files `json:"sets,omitempty"`

	Sync     *gitops.Operation `json:"sync,omitempty"`
	Rollback *Rollback         `json:"rollback,omitempty"`
	Wait     *Wait             `json:"wait,omitempty"`
	// Hard has applications compared anew by nothing that is remembered, before they are
	// looked at.
	Hard bool `json:"hard,omitempty"`
	// Update is what is to be other in an application's document; one without anything
	// makes it what it was before the stage.
	Update *amend.Change `json:"update,omitempty"`
	// Promote is the action that a sync does to the Rollouts of Argo's that pause after
	// it; empty: none.
	Promote string `json:"promote,omitempty"`
	// Rollout is what is waited for and done of a Rollout of Argo's.
	Rollout *Rollout `json:"rollout,omitempty"`
}

// Files are some of a Git repository.
type Files struct {
	Git task.Git `json:"git"` // with their paths
}

// Rollout names one of Argo's, and says how it is to fare before what is done to it.
type Rollout struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Action    string            `json:"action,omitempty"`  // empty: none
	Health    gitops.HealthCode `json:"health,omitempty"`  // that is waited for; empty: nothing is
	Message   string            `json:"message,omitempty"` // a regular expression of its health's message
	Fail      bool              `json:"fail,omitempty"`    // if the time is up before
}

// Rollback says how far applications go back for which that isn't said by themselves.
type Rollback struct {
	Steps int  `json:"steps"`
	Prune bool `json:"prune,omitempty"`
}

// Choice says which applications are meant: one of the first three, else those that
// the stage's service, environment and clusters lead to.
type Choice struct {
	Named   []Named  `json:"named,omitempty"`
	Pattern string   `json:"pattern,omitempty"` // a regular expression that finds something in the name
	Labels  []string `json:"labels,omitempty"`  // key:value, or a text that is part of something
	// AnyService takes those of the clusters, whatever service they are of.
	AnyService bool `json:"anyService,omitempty"`
}

// By says whether applications are chosen by something that a step says.
func (c Choice) By() bool { return len(c.Named)+len(c.Labels) > 0 || c.Pattern != "" }

// Named is an application.
type Named struct {
	Agent string `json:"agent"` // a reference
	Name  string `json:"name"`
	// Request is one about it that the delegate knows of.
	Request string `json:"request,omitempty"`
	// Resources are the objects that a sync is about; none: all.
	Resources []object.Key `json:"resources,omitempty"`
	// History is the entry that a rollback goes back to; 0: Steps say it, and if they
	// are 0, too, those of the step.
	History int64 `json:"history,omitempty"`
	Steps   int   `json:"steps,omitempty"`
}

// Wait is how long a sync waits for what it has begun.
type Wait struct {
	Healthy   bool          `json:"healthy,omitempty"`
	Fail      bool          `json:"fail,omitempty"`     // if the time is up before
	Degraded  time.Duration `json:"degraded,omitempty"` // for so long is failed; 0: is waited out
	Resources bool          `json:"resources,omitempty"`
}

// Do is what a delegate asks of the control plane.
type Do string

// The questions.
const (
	DoFind     Do = "find"     // which applications are meant
	DoRefresh  Do = "refresh"  // compare them anew
	DoSync     Do = "sync"     // as the task says
	DoRollback Do = "rollback" // likewise
	DoDetails  Do = "details"  // all that is known of them
	DoUpdate   Do = "update"   // their documents, as the task says
	DoRollout  Do = "rollout"  // how the task's is, as soon as that isn't what was seen
	DoAct      Do = "act"      // to the task's Rollout
	DoLook     Do = "look"     // how they are, and what became of requests
)

// MaxApplications bounds how many applications a step is about.
const MaxApplications = 1000

// Ask is a question of the delegate that holds a task.
type Ask struct {
	Fence int64   `json:"fence"`
	Do    Do      `json:"do"`
	Round int     `json:"round,omitempty"` // of refreshes: another number is another request
	Apps  []Named `json:"apps,omitempty"`  // but for find
	// Sets are the names of the application sets that the task's files have.
	Sets []string `json:"sets,omitempty"`
	Seen string   `json:"seen,omitempty"` // of a Rollout: protocol.Rollout.Sum
}

// Answer answers it.
type Answer struct {
	Apps []App `json:"apps" nullable:"false"`
	// Left are those that were chosen and aren't the stage's, each with the reason.
	Left []string `json:"left,omitempty"`
}

// App is an application, as far as it is known.
type App struct {
	Agent      string            `json:"agent"`
	Name       string            `json:"name"`
	Sources    []string          `json:"sources,omitempty"` // URLs, of find
	Summary    *protocol.Summary `json:"summary,omitempty"` // nil: its agent has said nothing of it
	ReportedAt time.Time         `json:"reportedAt,omitzero"`
	Request    *Request          `json:"request,omitempty"`
	Document   json.RawMessage   `json:"document,omitempty"` // of details: an Application with its status
	Change     Change            `json:"change,omitempty"`   // of update
}

// Change is what became of a document.
type Change string

// The changes.
const (
	Changed   Change = "changed"
	Unchanged Change = "unchanged" // it says so already
	Restored  Change = "restored"
	Untouched Change = "untouched" // no earlier step of the stage has changed it
)

// Before is the key of the stage's checkpoint with what an application's document was
// before the stage changed it.
func Before(agent, name string) string { return "document of application " + agent + "/" + name }

// Request is one about an application, and what became of it.
type Request struct {
	ID     string           `json:"id"`
	At     time.Time        `json:"at"`
	Result *protocol.Result `json:"result,omitempty"` // nil: nobody has answered it
}

// Done is what the outputs of a step about applications have.
type Done struct {
	GitOps struct {
		Applications []Seen `json:"applications"`
		// Rollouts are those of Argo's that the applications have, of GitOpsSync.
		Rollouts []DiscoveredRollout `json:"discoveredRollouts,omitempty"`
		// Rollout is of GitOpsRollout.
		Rollout *SeenRollout `json:"rollout,omitempty"`
	} `json:"gitops"`
}

// DiscoveredRollout names a Rollout of Argo's for a later GitOpsRollout.
type DiscoveredRollout struct {
	Agent       string `json:"agentIdentifier"`
	Application string `json:"appName"`
	Rollout     string `json:"rolloutName"`
	Namespace   string `json:"namespace"`
}

// SeenRollout is a Rollout of Argo's as expressions read it.
type SeenRollout struct {
	Status   gitops.HealthCode `json:"status"`
	Message  string            `json:"message"`
	Strategy string            `json:"strategy"`
	Step     int64             `json:"currentStep"`
	Weight   int64             `json:"weight"`
}

// Seen is an application as expressions read it.
type Seen struct {
	Name     string            `json:"name"`
	Agent    string            `json:"agentIdentifier"`
	URL      string            `json:"url"` // of the application in the API
	Sync     gitops.SyncCode   `json:"syncStatus,omitempty"`
	Health   gitops.HealthCode `json:"healthStatus,omitempty"`
	Revision string            `json:"revision,omitempty"`
	App      json.RawMessage   `json:"app,omitempty"` // of GitOpsGetAppDetails
}
