// Package entity is the typed YAML of what users save: pipelines, services,
// environments and groups of them, infrastructure definitions, overrides, connectors, secrets, triggers,
// input sets, templates, user groups, freezes, policies, streaming destinations and what GitOps agents keep. It says everything that is wrong with a document,
// each finding with its place.
//
// A key has one of three outcomes: it is honoured; Harness documents it and
// Slipway can't do it yet, which is an error; nobody documents it, which is a
// warning. What a step type's spec may hold is the step type's to say, and
// whether a referenced entity exists the store's.
package entity

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/access/rbac"
	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Entity is a document that has been decoded. At most one of the pointers is
// set, that of its kind.
type Entity struct {
	Kind  ref.Kind
	Doc   *yamldoc.Node // what stands below the key of its kind
	Scope ref.Scope     // where it lives: the document's, filled up from Options.Scope
	Meta
	// Parent is the environment of an infrastructure definition or the pipeline
	// of a trigger or an input set, whose identifier is unique within it alone
	// (semantics/entities §1).
	Parent ref.Ref
	// References are the entities that this one names, in document order.
	References []Reference
	// Files are the files of the file store that it names, in document order.
	Files []FileReference

	Pipeline        *Pipeline
	Service         *Service
	Environment     *Environment
	Infrastructure  *Infrastructure
	Override        *Override // overrides and serviceOverrides
	Group           *EnvironmentGroup
	Connector       *Connector
	Secret          *Secret
	Trigger         *Trigger
	InputSet        *InputSet
	OverlayInputSet *OverlayInputSet
	Template        *Template
	UserGroup       *UserGroup
	Freeze          *freeze.Freeze
	Policy          *policy.Policy
	PolicySet       *policy.Set
	User            *rbac.Person
	Role            *rbac.Role
	ResourceGroup   *rbac.Group
	RoleAssignment  *rbac.Assignment
	LoginProvider   *sso.Provider
	Destination     *audit.Destination
	IPAllowlist     *allowlist.List
	Setting         *setting.Settings
	Variable        *ScopeVariable
	GitOpsAgent     *gitops.Agent
	Application     *gitops.Application
	ApplicationSet  *appset.Set
	AppProject      *gitops.Project
	Repository      *access.Repository // gitopsRepository and gitopsRepoCredentials
	Cluster         *access.Cluster
	Certificates    []access.Certificate // gitopsCertificate and gitopsSettings, which may have none
	Keys            []access.Key         // gitopsGpgKey and gitopsSettings
	Settings        *access.Settings

	// Values are what of a document of GitOps isn't kept in its text.
	Values argo.Values
}

// Types are the types that documents may say, each a value in a folder of its
// own. What says another is refused.
type Types struct {
	Lanes      swimlane.Lanes // of deployments
	Connectors connector.Types
	Artifacts  artifact.Types
	// Provisioners are the kinds of task by which steps make what stages deploy to.
	Provisioners swimlane.Kinds
	// Workspaces are those by which steps bring files to where others run programs.
	Workspaces swimlane.Kinds
}

// Tasks are the kinds of task that steps of deployment types and of provisioners
// start.
func (t Types) Tasks() swimlane.Kinds {
	return slices.Concat(t.Lanes.Kinds(), t.Provisioners, t.Workspaces)
}

// Options say what a document is checked against.
type Options struct {
	// Scope is where the entity is to live as far as the document doesn't say;
	// what both say must be equal.
	Scope ref.Scope
	// Identifier is the one that the caller addresses; empty if it addresses
	// none. An identifier can't be changed (semantics/entities §1).
	Identifier string
	// Steps are the step types that pipelines may name; nil: no step is checked.
	Steps step.Types
	Types
	// CheckRego says what is wrong with a text in Rego; nil: nobody knows.
	CheckRego func(text string) []policy.Problem

	// Values are those that a saved document of GitOps brings no more, by their names;
	// nil: nobody knows them.
	Values map[string]string
	// Agent is the GitOps agent that a document of Argo CD is for, as a reference;
	// the document may say it itself.
	Agent string

	qualify bool // references are rewritten, for Qualify
}

// Decode reads a document with one entity. It is nil if the document doesn't
// say which kind it has; otherwise it holds what could be read, and is good
// only if the report hasn't failed. Links to templates must have been resolved
// by pkg/template; what still is one stands for what nobody knows yet.
func Decode(doc *yamldoc.Node, r *yamldoc.Report, o Options) *Entity {
	root := yamldoc.Sub(doc, "")
	if argo.Kind(doc) != "" {
		return decodeArgo(root, r, o)
	}
	kind, ok := kindOf(root, r)
	if !ok {
		return nil
	}
	v := yamldoc.Sub(doc.Get(string(kind)), "")
	if !v.Is(yamldoc.Mapping) {
		found := "nothing"
		switch {
		case v.Is(yamldoc.Scalar): // which may be a secret
			found = "a text"
		case v.Is(yamldoc.Sequence):
			found = "a list"
		}
		r.Errorf(yamldoc.Sub(doc, string(kind)), document.WrongType, "found %s; want a mapping with the keys of a document of the kind %s", found, kind)
		return nil
	}
	e := &Entity{Kind: kind, Doc: v.Node, Scope: ref.Home(kind, o.Scope)}
	d := newDecoder(kind, r, o)
	d.scopeOf(v, e)
	if ref.OfGitOps(kind) {
		r.Texts(func() { d.entity(v, e) })
	} else {
		d.entity(v, e)
	}
	if kind != ref.Secret && kind != ref.Policy && !ref.OfGitOps(kind) { // whose texts are never expressions
		d.deferred(v)
	}
	e.References, e.Files = d.references, d.stored
	return e
}

// DecodePart is Decode for what stands below the root key of a kind.
func DecodePart(kind ref.Kind, doc *yamldoc.Node, r *yamldoc.Report, o Options) *Entity {
	root := &yamldoc.Node{Kind: yamldoc.Mapping, Line: doc.Line, Column: doc.Column, Entries: []yamldoc.Entry{{Key: string(kind), Line: doc.Line, Column: doc.Column, Value: doc}}}
	return Decode(root, r, o)
}

func newDecoder(kind ref.Kind, r *yamldoc.Report, o Options) *decoder {
	d := &decoder{Decoder: document.New(r), options: o, kind: kind}
	d.Why, d.Refer = why, d.refer
	return d
}

func (d *decoder) entity(v yamldoc.Value, e *Entity) {
	switch e.Kind {
	case ref.Organization:
		settings{d}.organization(v, e)
	case ref.Project:
		settings{d}.project(v, e)
	case ref.Pipeline:
		e.Pipeline = pipelines{d}.pipeline(v, e)
	case ref.Service:
		e.Service = services{d}.service(v, e)
	case ref.Environment:
		e.Environment = environments{d}.environment(v, e)
	case ref.Infrastructure:
		e.Infrastructure = environments{d}.infrastructure(v, e)
	case ref.EnvironmentGroup:
		e.Group = environments{d}.environmentGroup(v, e)
	case ref.Overrides:
		e.Override = environments{d}.override(v, e)
	case ref.ServiceOverrides:
		e.Override = environments{d}.serviceOverride(v, e)
	case ref.Connector:
		e.Connector = settings{d}.connector(v, e)
	case ref.Secret:
		e.Secret = settings{d}.secret(v, e)
	case ref.Trigger:
		e.Trigger = triggers{d}.trigger(v, e)
	case ref.InputSet:
		e.InputSet = inputSets{d}.inputSet(v, e)
	case ref.OverlayInputSet:
		e.OverlayInputSet = inputSets{d}.overlayInputSet(v, e)
	case ref.Template:
		e.Template = templates{d}.template(v, e)
	case ref.UserGroup:
		e.UserGroup = settings{d}.userGroup(v, e)
	case ref.Freeze:
		e.Freeze = settings{d}.freeze(v, e)
	case ref.Policy:
		e.Policy = policies{d}.policy(v, e)
	case ref.PolicySet:
		e.PolicySet = policies{d}.set(v, e)
	case ref.User:
		e.User = roles{d}.user(v, e)
	case ref.ServiceAccount:
		roles{d}.serviceAccount(v, e)
	case ref.Role:
		e.Role = roles{d}.role(v, e)
	case ref.ResourceGroup:
		e.ResourceGroup = roles{d}.resourceGroup(v, e)
	case ref.RoleAssignment:
		e.RoleAssignment = roles{d}.assignment(v, e)
	case ref.LoginProvider:
		e.LoginProvider = logins{d}.provider(v, e)
	case ref.StreamingDestination:
		e.Destination = settings{d}.streamingDestination(v, e)
	case ref.IPAllowlist:
		e.IPAllowlist = roles{d}.ipAllowlist(v, e)
	case ref.Setting:
		e.Setting = roles{d}.setting(v, e)
	case ref.Variable:
		e.Variable = settings{d}.scopeVariable(v, e)
	case ref.GitOpsAgent:
		e.GitOpsAgent = agents{d}.agent(v, e)
	case ref.GitOpsSettings:
		agents{d}.settings(v, e)
	case ref.GitOpsCertificate:
		agents{d}.certificate(v, e)
	case ref.GitOpsGPGKey:
		agents{d}.gpgKey(v, e)
	case ref.GitOpsRepoCredentials, ref.GitOpsRepository:
		e.Repository = agents{d}.repository(v, e)
	case ref.GitOpsCluster:
		e.Cluster = agents{d}.cluster(v, e)
	case ref.GitOpsProject:
		e.AppProject = agents{d}.project(v, e)
	case ref.GitOpsApplicationSet:
		e.ApplicationSet = agents{d}.applicationSet(v, e)
	case ref.GitOpsApplication:
		e.Application = agents{d}.application(v, e)
	case ref.LoginBinding: // nobody writes it
	}
}

// OtherKinds are root keys that Harness has for what Slipway doesn't save yet.
func OtherKinds() []string {
	return []string{
		"gitops", "monitoredService",
	}
}

// kindOf finds the one root key that is a kind; it reports the others.
func kindOf(root yamldoc.Value, r *yamldoc.Report) (ref.Kind, bool) {
	var known []string
	for _, k := range ref.Kinds() {
		known = append(known, string(k))
	}
	if first, ok := versionOne(root.Node); ok {
		r.Unsupported(first, "this is version 1 of Harness YAML; Slipway reads version 0, which begins with a root key such as %s", ref.Pipeline)
		return "", false
	}
	var kinds, unknown []yamldoc.Value
	for e := range r.Mapping(root) {
		switch {
		case slices.Contains(known, e.Key):
			kinds = append(kinds, e)
		case slices.Contains(OtherKinds(), e.Key):
			r.Unsupported(e, "documents of the kind %s aren't supported yet", e.Key)
			return "", false
		default:
			unknown = append(unknown, e)
		}
	}
	if len(kinds) == 1 {
		for _, e := range unknown {
			r.Unknown(e, known...)
		}
		return ref.Kind(kinds[0].Key), true
	}
	switch {
	case len(kinds) > 1:
		r.Errorf(root, unknownKind, "found %s and %s; a document has one root key", kinds[0].Key, kinds[1].Key)
	case len(unknown) > 0:
		r.Errorf(unknown[0].AtKey(), unknownKind, "found the root key %q; want one of %s%s",
			unknown[0].Key, strings.Join(known, ", "), r.Hint(unknown[0].Key, known))
	case root.Null() || root.Is(yamldoc.Mapping):
		r.Errorf(root, unknownKind, "the document is empty; want one of the root keys %s", strings.Join(known, ", "))
	}
	return "", false
}

// Meta is what every entity has.
type Meta struct {
	Identifier  yamldoc.Field[string]
	Name        yamldoc.Field[string]
	Description yamldoc.Field[string]
	Tags        yamldoc.Field[map[string]string]
	Org         yamldoc.Field[string]
	Project     yamldoc.Field[string]
}

// meta are the keys of Meta.
func (d *decoder) meta(e *Entity) document.Keys {
	return document.Keys{
		"identifier": func(v yamldoc.Value) {
			e.Identifier = d.Identifier(v, func(id string) error { return ref.CheckID(e.Kind, id) })
			if want := d.options.Identifier; want != "" && e.Identifier.Value != want {
				d.Errorf(v, document.BadIdentifier, "found %q, but %q is addressed; an identifier can't be changed", e.Identifier.Value, want)
			}
		},
		"name":              d.Name(&e.Name),
		"description":       d.Text(&e.Description),
		"tags":              d.Texts(&e.Tags),
		"orgIdentifier":     d.Text(&e.Org),
		"projectIdentifier": d.Text(&e.Project),
	}
}

// ScopeOf is where a document's entity lives, filled up from another scope.
func ScopeOf(doc *yamldoc.Node, from ref.Scope) ref.Scope {
	for _, kind := range ref.Kinds() {
		if body := doc.Get(string(kind)); body != nil {
			v := yamldoc.Sub(body, "")
			from.Org, from.Project = cmp.Or(from.Org, document.Peek(v, "orgIdentifier")), cmp.Or(from.Project, document.Peek(v, "projectIdentifier"))
			break
		}
	}
	return from
}

// scopeOf finds the entity's scope before anything that it names is read.
func (d *decoder) scopeOf(v yamldoc.Value, e *Entity) {
	for _, part := range []struct {
		key   string
		scope *string
	}{{"orgIdentifier", &e.Scope.Org}, {"projectIdentifier", &e.Scope.Project}} {
		said := document.Peek(v, part.key)
		switch {
		case said == "":
		case *part.scope == "":
			*part.scope = said
		case *part.scope != said:
			d.Errorf(document.Child(v, part.key), wrongScope, "found %q, but the document is for %q", said, *part.scope)
		}
	}
	if err := ref.CheckOrg(e.Scope.Org); err != nil {
		d.Errorf(document.Child(v, "orgIdentifier"), wrongScope, "%s", err)
	}
	if err := ref.CheckProject(e.Scope.Project); err != nil {
		d.Errorf(document.Child(v, "projectIdentifier"), wrongScope, "%s", err)
	}
	if e.Scope.Project != "" && e.Scope.Org == "" {
		d.Errorf(document.Child(v, "projectIdentifier"), wrongScope, "a project needs an orgIdentifier")
	}
	d.Scope = e.Scope
}
