package gitops

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// ApplicationStatus is what an agent found and did.
type ApplicationStatus struct {
	Sync           SyncStatus       `json:"sync,omitzero"`
	Health         HealthStatus     `json:"health,omitzero"`
	Resources      []ResourceStatus `json:"resources,omitempty"`
	History        []HistoryEntry   `json:"history,omitempty"` // oldest first
	Conditions     []Condition      `json:"conditions,omitempty"`
	ReconciledAt   *time.Time       `json:"reconciledAt,omitempty"`
	OperationState *OperationState  `json:"operationState,omitempty"`
	Summary        Summary          `json:"summary,omitzero"`
}

// SyncCode says whether what is live is what is wanted.
type SyncCode string

// The verdicts of a comparison.
const (
	Synced      SyncCode = "Synced"
	OutOfSync   SyncCode = "OutOfSync"
	SyncUnknown SyncCode = "Unknown"
)

// SyncStatus is a verdict and what was compared.
type SyncStatus struct {
	Status     SyncCode   `json:"status,omitempty"`
	ComparedTo ComparedTo `json:"comparedTo,omitzero"`
	Revision   string     `json:"revision,omitempty"`
	Revisions  []string   `json:"revisions,omitempty"` // beside sources
}

// ComparedTo is what a verdict is about.
type ComparedTo struct {
	Source            *Source      `json:"source,omitempty"`
	Sources           []Source     `json:"sources,omitempty"`
	Destination       Destination  `json:"destination"`
	IgnoreDifferences []IgnoreRule `json:"ignoreDifferences,omitempty"`
}

// HealthCode says how something fares.
type HealthCode string

// How things fare, the best first.
const (
	Healthy       HealthCode = "Healthy"
	Suspended     HealthCode = "Suspended"
	Progressing   HealthCode = "Progressing"
	Missing       HealthCode = "Missing"
	Degraded      HealthCode = "Degraded"
	HealthUnknown HealthCode = "Unknown"
)

// HealthStatus is how something fares, and why.
type HealthStatus struct {
	Status             HealthCode `json:"status,omitempty"`
	Message            string     `json:"message,omitempty"`
	LastTransitionTime *time.Time `json:"lastTransitionTime,omitempty"`
}

// ResourceStatus is the verdict on one object.
type ResourceStatus struct {
	object.Key
	Version                 string        `json:"version,omitempty"`
	Status                  SyncCode      `json:"status,omitempty"`
	Health                  *HealthStatus `json:"health,omitempty"` // nil: its kind has none
	Hook                    bool          `json:"hook,omitempty"`
	RequiresPruning         bool          `json:"requiresPruning,omitempty"`
	RequiresDeletionConfirm bool          `json:"requiresDeletionConfirmation,omitempty"`
	SyncWave                int64         `json:"syncWave,omitempty"`
}

// HistoryEntry is a sync that succeeded.
type HistoryEntry struct {
	ID              int64     `json:"id"`
	Revision        string    `json:"revision,omitempty"`
	Revisions       []string  `json:"revisions,omitempty"`
	Source          *Source   `json:"source,omitempty"`
	Sources         []Source  `json:"sources,omitempty"`
	DeployStartedAt time.Time `json:"deployStartedAt,omitzero"`
	DeployedAt      time.Time `json:"deployedAt"`
	InitiatedBy     Initiator `json:"initiatedBy,omitzero"`
}

// ConditionType is what a condition is about.
type ConditionType string

// The conditions of applications: Argo CD's and, from Held on, our own.
const (
	ConditionComparisonError   ConditionType = "ComparisonError"
	ConditionInvalidSpec       ConditionType = "InvalidSpecError"
	ConditionSyncError         ConditionType = "SyncError"
	ConditionUnknownError      ConditionType = "UnknownError"
	ConditionDeletionError     ConditionType = "DeletionError"
	ConditionSharedResource    ConditionType = "SharedResourceWarning"
	ConditionRepeatedResource  ConditionType = "RepeatedResourceWarning"
	ConditionExcludedResource  ConditionType = "ExcludedResourceWarning"
	ConditionOrphanedResource  ConditionType = "OrphanedResourceWarning"
	ConditionHeld              ConditionType = "Held"
	ConditionSyncWindow        ConditionType = "SyncWindow"
	ConditionDriftFight        ConditionType = "DriftFight"
	ConditionUnstableRender    ConditionType = "UnstableRender"
	ConditionAmbiguousRevision ConditionType = "AmbiguousRevision"
	ConditionManyObjects       ConditionType = "ManyObjects"
)

// Condition is something that people should know of an application.
type Condition struct {
	Type               ConditionType `json:"type"`
	Message            string        `json:"message"`
	LastTransitionTime *time.Time    `json:"lastTransitionTime,omitempty"`
}

// Summary is what lists show.
type Summary struct {
	ExternalURLs []string `json:"externalURLs,omitempty"`
	Images       []string `json:"images,omitempty"`
}
