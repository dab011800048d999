package steptest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
)

// given is what a case's in.json may say about where the step runs.
type given struct {
	Selectors  []string    `json:"selectors"`
	Rollback   bool        `json:"rollback"`
	Siblings   []string    `json:"siblings"`
	Deployment *deployment `json:"deployment"`
	// Connectors that there are besides "jira", "servicenow", "jenkins" and
	// "bamboo", by reference.
	Connectors map[string]system `json:"connectors"`
	// Provisioned is what executions have done by any provisioner.
	Provisioned []step.Provisioned `json:"provisioned"`
	// Names are what expressions know, besides late names and secrets.
	Names map[string]any `json:"names"`
	// Session is the one that is open.
	Session *step.Session `json:"session"`
}

// system is what a connector to a system with an HTTP API gives.
type system struct {
	Type      string
	Server    task.Server
	Selectors []string
}

// of finds the system that a connector of a type stands for.
func (g given) of(name, typ string) (task.Server, []string, error) {
	c, ok := g.Connectors[name]
	for _, known := range []string{"Jira", "ServiceNow", "Jenkins", "Bamboo"} {
		if !ok && strings.EqualFold(known, name) {
			server := task.Server{URL: "https://" + name + ".example.com", Auth: task.AuthBearer}
			server.Token = "⟦token⟧"
			c, ok = system{Type: known, Selectors: []string{"near-" + name}, Server: server}, true
		}
	}
	switch {
	case !ok:
		return task.Server{}, nil, fault.New(fault.NotFound, "connector %q doesn't exist", name)
	case c.Type != typ:
		return task.Server{}, nil, connector.WrongType(name, c.Type, typ)
	}
	return c.Server, c.Selectors, nil
}

// deployment is a step.Deployment whose target is decoded as its lane has it.
type deployment struct {
	step.Deployment
	Target json.RawMessage
}

// of gives the deployment a target.
func (d *deployment) of(tb testing.TB, target any) *step.Deployment {
	tb.Helper()
	if d == nil {
		return nil
	}
	if target != nil && d.Target != nil {
		d.Deployment.Target = target
		if err := json.Unmarshal(d.Target, target); err != nil {
			tb.Fatalf("in.json: the target: %v", err)
		}
	}
	return &d.Deployment
}

// In is what a step knows in tests: always the same execution, and what
// in.json says; target is a new target of the lane, for a step that deploys.
// Its expressions know the late names and secrets, whose placeholders read ⟦id⟧.
func In(tb testing.TB, doc []byte, target any) step.In {
	tb.Helper()
	var g given
	if doc != nil {
		if err := json.Unmarshal(doc, &g); err != nil {
			tb.Fatalf("in.json: %v", err)
		}
	}
	return step.In{
		Account: "acme", Execution: "e1", Pipeline: "p1", Stage: "s1", StageNode: "pipeline.stages.s1",
		Node: "pipeline.stages.s1.spec.execution.steps.x", Name: "x", Attempt: 1,
		Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Timeout: 10 * time.Minute,
		Selectors: g.Selectors, Rollback: g.Rollback, Siblings: g.Siblings, Deployment: g.Deployment.of(tb, target), Session: g.Session,
		Evaluate: func(body string, names map[string]expr.Value) (expr.Value, error) {
			known := scope{}
			for name, v := range g.Names {
				known[name] = expr.FromAny(v)
			}
			maps.Copy(known, names)
			return expr.Evaluate(body, known)
		},
		Interpolate: func(text string, names map[string]expr.Value) (expr.Value, error) {
			return expr.Interpolate(text, scope(names))
		},
		Server: g.of,
		MailServer: func() (mail.Server, error) {
			server := mail.Server{Host: "mail.example.com", Port: 587, TLS: mail.StartTLS, From: "slipway@example.com", Username: "slipway"}
			server.Password = "⟦smtp⟧"
			return server, nil
		},
		Cluster: func() (task.Cluster, []string, error) {
			c := task.Cluster{URL: "https://cluster.example.com"}
			c.Token = "⟦token⟧"
			return c, []string{"near-cluster"}, nil
		},
		AWS: func(name, region string) (task.AWS, []string, error) {
			if name != "aws" {
				return task.AWS{}, nil, fault.New(fault.NotFound, "connector %q doesn't exist", name)
			}
			return task.AWS{Auth: task.AWSInherit, Region: region}, []string{"near-aws"}, nil
		},
		Provisioned: func(task.Kind, string, string) ([]step.Provisioned, error) { return g.Provisioned, nil },
		SSHKey: func(name string) (task.SSH, error) {
			if name != "ssh" {
				return task.SSH{}, fault.New(fault.NotFound, "secret %q doesn't exist", name)
			}
			return task.SSH{Port: 22, User: "ada", Key: "⟦key⟧"}, nil
		},
		Store: func(from *filesource.Store) (task.Store, error) {
			switch from.Type.Value {
			case filesource.Inline:
				return task.Store{Inline: from.Content.Value}, nil
			case filesource.Harness:
				return task.Store{Files: &task.FileStore{Paths: from.Stored.Files.Value[:1]}}, nil
			case filesource.Script:
				return task.Store{Script: &task.Extraction{Script: from.Extraction.Script.Value, Path: from.Extraction.FilePath.Value}}, nil
			}
			return task.Store{Git: &task.Git{URL: "https://git.example.com/" + from.Repository.ConnectorRef.Value}}, nil
		},
		File: func(path string) (string, error) {
			if strings.HasSuffix(path, "/none.sh") {
				return "", fault.New(fault.NotFound, "the file store has no file %s", path)
			}
			return "echo " + path, nil
		},
		UserGroup: func(name string) error {
			if plan.EverybodysGroup(name) || strings.HasSuffix(name, "ops") {
				return nil
			}
			return fault.New(fault.NotFound, "user group %q doesn't exist", name)
		},
		ServiceAccount: func(name string) error {
			if strings.HasSuffix(name, "ci") {
				return nil
			}
			return fault.New(fault.NotFound, "there is no service account %q", name)
		},
		GroupMails: func(name string) ([]string, error) {
			if !strings.HasSuffix(name, "ops") {
				return nil, fault.New(fault.NotFound, "user group %q doesn't exist", name)
			}
			return []string{"ada@example.com", "bob@example.com"}, nil
		},
		Policies:         judged,
		InterpolateKnown: func(text string) (expr.Value, error) { return expr.InterpolateKnown(text, scope(nil)) },
	}
}

// scope knows late names and secrets.
type scope map[string]expr.Value

// Lookup finds a late name (expr.Scope).
func (s scope) Lookup(path []string) (expr.Value, int, error) {
	if v, ok := s[path[0]]; ok {
		return v, 1, nil
	}
	return expr.Null(), 0, expr.ErrUnknown
}

// Call gives placeholders of secrets (expr.Scope).
func (s scope) Call(name string, args []expr.Value) (expr.Value, error) {
	if name != "secrets.getValue" || len(args) != 1 {
		return expr.Null(), expr.ErrUnknown
	}
	return expr.SecretRef("⟦" + args[0].Text() + "⟧"), nil
}

// String lists the names, for messages.
func (s scope) String() string { return strings.Join(slices.Sorted(maps.Keys(s)), ", ") }

// judged is the verdict of a set that is called house, and that is against what
// has the image bad, and warns of what has the image old.
func judged(sets []string, input any) (policy.Judged, error) {
	var out policy.Verdict
	of, _ := input.(map[string]any)
	for _, name := range sets {
		if !strings.HasSuffix(name, "house") {
			return policy.Judged{}, fault.New(fault.NotFound, "there is no policy set %q", name)
		}
		r := policy.Result{Name: "images", Severity: policy.Error}
		switch of["image"] {
		case "bad":
			r.Deny = []string{"the image is bad"}
		case "old":
			r.Warn = []string{"the image is old"}
		}
		out = append(out, policy.SetResult{Name: name, Policies: []policy.Result{r}})
	}
	return policy.Judged{Verdict: out}, nil
}
