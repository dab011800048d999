// Package identity says whom a cloud or a vault takes a task for.
//
// It signs nothing: that is pkg/issuer's.
package identity

import "github.com/slipway-cd/slipway/pkg/ref"

// Identity is whom a cloud or a vault takes a task for: what a token says that
// the control plane signs, but for the time and the task (docs/oidc.md).
type Identity struct {
	Audience string            `json:"audience"` // who is to believe it, e.g. AWSAudience
	Subject  string            `json:"subject"`  // e.g. "account:default:org:default:project:web"
	Claims   map[string]string `json:"claims,omitempty"`
	Tags     []string          `json:"tags,omitempty"` // the claims that are tags of AWS's session, too
}

// AWSAudience is the audience of tokens for AWS's STS.
const AWSAudience = "sts.amazonaws.com"

// The claims of an Identity. Those that a task has no value for are left out.
const (
	Account         = "account_id"
	Org             = "organization_id"
	Project         = "project_id"
	Connector       = "connector_id"
	Environment     = "environment_id"
	EnvironmentType = "environment_type"
	Service         = "service_id"
	Pipeline        = "pipeline_id"
	StepType        = "step_type"
	Email           = "triggered_by_email"
	Context         = "context"
)

// Claims lists them.
func Claims() []string {
	return []string{
		Account, Org, Project, Connector, Environment, EnvironmentType, Service, Pipeline, StepType,
		Email, Context,
	}
}

// Subject is a scope as the subject of a token.
func Subject(s ref.Scope) string {
	text := "account:" + s.Account
	if s.Org != "" {
		text += ":org:" + s.Org
	}
	if s.Project != "" {
		text += ":project:" + s.Project
	}
	return text
}
