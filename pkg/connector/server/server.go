// Package server has the connectors to systems with an HTTP API: issues and
// tickets, builds, and repository managers. What they are asked for is the
// steps' and the artifact sources'.
package server

import (
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// system is what connectors to one system call things, and how they are tested.
type system struct {
	name   string
	url    string   // the key of its address
	can    []string // types of authentication
	cannot []string // those that Harness has besides
	// version has the values of the key of that name, which is needed then;
	// older those that Harness has besides.
	version, older []string
	legacy         bool   // credentials may stand beside auth, in which case auth may be absent
	path           string // is asked for to test a connector
	lists          bool   // the answer is a list, which some may not see who may do the rest
}

func systems() []system {
	const (
		password = connector.AuthPassword
		nobody   = connector.AuthNobody
	)
	return []system{
		{
			name: "Jira", url: "jiraUrl", can: []string{password, connector.AuthToken}, cannot: []string{"OAuth"}, legacy: true,
			path: "/rest/api/2/myself",
		},
		{
			name: "ServiceNow", url: "serviceNowUrl", can: []string{password, connector.AuthRefresh},
			cannot: []string{"AdfsClientCredentialsWithCertificate"}, legacy: true,
			path: "/api/now/table/sys_user?sysparm_limit=1&sysparm_fields=sys_id", lists: true, // an empty one for those who may see no user
		},
		{
			name: "Jenkins", url: "jenkinsUrl", can: []string{password, connector.AuthHeader, nobody},
			path: "/api/json?tree=mode", // what everybody may see who may read anything
		},
		{name: "Bamboo", url: "bambooUrl", can: []string{password}, path: "/rest/api/latest/currentUser"},
		{
			name: "Nexus", url: "nexusServerUrl", can: []string{password, nobody}, version: []string{"3.x"}, older: []string{"2.x"},
			path: "/service/rest/v1/repositories", lists: true,
		},
		{name: "Artifactory", url: "artifactoryServerUrl", can: []string{password, nobody}, path: "/api/repositories", lists: true},
	}
}

// Types are the connector types.
func Types() []connector.Type {
	var out []connector.Type
	for _, s := range systems() {
		out = append(out, connector.Type{Name: s.name, New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decode(d, v, s) }})
	}
	return out
}

// Server is where a system is, and how somebody proves there who he is.
type Server struct {
	URL  yamldoc.Field[string]
	Auth connector.Auth
	system
}

func decode(d *connector.Decoder, v yamldoc.Value, t system) *Server {
	s := &Server{system: t}
	known := document.Merge(d.Common, document.Keys{
		t.url:  d.WebAddress(&s.URL),
		"auth": d.Auth(&s.Auth, t.name+" authentication", t.can, t.cannot...),
	})
	if len(t.version) > 0 {
		known["version"] = d.Supported(new(yamldoc.Field[string]), "version of "+t.name, t.version, t.older...)
		d.Need(v, "version")
	}
	if t.legacy {
		// Harness's editor repeats the credentials beside auth, which decides.
		into := &connector.Login{}
		if document.Neutral(v.Node.Get("auth")) {
			into = &s.Auth.Login
			s.Auth.Type.Value = connector.AuthPassword
		}
		known = document.Merge(known, document.Keys{
			"username": d.Text(&into.Username), "usernameRef": d.Secret(&into.UsernameRef), "passwordRef": d.Secret(&into.SecretRef),
		})
	}
	d.Fields(v, known)
	d.Need(v, t.url)
	if !t.legacy || document.Child(v, "passwordRef").Null() {
		d.Need(v, "auth")
	}
	return s
}

// Server is the system, for a delegate.
func (s *Server) Server(r connector.Reach) (task.Server, error) {
	return s.Auth.Server(r, s.URL.Value)
}

// Probe proves by one request that the connector is let in.
func (s *Server) Probe(r connector.Reach) (connector.Probe, error) {
	server, err := s.Server(r)
	return connector.Probe{Task: probe.Spec{Requests: &probe.Requests{Server: server, Path: s.path, Lists: s.lists}}}, err
}
