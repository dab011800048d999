// Package display is what the API gives people of GitOps, and takes from them:
// agents, applications with what is known of them, and requests. What they mean is
// for pkg/gitops and pkg/gitops/protocol.
package display

import (
	"encoding/json"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// Agent is an agent, with what it has said of itself.
type Agent struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Org       string    `json:"org,omitempty"`
	Project   string    `json:"project,omitempty"`
	Connected bool      `json:"connected" doc:"It was heard of lately"`
	LastSeen  time.Time `json:"lastSeen,omitzero" doc:"When it last said that something has changed"`
	Version   string    `json:"version,omitempty"`
	Namespace string    `json:"namespace,omitempty"`
	// ClusterUID tells clusters apart.
	ClusterUID string `json:"clusterUID,omitempty"`
	Kubernetes string `json:"kubernetesVersion,omitempty"`
}

// AgentList is a part of the list of agents.
type AgentList struct {
	Agents        []Agent `json:"agents" nullable:"false"`
	NextPageToken string  `json:"nextPageToken,omitempty"`
}

// Application is an application, with what its agent has said of it.
type Application struct {
	Agent       string             `json:"agent" doc:"As a reference, e.g. eu1 or account.eu1"`
	Name        string             `json:"name"`
	Org         string             `json:"org,omitempty"`
	Project     string             `json:"project,omitempty"`
	ArgoProject string             `json:"argoProject,omitempty"`
	Version     int64              `json:"version" doc:"Of the document; 0: it is none, but an application set's"`
	Set         string             `json:"applicationSet,omitempty" doc:"Whose it is, if it is no document"`
	Known       bool               `json:"known" doc:"The agent has reported it"`
	Summary     *protocol.Summary  `json:"summary,omitempty"`
	ReportedAt  time.Time          `json:"reportedAt,omitzero"`
	Application json.RawMessage    `json:"application,omitempty" doc:"Argo CD's object, as JSON; lists leave it out"`
	Destination gitops.Destination `json:"destination"`
	Sources     []gitops.Source    `json:"sources" nullable:"false"`
	SyncPolicy  string             `json:"syncPolicy" doc:"Manual or Auto, with what it does besides"`
}

// ApplicationList is a part of the list of applications.
type ApplicationList struct {
	Applications  []Application `json:"applications" nullable:"false"`
	NextPageToken string        `json:"nextPageToken,omitempty"`
}

// Request is what was asked of an agent, and what became of it.
type Request struct {
	protocol.Request
	Result *protocol.Result `json:"result,omitempty" doc:"None: the agent hasn't answered"`
}

// HistoryList is a part of the history of an application.
type HistoryList struct {
	History       []gitops.HistoryEntry `json:"history" nullable:"false"`
	NextPageToken string                `json:"nextPageToken,omitempty"`
}

// Sync is how an application is to be synced. What isn't said is the
// application's own.
type Sync struct {
	Revision    string        `json:"revision,omitempty" maxLength:"256"`
	Revisions   []string      `json:"revisions,omitempty" maxItems:"50" doc:"Of an application with several sources: of each"`
	Prune       bool          `json:"prune,omitempty"`
	DryRun      bool          `json:"dryRun,omitempty"`
	Force       bool          `json:"force,omitempty" doc:"Make anew what can't be changed"`
	Apply       bool          `json:"applyOnly,omitempty" doc:"Without hooks"`
	Resources   []object.Key  `json:"resources,omitempty" maxItems:"500" doc:"These objects alone"`
	SyncOptions []string      `json:"syncOptions,omitempty" maxItems:"50" doc:"In place of the application's"`
	Info        []gitops.Info `json:"infos,omitempty" maxItems:"50"`
	Retry       *gitops.Retry `json:"retry,omitempty" doc:"In place of the application's"`
}

// Rollback says where an application is to go back to.
type Rollback struct {
	ID     int64 `json:"id" minimum:"0" doc:"Of its history"`
	Prune  bool  `json:"prune,omitempty"`
	DryRun bool  `json:"dryRun,omitempty"`
}

// Named names an application in a path.
type Named struct {
	Agent string `path:"agent" maxLength:"160" doc:"As a reference, e.g. eu1 or account.eu1"`
	Name  string `path:"name" maxLength:"253"`
}
