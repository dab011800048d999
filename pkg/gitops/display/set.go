package display

import (
	"encoding/json"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// ApplicationSet is a set of applications, with what its agent has said of it.
type ApplicationSet struct {
	Agent        string                  `json:"agent" doc:"As a reference, e.g. eu1 or account.eu1"`
	Name         string                  `json:"name"`
	Org          string                  `json:"org,omitempty"`
	Project      string                  `json:"project,omitempty"`
	ArgoProject  string                  `json:"argoProject,omitempty" doc:"Of its template, which may hold parameters"`
	Version      int64                   `json:"version" doc:"Of the document"`
	Generators   []string                `json:"generators" nullable:"false" doc:"Their kinds"`
	SyncPolicy   string                  `json:"applicationsSync" doc:"What it may do to its applications"`
	Preserves    bool                    `json:"preserveResourcesOnDeletion,omitempty"`
	Sources      []SetSource             `json:"sources" nullable:"false" doc:"Of its template"`
	Known        bool                    `json:"known" doc:"The agent has reported it"`
	ReportedAt   time.Time               `json:"reportedAt,omitzero"`
	Conditions   []protocol.SetCondition `json:"conditions" nullable:"false"`
	Applications []string                `json:"applications" nullable:"false" doc:"That are its own; lists have no more than their number"`
	Count        int                     `json:"applicationCount"`
	Statuses     []protocol.SetStatus    `json:"applicationStatus,omitempty" doc:"How far each is in the steps of a set that has some; lists leave it out"`
	Set          json.RawMessage         `json:"applicationSet,omitempty" doc:"Argo CD's object, as JSON; lists leave it out"`
}

// SetSource is a source of a template, in the words of argocd's lists.
type SetSource struct {
	RepoURL        string `json:"repoURL"`
	Path           string `json:"path,omitempty" doc:"Or the chart"`
	TargetRevision string `json:"targetRevision,omitempty"`
}

// ApplicationSetList is a part of the list of sets.
type ApplicationSetList struct {
	Sets          []ApplicationSet `json:"applicationSets" nullable:"false"`
	NextPageToken string           `json:"nextPageToken,omitempty"`
}

// Generate is a set that isn't saved.
type Generate struct {
	YAML string `json:"yaml" maxLength:"524288" doc:"The document: Argo CD's, or in Harness's envelope"`
}
