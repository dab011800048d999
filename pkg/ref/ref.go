// Package ref is how entities are named: scopes, identifiers and references
// from one scope to another (semantics/entities §1).
//
// It checks spelling only; whether the named thing exists is the store's to say.
package ref

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kind is a kind of entity, spelled as the root key of its document.
type Kind string

// The kinds.
const (
	// Organization and Project are the records of scopes.
	Organization Kind = "organization"
	Project      Kind = "project"

	Pipeline       Kind = "pipeline"
	Service        Kind = "service"
	Environment    Kind = "environment"
	Infrastructure Kind = "infrastructureDefinition"
	Connector      Kind = "connector"
	Secret         Kind = "secret"
	Trigger        Kind = "trigger"
	Template       Kind = "template"
	UserGroup      Kind = "userGroup"
	Freeze         Kind = "freeze" // a time in which nothing is deployed
	Policy         Kind = "policy" // decides on contents, when a set of them says
	PolicySet      Kind = "policySet"
	// User and ServiceAccount are principals: who tokens are of. The others say
	// who may do what.
	User           Kind = "user"
	ServiceAccount Kind = "serviceAccount"
	Role           Kind = "role"
	ResourceGroup  Kind = "resourceGroup"
	RoleAssignment Kind = "roleAssignment"
	// LoginProvider is an identity provider that people log in by. LoginBinding is
	// whom it names for a user: nobody saves such a document.
	LoginProvider Kind = "loginProvider"
	LoginBinding  Kind = "loginBinding"
	// StreamingDestination is where the account's audit trail is brought to.
	StreamingDestination Kind = "streamingDestination"
	// IPAllowlist is from where people and programs come in.
	IPAllowlist Kind = "ipAllowlist"
	// Setting is what a scope sets for itself and for what is in it.
	Setting Kind = "setting"
	// EnvironmentGroup is a group of environments of its own scope.
	EnvironmentGroup Kind = "environmentGroup"
	// Overrides and ServiceOverrides replace what services define, in an
	// environment; the latter are of version 1.
	Overrides        Kind = "overrides"
	ServiceOverrides Kind = "serviceOverrides"
	Variable         Kind = "variable" // of an account, an organization or a project
	// InputSet and OverlayInputSet are values for a pipeline's inputs.
	InputSet        Kind = "inputSet"
	OverlayInputSet Kind = "overlayInputSet"
	// GitOpsAgent is a delegate that keeps applications as Git has them. The others
	// belong to one: Argo CD's documents, by what they are.
	GitOpsAgent           Kind = "gitopsAgent"
	GitOpsSettings        Kind = "gitopsSettings"
	GitOpsCertificate     Kind = "gitopsCertificate"
	GitOpsGPGKey          Kind = "gitopsGpgKey"
	GitOpsRepoCredentials Kind = "gitopsRepoCredentials" //nolint:gosec // the name of a kind of document
	GitOpsRepository      Kind = "gitopsRepository"
	GitOpsCluster         Kind = "gitopsCluster"
	GitOpsProject         Kind = "gitopsProject"
	GitOpsApplicationSet  Kind = "gitopsApplicationSet"
	GitOpsApplication     Kind = "gitopsApplication"
)

// Kinds lists every kind, in the order in which they may be saved so that
// what is named comes before what names it.
func Kinds() []Kind {
	return []Kind{Organization, Project, User, ServiceAccount, Secret, LoginProvider, StreamingDestination, IPAllowlist, Setting, UserGroup, Role, ResourceGroup, RoleAssignment, Policy, PolicySet, Variable, Connector, Template, Service, Environment, Infrastructure, EnvironmentGroup, Overrides, ServiceOverrides, Pipeline, InputSet, OverlayInputSet, Trigger, Freeze,
		GitOpsAgent, GitOpsSettings, GitOpsCertificate, GitOpsGPGKey, GitOpsRepoCredentials, GitOpsRepository, GitOpsCluster, GitOpsProject, GitOpsApplicationSet, GitOpsApplication}
}

// OfAccess says whether documents of a kind have a say in who may do what.
func OfAccess(kind Kind) bool {
	switch kind {
	case User, ServiceAccount, UserGroup, Role, ResourceGroup, RoleAssignment, LoginProvider, LoginBinding, IPAllowlist, Setting:
		return true
	default:
		return false
	}
}

// OfGitOps says whether a kind is one of GitOps: in its documents a text with
// an expression is just a text.
func OfGitOps(kind Kind) bool { return kind == GitOpsAgent || Parent(kind) == GitOpsAgent }

// AtAgent says whether entities of a kind live where their GitOps agent does.
// Applications, and sets of them, have a scope of their own.
func AtAgent(kind Kind) bool {
	return Parent(kind) == GitOpsAgent && kind != GitOpsApplication && kind != GitOpsApplicationSet
}

// HoldsValues says whether documents of a kind bring values that are kept apart
// from their text, and that nobody is shown.
func HoldsValues(kind Kind) bool {
	switch kind {
	case Secret, GitOpsRepoCredentials, GitOpsRepository, GitOpsCluster:
		return true
	default:
		return false
	}
}

// Parent is the kind of entity within which identifiers of a kind are unique
// (semantics/entities §1); empty: within their scope.
func Parent(kind Kind) Kind {
	switch kind {
	case Infrastructure, Overrides, ServiceOverrides:
		return Environment
	case Trigger, InputSet, OverlayInputSet:
		return Pipeline
	case GitOpsSettings, GitOpsCertificate, GitOpsGPGKey, GitOpsRepoCredentials, GitOpsRepository, GitOpsCluster, GitOpsProject,
		GitOpsApplicationSet, GitOpsApplication:
		return GitOpsAgent
	case Organization, Project, Pipeline, Service, Environment, EnvironmentGroup, Connector, Secret, Template, UserGroup, Variable, Freeze, Policy, PolicySet, User, ServiceAccount, Role, ResourceGroup, RoleAssignment, LoginProvider, LoginBinding, StreamingDestination, IPAllowlist, Setting, GitOpsAgent:
	}
	return ""
}

// Home is where entities of a kind live that are seen from a scope: the records of
// projects in its organization, those of organizations in its account, all others in
// the scope itself.
func Home(kind Kind, from Scope) Scope {
	switch kind {
	case Organization:
		return Scope{Account: from.Account}
	case Project:
		return Scope{Account: from.Account, Org: from.Org}
	default:
		return from
	}
}

// Scope is where an entity lives: an account, an organization in it, or a
// project in that.
type Scope struct {
	Account string `json:"account"`
	Org     string `json:"org,omitempty"`
	Project string `json:"project,omitempty"`
}

// String is "account", "account/org" or "account/org/project".
func (s Scope) String() string {
	return strings.TrimRight(s.Account+"/"+s.Org+"/"+s.Project, "/")
}

// Around are the account of a scope, its organization and itself.
func (s Scope) Around() []Scope {
	around := []Scope{{Account: s.Account}}
	if s.Org != "" {
		around = append(around, Scope{Account: s.Account, Org: s.Org})
	}
	if s.Project != "" {
		around = append(around, s)
	}
	return around
}

var scopePart = regexp.MustCompile(`^[0-9a-zA-Z_$-]+$`)

// Check checks the spelling of the organization and the project, whose names
// become parts of keys and paths.
func (s Scope) Check() error {
	return cmp.Or(CheckOrg(s.Org), CheckProject(s.Project))
}

// CheckOrg checks the spelling of an organization; none is right.
func CheckOrg(id string) error { return checkPart("organization", id) }

// CheckProject checks the spelling of a project; none is right.
func CheckProject(id string) error { return checkPart("project", id) }

func checkPart(what, id string) error {
	if id == "" {
		return nil
	}
	return spelled(what, id, scopePart, "letters, digits, _, $ and -")
}

// Covers says whether o is s or within it.
func (s Scope) Covers(o Scope) bool {
	return s.Account == o.Account && (s.Org == "" || s.Org == o.Org && (s.Project == "" || s.Project == o.Project))
}

// Ref is a reference that has been read: an identifier in a scope.
type Ref struct {
	Scope Scope
	ID    string
}

// String is the scope and the identifier, e.g. "acme/default/web:guestbook".
func (r Ref) String() string { return r.Scope.String() + ":" + r.ID }

// Text is the reference as an entity of the given scope writes it.
func (r Ref) Text(from Scope) string {
	switch {
	case r.Scope == from:
		return r.ID
	case r.Scope.Org == "":
		return "account." + r.ID
	}
	return "org." + r.ID
}

// Parse reads a reference as written in an entity of the given scope: "id"
// is in that scope, "org.id" in its organization, "account.id" in its
// account. There is no climbing: a bare id never means an outer scope.
func Parse(text string, from Scope) (Ref, error) {
	prefix, id, found := strings.Cut(text, ".")
	if !found {
		id = text
	}
	if left := placeholder.FindString(text); left != "" && !spelling.MatchString(id) {
		return Ref{}, fmt.Errorf("%q has the placeholder %s, which was left in; put the value there", shown(text), left)
	}
	if len(id) > maxLength || !spelling.MatchString(id) {
		return Ref{}, fmt.Errorf("%q isn't a reference; want an identifier, perhaps with org. or account. before it", text)
	}
	if !found {
		return Ref{Scope: from, ID: text}, nil
	}
	switch prefix {
	case "account":
		return Ref{Scope: Scope{Account: from.Account}, ID: id}, nil
	case "org":
		if from.Org == "" {
			return Ref{}, fmt.Errorf("%q names an organization's entity, but it stands in an account's", text)
		}
		return Ref{Scope: Scope{Account: from.Account, Org: from.Org}, ID: id}, nil
	}
	return Ref{}, fmt.Errorf("%q has the scope %q; want account., org. or none", text, prefix)
}

// maxLength is of identifiers and names, which are ASCII. It isn't said by the
// expressions: a repetition of 127 takes longer to compile than all the rest
// of a function's start.
const maxLength = 128

var spelling = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_$-]*$`)

// reserved are the words that no identifier may be (semantics/pipeline §1.3).
func reserved() []string {
	return []string{
		"or", "and", "eq", "ne", "lt", "gt", "le", "ge", "div", "mod", "not", "null", "true", "false", "new", "var",
		"return", "step", "parallel", "stepGroup", "org", "account", "status", "liteEngineTask",
	}
}

var (
	strictID = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_]*$`)
	dollarID = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_$]*$`)
	secretID = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_$-]*$`)
	variable = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_.$-]*$`)
	name     = regexp.MustCompile(`^[a-zA-Z_0-9.-][-0-9a-zA-Z_\s.]*$`)
)

// CheckID checks the identifier of a new entity of the kind. Secrets may have
// "-", pipelines may not have "$" (semantics/pipeline §1.3,
// semantics/entities §1).
func CheckID(kind Kind, id string) error {
	re, allowed := dollarID, "letters, digits, _ and $"
	switch kind {
	case Organization:
		return CheckOrg(id)
	case Project:
		return CheckProject(id)
	case Secret:
		re, allowed = secretID, "letters, digits, _, $ and -"
	case Pipeline:
		re, allowed = strictID, "letters, digits and _"
	case GitOpsProject, GitOpsApplicationSet, GitOpsApplication, GitOpsSettings:
		return checkObjectName(id)
	case GitOpsCertificate, GitOpsGPGKey, GitOpsRepoCredentials, GitOpsRepository, GitOpsCluster: // which may be Argo CD's, too
		if checkObjectName(id) == nil {
			return nil
		}
	case Service, Environment, EnvironmentGroup, Infrastructure, Overrides, ServiceOverrides, Connector, Template, Trigger, InputSet, OverlayInputSet, UserGroup, Variable, Freeze, Policy, PolicySet, User, ServiceAccount, Role, ResourceGroup, RoleAssignment, LoginProvider, LoginBinding, StreamingDestination, IPAllowlist, Setting,
		GitOpsAgent:
	}
	return check(re, id, allowed)
}

// longestObjectName is that of names in Kubernetes.
const longestObjectName = 253

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// checkObjectName checks the name of what is an object of Kubernetes elsewhere
// (RFC 1123).
func checkObjectName(text string) error {
	if len(text) > longestObjectName || !objectName.MatchString(text) {
		return fmt.Errorf("name %q isn't one of Kubernetes; want at most %d of a-z, 0-9, - and ., with a letter or digit at both ends", shown(text), longestObjectName)
	}
	return nil
}

// CheckNodeID checks the identifier of a stage, a step or a step group.
func CheckNodeID(id string) error { return check(strictID, id, "letters, digits and _") }

func check(re *regexp.Regexp, id, allowed string) error {
	if slices.Contains(reserved(), id) {
		return fmt.Errorf("identifier %q is a reserved word", id)
	}
	return spelled("identifier", id, re, allowed)
}

var label = regexp.MustCompile(`^[0-9a-zA-Z][^\s/&]*$`)

// CheckLabel checks the version label of a template (semantics/pipeline §9.1).
func CheckLabel(text string) error {
	return spelled("version label", text, label, "anything but spaces, / and &")
}

// CheckVariable checks the name of a variable (semantics/pipeline §1.5).
func CheckVariable(id string) error {
	return spelled("variable name", id, variable, "letters, digits, _, ., $ and -")
}

// CheckName checks an entity's or a node's name.
func CheckName(text string) error {
	return spelled("name", text, name, "letters, digits, spaces, dots, _ and -")
}
