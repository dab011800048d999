package action

import (
	"math/bits"
	"slices"
	"strings"
)

// Permission is what a role has or lacks, e.g. core_pipeline_execute: the
// vendor's identifier, which documents keep. Its number stands for it in sets
// and is never another's.
type Permission struct {
	Number uint8
	Name   string
	Type   Type
	Levels string // where it can be had: A for accounts, O for organizations, P for projects
}

// Word is the last of a permission's name, which says what it lets do.
func (p Permission) Word() string { return p.Name[strings.LastIndexByte(p.Name, '_')+1:] }

// Names are the names of permissions.
func Names(all []Permission) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.Name
	}
	return out
}

// Type is a type of resource, spelled as in resource groups.
type Type string

// The types that code names; the table below has all.
const (
	Account      Type = "ACCOUNT"
	Organization Type = "ORGANIZATION"
	Project      Type = "PROJECT"
	Pipeline     Type = "PIPELINE"
	InputSet     Type = "INPUT_SET"
	Environment  Type = "ENVIRONMENT"
	Connector    Type = "CONNECTOR"
	Service      Type = "SERVICE"
	Secret       Type = "SECRET"
)

// Permissions lists every permission. It may only be appended to.
func Permissions() []Permission {
	return []Permission{
		{1, "core_account_view", "ACCOUNT", "A"},
		{2, "core_account_edit", "ACCOUNT", "A"},
		{3, "core_setting_view", "SETTING", "AOP"},
		{4, "core_setting_edit", "SETTING", "AOP"},
		{5, "core_license_view", "LICENSE", "AOP"},
		{6, "core_license_edit", "LICENSE", "AOP"},
		{7, "core_organization_view", "ORGANIZATION", "AO"},
		{8, "core_organization_create", "ORGANIZATION", "AO"},
		{9, "core_organization_edit", "ORGANIZATION", "AO"},
		{10, "core_organization_delete", "ORGANIZATION", "AO"},
		{11, "core_project_view", "PROJECT", "AOP"},
		{12, "core_project_create", "PROJECT", "AOP"},
		{13, "core_project_edit", "PROJECT", "AOP"},
		{14, "core_project_delete", "PROJECT", "AOP"},
		{15, "core_pipeline_view", "PIPELINE", "AOP"},
		{16, "core_pipeline_create", "PIPELINE", "AOP"},
		{17, "core_pipeline_edit", "PIPELINE", "AOP"},
		{18, "core_pipeline_delete", "PIPELINE", "AOP"},
		{19, "core_pipeline_execute", "PIPELINE", "AOP"},
		{20, "core_pipeline_abort", "PIPELINE", "AOP"},
		{21, "core_inputset_view", "INPUT_SET", "AOP"},
		{22, "core_inputset_edit", "INPUT_SET", "AOP"},
		{23, "core_inputset_delete", "INPUT_SET", "AOP"},
		{24, "core_service_view", "SERVICE", "AOP"},
		{25, "core_service_edit", "SERVICE", "AOP"},
		{26, "core_service_delete", "SERVICE", "AOP"},
		{27, "core_service_access", "SERVICE", "AOP"},
		{28, "core_environment_view", "ENVIRONMENT", "AOP"},
		{29, "core_environment_edit", "ENVIRONMENT", "AOP"},
		{30, "core_environment_delete", "ENVIRONMENT", "AOP"},
		{31, "core_environment_access", "ENVIRONMENT", "AOP"},
		{32, "core_environment_rollback", "ENVIRONMENT", "AOP"},
		{33, "core_environmentgroup_view", "ENVIRONMENT_GROUP", "AOP"},
		{34, "core_environmentgroup_edit", "ENVIRONMENT_GROUP", "AOP"},
		{35, "core_environmentgroup_delete", "ENVIRONMENT_GROUP", "AOP"},
		{36, "core_environmentgroup_access", "ENVIRONMENT_GROUP", "AOP"},
		{37, "core_connector_view", "CONNECTOR", "AOP"},
		{38, "core_connector_edit", "CONNECTOR", "AOP"},
		{39, "core_connector_delete", "CONNECTOR", "AOP"},
		{40, "core_connector_access", "CONNECTOR", "AOP"},
		{41, "core_secret_view", "SECRET", "AOP"},
		{42, "core_secret_create", "SECRET", "AOP"},
		{43, "core_secret_edit", "SECRET", "AOP"},
		{44, "core_secret_delete", "SECRET", "AOP"},
		{45, "core_secret_access", "SECRET", "AOP"},
		{46, "core_template_view", "TEMPLATE", "AOP"},
		{47, "core_template_create", "TEMPLATE", "AOP"},
		{48, "core_template_copy", "TEMPLATE", "AOP"},
		{49, "core_template_edit", "TEMPLATE", "AOP"},
		{50, "core_template_delete", "TEMPLATE", "AOP"},
		{51, "core_template_access", "TEMPLATE", "AOP"},
		{52, "core_file_view", "FILE", "AOP"},
		{53, "core_file_edit", "FILE", "AOP"},
		{54, "core_file_delete", "FILE", "AOP"},
		{55, "core_file_access", "FILE", "AOP"},
		{56, "core_variable_view", "VARIABLE", "AOP"},
		{57, "core_variable_edit", "VARIABLE", "AOP"},
		{58, "core_variable_delete", "VARIABLE", "AOP"},
		{59, "core_delegate_view", "DELEGATE", "AOP"},
		{60, "core_delegate_edit", "DELEGATE", "AOP"},
		{61, "core_delegate_delete", "DELEGATE", "AOP"},
		{62, "core_delegateconfiguration_view", "DELEGATECONFIGURATION", "AOP"},
		{63, "core_delegateconfiguration_edit", "DELEGATECONFIGURATION", "AOP"},
		{64, "core_delegateconfiguration_delete", "DELEGATECONFIGURATION", "AOP"},
		{65, "core_deploymentfreeze_manage", "DEPLOYMENTFREEZE", "AOP"},
		{66, "core_deploymentfreeze_override", "DEPLOYMENTFREEZE", "AOP"},
		{67, "core_deploymentfreeze_global", "DEPLOYMENTFREEZE", "AOP"},
		{68, "core_user_view", "USER", "AOP"},
		{69, "core_user_invite", "USER", "AOP"},
		{70, "core_user_manage", "USER", "AOP"},
		{71, "core_usergroup_view", "USERGROUP", "AOP"},
		{72, "core_usergroup_manage", "USERGROUP", "AOP"},
		{73, "core_serviceaccount_view", "SERVICEACCOUNT", "AOP"},
		{74, "core_serviceaccount_edit", "SERVICEACCOUNT", "AOP"},
		{75, "core_serviceaccount_delete", "SERVICEACCOUNT", "AOP"},
		{76, "core_serviceaccount_manageapikey", "SERVICEACCOUNT", "AOP"},
		{77, "core_role_view", "ROLE", "AOP"},
		{78, "core_role_edit", "ROLE", "AOP"},
		{79, "core_role_delete", "ROLE", "AOP"},
		{80, "core_resourcegroup_view", "RESOURCEGROUP", "AOP"},
		{81, "core_resourcegroup_edit", "RESOURCEGROUP", "AOP"},
		{82, "core_resourcegroup_delete", "RESOURCEGROUP", "AOP"},
		{83, "core_authsetting_view", "AUTHSETTING", "A"},
		{84, "core_authsetting_edit", "AUTHSETTING", "A"},
		{85, "core_authsetting_delete", "AUTHSETTING", "A"},
		{86, "core_audit_view", "AUDIT", "AOP"},
		{87, "core_streamingDestination_view", "STREAMING_DESTINATION", "A"},
		{88, "core_streamingDestination_edit", "STREAMING_DESTINATION", "A"},
		{89, "core_streamingDestination_delete", "STREAMING_DESTINATION", "A"},
		{90, "core_governancePolicy_view", "GOVERNANCEPOLICY", "AOP"},
		{91, "core_governancePolicy_create", "GOVERNANCEPOLICY", "AOP"},
		{92, "core_governancePolicy_edit", "GOVERNANCEPOLICY", "AOP"},
		{93, "core_governancePolicy_delete", "GOVERNANCEPOLICY", "AOP"},
		{94, "core_governancePolicySets_view", "GOVERNANCEPOLICYSETS", "AOP"},
		{95, "core_governancePolicySets_create", "GOVERNANCEPOLICYSETS", "AOP"},
		{96, "core_governancePolicySets_edit", "GOVERNANCEPOLICYSETS", "AOP"},
		{97, "core_governancePolicySets_delete", "GOVERNANCEPOLICYSETS", "AOP"},
		{98, "core_governancePolicySets_evaluate", "GOVERNANCEPOLICYSETS", "AOP"},
		{99, "core_accessPolicies_analyze", "ACCESS_POLICIES", "AOP"},
		{100, "core_dashboards_view", "DASHBOARDS", "AO"},
		{101, "core_dashboards_edit", "DASHBOARDS", "AO"},
		{102, "core_notificationrule_view", "NOTIFICATION_RULE", "AOP"},
		{103, "core_notificationrule_edit", "NOTIFICATION_RULE", "AOP"},
		{104, "core_notificationrule_delete", "NOTIFICATION_RULE", "AOP"},
		{105, "core_notificationchannel_view", "NOTIFICATION_CHANNEL", "AOP"},
		{106, "core_notificationchannel_edit", "NOTIFICATION_CHANNEL", "AOP"},
		{107, "core_notificationchannel_delete", "NOTIFICATION_CHANNEL", "AOP"},
		{108, "core_smtp_view", "SMTP", "A"},
		{109, "core_smtp_edit", "SMTP", "A"},
		{110, "core_smtp_delete", "SMTP", "A"},
		{111, "core_banner_view", "BANNER", "A"},
		{112, "core_banner_edit", "BANNER", "A"},
		{113, "core_banner_delete", "BANNER", "A"},
		{114, "core_oidcIdToken_create", "OIDC_ID_TOKEN", "AOP"},
		{115, "core_gitxWebhooks_view", "GITX_WEBHOOKS", "AOP"},
		{116, "core_gitxWebhooks_edit", "GITX_WEBHOOKS", "AOP"},
		{117, "core_gitxWebhooks_delete", "GITX_WEBHOOKS", "AOP"},
		{118, "gitops_agent_view", "GITOPS_AGENT", "AOP"},
		{119, "gitops_agent_edit", "GITOPS_AGENT", "AOP"},
		{120, "gitops_agent_delete", "GITOPS_AGENT", "AOP"},
		{121, "gitops_application_view", "GITOPS_APP", "AOP"},
		{122, "gitops_application_edit", "GITOPS_APP", "AOP"},
		{123, "gitops_application_delete", "GITOPS_APP", "AOP"},
		{124, "gitops_application_sync", "GITOPS_APP", "AOP"},
		{125, "gitops_application_override", "GITOPS_APP", "AOP"},
		{126, "gitops_applicationset_view", "GITOPS_APPLICATIONSET", "AOP"},
		{127, "gitops_applicationset_edit", "GITOPS_APPLICATIONSET", "AOP"},
		{128, "gitops_applicationset_delete", "GITOPS_APPLICATIONSET", "AOP"},
		{129, "gitops_repository_view", "GITOPS_REPOSITORY", "AOP"},
		{130, "gitops_repository_edit", "GITOPS_REPOSITORY", "AOP"},
		{131, "gitops_repository_delete", "GITOPS_REPOSITORY", "AOP"},
		{132, "gitops_cluster_view", "GITOPS_CLUSTER", "AOP"},
		{133, "gitops_cluster_edit", "GITOPS_CLUSTER", "AOP"},
		{134, "gitops_cluster_delete", "GITOPS_CLUSTER", "AOP"},
		{135, "gitops_gpgkey_view", "GITOPS_GPGKEY", "AOP"},
		{136, "gitops_gpgkey_edit", "GITOPS_GPGKEY", "AOP"},
		{137, "gitops_gpgkey_delete", "GITOPS_GPGKEY", "AOP"},
		{138, "gitops_cert_view", "GITOPS_CERT", "AOP"},
		{139, "gitops_cert_edit", "GITOPS_CERT", "AOP"},
		{140, "gitops_cert_delete", "GITOPS_CERT", "AOP"},
		{141, "chi_monitoredservice_view", "MONITOREDSERVICE", "AOP"},
		{142, "chi_monitoredservice_edit", "MONITOREDSERVICE", "AOP"},
		{143, "chi_monitoredservice_delete", "MONITOREDSERVICE", "AOP"},
		{144, "chi_slo_view", "SLO", "AOP"},
		{145, "chi_slo_edit", "SLO", "AOP"},
		{146, "chi_slo_delete", "SLO", "AOP"},
	}
}

// named finds permissions by their names; a name that isn't one is left out.
func named(all []Permission, names ...string) []Permission {
	var out []Permission
	for _, name := range names {
		if i := slices.IndexFunc(all, func(p Permission) bool { return p.Name == name }); i >= 0 {
			out = append(out, all[i])
		}
	}
	return out
}

// Named finds the permissions that a role means by a name; none: there is no
// such permission. Harness has some by two names.
func Named(name string) []Permission {
	all := Permissions()
	if verb, old := strings.CutPrefix(name, "core_notification_"); old {
		return named(all, "core_notificationrule_"+verb, "core_notificationchannel_"+verb)
	}
	if name == "core_user_manager" || name == "core_deploymentfreeze_manager" {
		name = strings.TrimSuffix(name, "r")
	}
	return named(all, name)
}

// Types lists the types of resources.
func Types() []Type {
	var out []Type
	for _, p := range Permissions() {
		if !slices.Contains(out, p.Type) {
			out = append(out, p.Type)
		}
	}
	return out
}

// of finds the permissions of a type for a verb; where a type doesn't tell
// between several, one stands for all: who manages freezes sees them.
func of(all []Permission, t Type, verb Verb) []Permission {
	var out []Permission
	for _, p := range all {
		if p.Type != t {
			continue
		}
		switch p.Word() {
		case "view":
			if verb == View {
				out = append(out, p)
			}
		case "edit":
			if verb == Save || verb == Create {
				out = append(out, p)
			}
		case "create", "invite":
			if verb == Create {
				out = append(out, p)
			}
		case "delete":
			if verb == Delete {
				out = append(out, p)
			}
		case "manage":
			if verb != View {
				out = append(out, p)
			}
		}
	}
	if len(out) == 0 && verb == View {
		return of(all, t, Delete)
	}
	if len(out) == 0 && verb == Delete { // of what there is one of in a scope, such as its settings
		return of(all, t, Save)
	}
	return out
}

// Set is a set of permissions by their numbers.
type Set [4]uint64

// Add puts permissions into a set.
func (s *Set) Add(all ...Permission) {
	for _, p := range all {
		s[p.Number/64] |= 1 << (p.Number % 64)
	}
}

// Has says whether a set has a permission.
func (s Set) Has(p Permission) bool { return s[p.Number/64]&(1<<(p.Number%64)) != 0 }

// Len is how many permissions a set has.
func (s Set) Len() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// Every is the set of all permissions, also of those that are still to come.
// The number 0 is none's.
func Every() Set { return Set{^uint64(1), ^uint64(0), ^uint64(0), ^uint64(0)} }
