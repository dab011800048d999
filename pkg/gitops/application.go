package gitops

import "encoding/json"

// Application is what of a repository is to be in which cluster.
type Application struct {
	Meta Meta            `json:"metadata"`
	Spec ApplicationSpec `json:"spec"`
	// Operation is the request for a sync that came with the document; it is made
	// once.
	Operation *Operation `json:"operation,omitempty"`
	// Status is the agent's.
	Status *ApplicationStatus `json:"status,omitempty"`
}

// ApplicationSpec is what is wanted.
type ApplicationSpec struct {
	Project              string       `json:"project"` // empty: default
	Destination          Destination  `json:"destination"`
	Source               *Source      `json:"source,omitempty"` // Sources come before it
	Sources              []Source     `json:"sources,omitempty"`
	SyncPolicy           *SyncPolicy  `json:"syncPolicy,omitempty"`
	IgnoreDifferences    []IgnoreRule `json:"ignoreDifferences,omitempty"`
	Info                 []Info       `json:"info,omitempty"`
	RevisionHistoryLimit *int         `json:"revisionHistoryLimit,omitempty"` // nil: 10
}

// All are the sources of an application, of which it has one or several.
func (s *ApplicationSpec) All() []Source {
	switch {
	case len(s.Sources) > 0:
		return s.Sources
	case s.Source != nil:
		return []Source{*s.Source}
	}
	return nil
}

// Destination is a cluster, by exactly one of its address and its name, and the
// namespace of what names none.
type Destination struct {
	Server    string `json:"server,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// SyncPolicy is when an application is synced without being asked, and how.
type SyncPolicy struct {
	Automated                *Automated         `json:"automated,omitempty"`
	SyncOptions              []string           `json:"syncOptions,omitempty"`
	Retry                    *Retry             `json:"retry,omitempty"`
	ManagedNamespaceMetadata *NamespaceMetadata `json:"managedNamespaceMetadata,omitempty"`
}

// Automated syncs by itself what is out of sync.
type Automated struct {
	Enabled    *bool `json:"enabled,omitempty"` // nil: yes
	Prune      bool  `json:"prune,omitempty"`
	SelfHeal   bool  `json:"selfHeal,omitempty"`
	AllowEmpty bool  `json:"allowEmpty,omitempty"`
}

// On says whether an application is synced without being asked.
func (p *SyncPolicy) On() bool {
	return p != nil && p.Automated != nil && (p.Automated.Enabled == nil || *p.Automated.Enabled)
}

// Retry is how often a sync that failed is tried again.
type Retry struct {
	Limit   int64    `json:"limit,omitempty"` // 0: never; -1: for ever
	Refresh bool     `json:"refresh,omitempty"`
	Backoff *Backoff `json:"backoff,omitempty"`
}

// Backoff is how long the tries are apart: Duration × Factor^n, at most
// MaxDuration. Durations are Go's, or seconds.
type Backoff struct {
	Duration    string `json:"duration,omitempty"`    // empty: 5s
	Factor      *int64 `json:"factor,omitempty"`      // nil: 2
	MaxDuration string `json:"maxDuration,omitempty"` // empty: 3m
}

// NamespaceMetadata is put on the namespace that a sync makes.
type NamespaceMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// IgnoreRule names fields in which a target and what is live may differ. Group and
// Kind are globs.
type IgnoreRule struct {
	Group                 string   `json:"group,omitempty"`
	Kind                  string   `json:"kind"`
	Name                  string   `json:"name,omitempty"`
	Namespace             string   `json:"namespace,omitempty"`
	JSONPointers          []string `json:"jsonPointers,omitempty"`
	JQPathExpressions     []string `json:"jqPathExpressions,omitempty"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers,omitempty"`
}

// Source is where manifests come from and what renders them.
type Source struct {
	RepoURL        string     `json:"repoURL"`
	Path           string     `json:"path,omitempty"`
	TargetRevision string     `json:"targetRevision,omitempty"` // empty: HEAD
	Chart          string     `json:"chart,omitempty"`
	Ref            string     `json:"ref,omitempty"`
	Name           string     `json:"name,omitempty"`
	TagPrefix      string     `json:"tagPrefix,omitempty"`
	Helm           *Helm      `json:"helm,omitempty"`
	Kustomize      *Kustomize `json:"kustomize,omitempty"`
	Directory      *Directory `json:"directory,omitempty"`
	Plugin         *Plugin    `json:"plugin,omitempty"`
}

// Helm is how a chart is rendered.
type Helm struct {
	ValueFiles              []string            `json:"valueFiles,omitempty"`
	Parameters              []HelmParameter     `json:"parameters,omitempty"`
	FileParameters          []HelmFileParameter `json:"fileParameters,omitempty"`
	ReleaseName             string              `json:"releaseName,omitempty"`
	Values                  string              `json:"values,omitempty"`
	ValuesObject            json.RawMessage     `json:"valuesObject,omitempty"` // a JSON object
	IgnoreMissingValueFiles bool                `json:"ignoreMissingValueFiles,omitempty"`
	SkipCrds                bool                `json:"skipCrds,omitempty"`
	SkipTests               bool                `json:"skipTests,omitempty"`
	SkipSchemaValidation    bool                `json:"skipSchemaValidation,omitempty"`
	PassCredentials         bool                `json:"passCredentials,omitempty"`
	Version                 string              `json:"version,omitempty"`
	Namespace               string              `json:"namespace,omitempty"`
	KubeVersion             string              `json:"kubeVersion,omitempty"`
	APIVersions             []string            `json:"apiVersions,omitempty"`
}

// HelmParameter is a value as by helm's --set, or by --set-string.
type HelmParameter struct {
	Name        string `json:"name,omitempty"`
	Value       string `json:"value,omitempty"`
	ForceString bool   `json:"forceString,omitempty"`
}

// HelmFileParameter is a value as by helm's --set-file.
type HelmFileParameter struct {
	Name string `json:"name,omitempty"`
	Path string `json:"path,omitempty"`
}

// Kustomize is what is set in a kustomization before it is built.
type Kustomize struct {
	NamePrefix                string             `json:"namePrefix,omitempty"`
	NameSuffix                string             `json:"nameSuffix,omitempty"`
	Images                    []string           `json:"images,omitempty"`
	CommonLabels              map[string]string  `json:"commonLabels,omitempty"`
	CommonAnnotations         map[string]string  `json:"commonAnnotations,omitempty"`
	ForceCommonLabels         bool               `json:"forceCommonLabels,omitempty"`
	ForceCommonAnnotations    bool               `json:"forceCommonAnnotations,omitempty"`
	CommonAnnotationsEnvsubst bool               `json:"commonAnnotationsEnvsubst,omitempty"`
	LabelWithoutSelector      bool               `json:"labelWithoutSelector,omitempty"`
	LabelIncludeTemplates     bool               `json:"labelIncludeTemplates,omitempty"`
	Namespace                 string             `json:"namespace,omitempty"`
	Replicas                  []KustomizeReplica `json:"replicas,omitempty"`
	Patches                   []KustomizePatch   `json:"patches,omitempty"`
	Components                []string           `json:"components,omitempty"`
	IgnoreMissingComponents   bool               `json:"ignoreMissingComponents,omitempty"`
	Version                   string             `json:"version,omitempty"`
	KubeVersion               string             `json:"kubeVersion,omitempty"`
	APIVersions               []string           `json:"apiVersions,omitempty"`
}

// KustomizeReplica is a number of replicas, which is a number or its text.
type KustomizeReplica struct {
	Name  string          `json:"name"`
	Count json.RawMessage `json:"count"`
}

// KustomizePatch is a patch and what it is for.
type KustomizePatch struct {
	Path    string           `json:"path,omitempty"`
	Patch   string           `json:"patch,omitempty"`
	Target  *KustomizeTarget `json:"target,omitempty"`
	Options map[string]bool  `json:"options,omitempty"`
}

// KustomizeTarget says which objects a patch is for.
type KustomizeTarget struct {
	Group              string `json:"group,omitempty"`
	Version            string `json:"version,omitempty"`
	Kind               string `json:"kind,omitempty"`
	Name               string `json:"name,omitempty"`
	Namespace          string `json:"namespace,omitempty"`
	LabelSelector      string `json:"labelSelector,omitempty"`
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}

// Directory is a folder of plain manifests.
type Directory struct {
	Recurse                bool     `json:"recurse,omitempty"`
	Include                string   `json:"include,omitempty"`
	Exclude                string   `json:"exclude,omitempty"`
	Jsonnet                *Jsonnet `json:"jsonnet,omitempty"`
	DisableExtensionFilter bool     `json:"disableExtensionFilter,omitempty"`
}

// Jsonnet is what a folder's Jsonnet files are given.
type Jsonnet struct {
	ExtVars []JsonnetVar `json:"extVars,omitempty"`
	TLAs    []JsonnetVar `json:"tlas,omitempty"`
	Libs    []string     `json:"libs,omitempty"`
}

// JsonnetVar is a text, or code.
type JsonnetVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Code  bool   `json:"code,omitempty"`
}

// Plugin renders by a program of the agent's.
type Plugin struct {
	Name       string            `json:"name,omitempty"`
	Env        []Info            `json:"env,omitempty"`
	Parameters []PluginParameter `json:"parameters,omitempty"`
}

// PluginParameter is a text, a list or texts by name.
type PluginParameter struct {
	Name   string            `json:"name,omitempty"`
	String *string           `json:"string,omitempty"`
	Array  []string          `json:"array,omitempty"`
	Map    map[string]string `json:"map,omitempty"`
}
