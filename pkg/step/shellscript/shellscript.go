// Package shellscript is the step type ShellScript: a Bash or PowerShell
// script on a delegate, or from there on another host over SSH
// (semantics/pipeline §7.4).
//
// Outputs: output.outputVariables.<name>, output.exitCode and exitCode, which
// retry conditions read as <+step.exitCode>. The script itself is run by
// delegate/shell.
package shellscript

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: "ShellScript", New: decode, Script: true, Prepare: prepare}
}

// Spec is the step's spec.
type Spec struct {
	Script
	Target
	Elsewhere bool // not on the delegate, but on the Target's host
	Beside    bool // the values of expressions stand beside the script, not in it
}

// Target is where the script runs.
type Target struct {
	Host      yamldoc.Field[string]
	Connector yamldoc.Field[string] // a secret of type SSHKey
	Directory yamldoc.Field[string] // empty: a new one
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Keys(d), document.Keys{
		"onDelegate": func(e yamldoc.Value) {
			on := d.Bool(e)
			s.Elsewhere = on.Set && on.Expr == "" && !on.Value
		},
		"executionTarget": func(e yamldoc.Value) { s.target(e, d) },
		"outputAlias":     func(e yamldoc.Value) { alias(e, d) },
		"expressions": func(e yamldoc.Value) {
			d.Settled(e, d.Enum(e, asText, asEnvironment).Expr, asText+" or "+asEnvironment)
		},
		"includeInfraSelectors": func(e yamldoc.Value) {
			d.Without(e, "true", d.Bool(e).Value, "taking the infrastructure's selectors isn't supported yet; name them in delegateSelectors")
		},
		"metadata": document.Nothing, // of Harness's editor
	}))
	d.Missing(v, "shell", "source")
	if v.Is(yamldoc.Mapping) {
		s.checkTarget(v, d)
	}
	if s.Beside = byEnvironment(v.Node); s.Beside {
		s.checkEnvironment(v, d)
	}
	return s
}

// alias checks the name under which outputs are published; pkg/resolve finds
// it in the plan.
func alias(v yamldoc.Value, d *document.Decoder) {
	d.Fields(v, document.Keys{
		"key": func(e yamldoc.Value) {
			key := d.String(e)
			d.Plain(e, key.Expr, "letters, digits and _")
			if key.Set && key.Expr == "" && !shellVariable.MatchString(key.Value) {
				d.Errorf(e, "WRONG_VALUE", "found %q; want letters, digits and _", key.Value)
			}
		},
		"scope": func(e yamldoc.Value) {
			d.Plain(e, d.Enum(e, "Pipeline", "Stage", "StepGroup").Expr, "Pipeline, Stage or StepGroup")
		},
	})
	d.NeedUnlessEmpty(v, "key", "scope")
}

// target is the executionTarget.
func (t *Target) target(v yamldoc.Value, d *document.Decoder) {
	d.Fields(v, document.Keys{
		"workingDirectory": d.Text(&t.Directory),
		"host":             d.Text(&t.Host),
		"connectorRef":     d.Text(&t.Connector),
	})
}

// checkTarget: another host needs its name and a key, the delegate neither.
func (s *Spec) checkTarget(v yamldoc.Value, d *document.Decoder) {
	at := yamldoc.Sub(v.Node.Get("executionTarget"), v.Path+"executionTarget")
	for _, f := range []struct {
		key   string
		field yamldoc.Field[string]
	}{{"host", s.Host}, {"connectorRef", s.Connector}} {
		given := step.Text(f.field) != ""
		switch {
		case s.Elsewhere && at.Null():
			d.Errorf(v, "MISSING_KEY", "key %q is missing, for a script that doesn't run on the delegate", "executionTarget")
			return
		case s.Elsewhere && !f.field.Set:
			d.Errorf(at, "MISSING_KEY", "key %q is missing, for a script that doesn't run on the delegate", f.key)
		case !s.Elsewhere && given:
			d.Warnf(yamldoc.Sub(at.Node.Get(f.key), at.Path+"."+f.key), "NO_EFFECT", "%s says nothing to a script that runs on the delegate", f.key)
		}
	}
}

// Start gives the script to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	p, err := s.Payload(in)
	if err != nil {
		return step.Action{}, err
	}
	if s.Beside {
		if err := unmark(p.Env); err != nil {
			return step.Action{}, err
		}
	}
	p.WorkingDirectory = step.Text(s.Directory)
	selectors := in.Selectors
	if strings.Contains(p.Script, task.KubeConfigPath) {
		cluster, more, err := s.cluster(in)
		if err != nil {
			return step.Action{}, err
		}
		p.Cluster, selectors = &cluster, slices.Concat(selectors, more)
	}
	if s.Elsewhere {
		if p.Remote, err = s.login(in); err != nil {
			return step.Action{}, err
		}
	}
	return step.Action{Task: &step.Task{Kind: task.KindShell, Payload: p, Selectors: selectors}}, nil
}

// cluster is the stage's, for a script that asks for its kubeconfig.
func (s *Spec) cluster(in step.In) (task.Cluster, []string, error) {
	if s.Elsewhere {
		return task.Cluster{}, nil, fault.New(fault.Unsupported, "the script asks for %s, which is a file of the delegate; it runs on another host", task.KubeConfigPath)
	}
	c, selectors, err := in.Cluster()
	if err != nil {
		return task.Cluster{}, nil, fmt.Errorf("the script asks for %s: %w", task.KubeConfigPath, err)
	}
	return c, selectors, nil
}

// login is the host with who logs in there.
func (t *Target) login(in step.In) (*task.SSH, error) {
	login, err := in.SSHKey(step.Text(t.Connector))
	if err != nil {
		return nil, err
	}
	if login.Host = strings.TrimSpace(step.Text(t.Host)); login.Host == "" {
		return nil, fault.New(fault.Invalid, "executionTarget.host is empty; want the name of a host")
	}
	return &login, nil
}
