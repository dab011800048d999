// Package action is the catalogue of what can be done over the API: each
// action with the permission that it takes and the type of resource that it is
// done to. The permissions of the OpenAPI description, docs/permissions.md and
// the expectations of internal/attack come from it.
//
// Who may is pkg/access's to say, and which endpoint does what is pkg/api's.
package action

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/ref"
)

// Action is what an endpoint does, e.g. pipeline.run.
type Action string

// The actions. Those of documents take the permission of the document's kind.
const (
	EntityView   Action = "entity.view"
	EntityCreate Action = "entity.create"
	EntitySave   Action = "entity.save"
	EntityDelete Action = "entity.delete"

	PipelineView      Action = "pipeline.view"
	PipelineRun       Action = "pipeline.run"
	ExecutionView     Action = "execution.view"
	ExecutionSteer    Action = "execution.steer"
	ExecutionAbort    Action = "execution.abort"
	ExecutionRollback Action = "execution.rollback"
	ApprovalAnswer    Action = "approval.answer"
	TriggerView       Action = "trigger.view"
	InputSetView      Action = "inputSet.view"
	InputSetEdit      Action = "inputSet.edit"
	ProvisionerView   Action = "provisioner.view"
	ProvisionerForget Action = "provisioner.forget"

	ServiceView         Action = "service.view"
	ServiceAccess       Action = "service.access"
	EnvironmentRollback Action = "environment.rollback"
	ConnectorView       Action = "connector.view"
	ConnectorTest       Action = "connector.test"
	ConnectorEdit       Action = "connector.edit"
	SecretEdit          Action = "secret.edit"
	TemplateEdit        Action = "template.edit"
	FileView            Action = "file.view"
	FileEdit            Action = "file.edit"
	FileDelete          Action = "file.delete"

	GitOpsAgentView         Action = "gitopsAgent.view"
	GitOpsAgentEdit         Action = "gitopsAgent.edit"
	GitOpsApplicationView   Action = "gitopsApplication.view"
	GitOpsApplicationSync   Action = "gitopsApplication.sync"
	GitOpsApplicationEdit   Action = "gitopsApplication.edit"
	GitOpsApplicationDelete Action = "gitopsApplication.delete"
	GitOpsSetView           Action = "gitopsApplicationSet.view"
	GitOpsSetEdit           Action = "gitopsApplicationSet.edit"
	GitOpsSetDelete         Action = "gitopsApplicationSet.delete"

	DelegateView Action = "delegate.view"
	TokenView    Action = "token.view"
	TokenCreate  Action = "token.create"
	TokenRevoke  Action = "token.revoke"
	TokenRotate  Action = "token.rotate"
	AuditView    Action = "audit.view"

	UserPassword      Action = "user.password"
	DelegateToken     Action = "delegate.token"
	ServiceAccountKey Action = "serviceAccount.key"
	AccessExplain     Action = "access.explain"

	// What executions do for whom they act as.
	EnvironmentAccess      Action = "environment.access"
	EnvironmentGroupAccess Action = "environmentGroup.access"
	SecretAccess           Action = "secret.access"
	TemplateAccess         Action = "template.access"
	FileAccess             Action = "file.access"
	FreezeOverride         Action = "freeze.override"

	IssuerRotate Action = "issuer.rotate"

	DirectoryProvision Action = "directory.provision"
)

// Exempt is why an endpoint takes no permission.
type Exempt string

// Why there is none.
const (
	Public   Exempt = "public"   // it needs no token; what else proves the sender is its own to check
	Self     Exempt = "self"     // every user's token opens it: it tells nothing of a scope
	Delegate Exempt = "delegate" // a delegate's token opens it, for its own tasks
)

// Verb is what is done to a document, whatever its kind.
type Verb string

// The verbs.
const (
	View   Verb = "view"
	Create Verb = "create"
	Save   Verb = "save"
	Delete Verb = "delete"
)

// Entry is an action of the catalogue.
type Entry struct {
	Action Action
	// Type is that of what it is done to, unless a document's kind says so.
	Type Type
	// Any of these permissions is enough. None: Verb says which, or Doc who may.
	Any  []Permission
	Verb Verb
	Doc  string

	all []Permission // those that Verb chooses among
}

// Catalogue lists every action. It is made anew each time: who asks often keeps it.
func Catalogue() []Entry {
	all := Permissions()
	take := func(a Action, doc string, names ...string) Entry {
		found := named(all, names...)
		return Entry{Action: a, Type: found[0].Type, Any: found, Doc: doc}
	}
	return []Entry{
		{Action: EntityView, Verb: View, all: all, Doc: "read, list or check documents of a kind"},
		{Action: EntityCreate, Verb: Create, all: all, Doc: "create a document of a kind"},
		{Action: EntitySave, Verb: Save, all: all, Doc: "change a document of a kind"},
		{Action: EntityDelete, Verb: Delete, all: all, Doc: "delete a document of a kind"},

		take(PipelineView, "see what a run of a pipeline asks for", "core_pipeline_view"),
		take(PipelineRun, "start, repeat, plan or compare a run of a pipeline", "core_pipeline_execute"),
		take(ExecutionView, "see executions, their steps and their logs", "core_pipeline_view"),
		take(ExecutionSteer, "pause an execution, let it go on, decide on its steps and give them inputs", "core_pipeline_execute"),
		take(ExecutionAbort, "end an execution", "core_pipeline_abort", "core_pipeline_execute"),
		take(ExecutionRollback, "roll an execution back", "core_pipeline_execute"),
		{Action: ApprovalAnswer, Type: Pipeline, Doc: "answer an approval: the step's user groups say who may"},
		take(TriggerView, "see what a trigger has done", "core_pipeline_view"),
		take(InputSetView, "list a pipeline's input sets", "core_inputset_view", "core_pipeline_view"),
		take(InputSetEdit, "drop from an input set what its pipeline no longer has", "core_inputset_edit", "core_pipeline_edit"),
		take(ProvisionerView, "see what provisioners have made", "core_pipeline_view"),
		take(ProvisionerForget, "forget what a provisioner has made", "core_pipeline_edit"),

		take(ServiceView, "see what runs of a service", "core_service_view"),
		take(ServiceAccess, "deploy a service, or have a delegate list the versions of its artifact", "core_service_access"),
		take(EnvironmentRollback, "roll back what a service runs in an environment", "core_environment_rollback"),
		take(EnvironmentAccess, "deploy to an environment", "core_environment_access"),
		take(EnvironmentGroupAccess, "deploy to the environments of a group", "core_environmentgroup_access"),
		take(SecretAccess, "have an execution use a secret", "core_secret_access"),
		take(TemplateAccess, "have an execution use a template", "core_template_access"),
		take(FileAccess, "have an execution use a file of the file store", "core_file_access"),
		take(FreezeOverride, "deploy in spite of the freezes of a scope", "core_deploymentfreeze_override"),
		take(ConnectorView, "see what a connector's test has come to", "core_connector_view"),
		take(ConnectorTest, "have an execution use a connector, or a delegate test it", "core_connector_access"),
		take(ConnectorEdit, "have a delegate test a connector that isn't saved", "core_connector_edit"),
		take(SecretEdit, "set the content of a secret's file", "core_secret_edit"),
		take(TemplateEdit, "say which version of a template is the stable one", "core_template_edit"),
		take(FileView, "list and read files of the file store", "core_file_view"),
		take(FileEdit, "write a file of the file store", "core_file_edit"),
		take(FileDelete, "delete a file of the file store", "core_file_delete"),

		take(GitOpsAgentView, "see GitOps agents", "gitops_agent_view"),
		take(GitOpsAgentEdit, "let a GitOps agent be in another cluster", "gitops_agent_edit"),
		take(GitOpsApplicationView, "see an application and what it has live, and have it compared", "gitops_application_view"),
		take(GitOpsApplicationSync, "sync an application, roll it back, end its operation, hold it", "gitops_application_sync"),
		take(GitOpsApplicationEdit, "change or delete what an application has live", "gitops_application_edit"),
		take(GitOpsApplicationDelete, "delete an application", "gitops_application_delete"),
		take(GitOpsSetView, "see application sets", "gitops_applicationset_view"),
		take(GitOpsSetEdit, "have an application set made anew", "gitops_applicationset_edit"),
		take(GitOpsSetDelete, "delete an application set", "gitops_applicationset_delete"),

		take(DelegateView, "list delegates", "core_delegate_view"),
		{Action: TokenView, Doc: "list tokens: one's own, or those that the kind's permission shows"},
		{Action: TokenCreate, Doc: "make a token: for oneself, or for whom the kind's permission allows"},
		{Action: TokenRevoke, Doc: "revoke a token: one's own, or one that the kind's permission allows"},
		{Action: TokenRotate, Doc: "put another token in a token's place: as one may make it, and revoke that"},
		{Action: UserPassword, Doc: "set a password or a second factor: one's own, or, as who may do everything in the account, anybody's"},
		take(DelegateToken, "make and revoke a delegate's token", "core_delegate_edit"),
		take(ServiceAccountKey, "make and revoke a service account's token", "core_serviceaccount_manageapikey"),
		take(AccessExplain, "see what somebody else may do, and why", "core_accessPolicies_analyze"),
		take(AuditView, "read the audit trail", "core_audit_view"),
		take(DirectoryProvision, "say over SCIM who people are and who is in the groups that a directory manages", "core_authsetting_edit"),
		take(IssuerRotate, "make a new key for the tokens that clouds trust", "core_account_edit"),
	}
}

// Find is an action's entry of a catalogue. One that isn't of it takes what
// nobody has.
func Find(all []Entry, a Action) Entry {
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.Action == a }); i >= 0 {
		return all[i]
	}
	return Entry{Action: a, Any: []Permission{{}}}
}

// Takes lists the permissions of which one is enough for the action on a
// resource of a type. None: who may isn't a matter of permissions.
func (e Entry) Takes(t Type) []Permission {
	if e.Verb == "" {
		return e.Any
	}
	return of(e.all, t, e.Verb)
}

// TypeOf is the type of the resource that documents of a kind belong to:
// triggers to their pipeline, infrastructure definitions to their environment.
func TypeOf(kind ref.Kind) Type {
	switch kind {
	case ref.Organization:
		return Organization
	case ref.Project:
		return Project
	case ref.Pipeline, ref.Trigger:
		return Pipeline
	case ref.InputSet, ref.OverlayInputSet:
		return InputSet
	case ref.Service:
		return Service
	case ref.Environment, ref.Infrastructure, ref.Overrides, ref.ServiceOverrides:
		return Environment
	case ref.EnvironmentGroup:
		return "ENVIRONMENT_GROUP"
	case ref.Connector:
		return Connector
	case ref.Secret:
		return Secret
	case ref.Variable:
		return "VARIABLE"
	case ref.Template:
		return "TEMPLATE"
	case ref.UserGroup:
		return "USERGROUP"
	case ref.Freeze:
		return "DEPLOYMENTFREEZE"
	case ref.Policy:
		return "GOVERNANCEPOLICY"
	case ref.PolicySet:
		return "GOVERNANCEPOLICYSETS"
	case ref.User:
		return "USER"
	case ref.ServiceAccount:
		return "SERVICEACCOUNT"
	case ref.LoginProvider, ref.IPAllowlist:
		return "AUTHSETTING"
	case ref.Setting:
		return "SETTING"
	case ref.StreamingDestination:
		return "STREAMING_DESTINATION"
	case ref.LoginBinding: // which nobody asks for
		return ""
	case ref.Role, ref.RoleAssignment:
		return "ROLE"
	case ref.ResourceGroup:
		return "RESOURCEGROUP"
	case ref.GitOpsAgent, ref.GitOpsSettings:
		return "GITOPS_AGENT"
	case ref.GitOpsApplication, ref.GitOpsProject:
		return "GITOPS_APP"
	case ref.GitOpsApplicationSet:
		return "GITOPS_APPLICATIONSET"
	case ref.GitOpsRepository, ref.GitOpsRepoCredentials:
		return "GITOPS_REPOSITORY"
	case ref.GitOpsCluster:
		return "GITOPS_CLUSTER"
	case ref.GitOpsGPGKey:
		return "GITOPS_GPGKEY"
	case ref.GitOpsCertificate:
		return "GITOPS_CERT"
	}
	return ""
}
