package catalog

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/lint"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// untrusted finds what comes from outside in scripts that a draft has, and in
// those of its pipeline, which it gives values; and for a pipeline what its
// triggers and input sets fill in.
func (c *Catalog) untrusted(ctx context.Context, e *entity.Entity, key store.EntityKey, d Draft) ([]fault.Detail, error) {
	report := yamldoc.NewReport(d.File)
	if d.Strict {
		report.Strict()
	}
	switch e.Kind {
	case ref.Trigger, ref.InputSet:
		pipeline, err := Find(c.Store.Entity).below(ctx, pipelineOf(key))
		if fault.Is(err, fault.NotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		Fills(pipeline, e, c.Options.Steps, report)
	case ref.Pipeline:
		pipeline, err := Find(c.Store.Entity).resolved(ctx, key, d.YAML)
		if err != nil {
			return nil, err
		}
		if err := c.filledBy(ctx, key, pipeline, report); err != nil {
			return nil, err
		}
	case ref.Service, ref.Environment, ref.Infrastructure, ref.EnvironmentGroup, ref.Overrides, ref.ServiceOverrides, ref.Connector, ref.Secret,
		ref.Organization, ref.Project, ref.Template, ref.UserGroup, ref.Freeze, ref.Policy, ref.PolicySet, ref.User, ref.ServiceAccount, ref.Role, ref.ResourceGroup, ref.RoleAssignment, ref.LoginProvider, ref.LoginBinding, ref.StreamingDestination, ref.IPAllowlist, ref.Setting, ref.Variable, ref.OverlayInputSet, ref.GitOpsAgent, ref.GitOpsSettings, ref.GitOpsCertificate, ref.GitOpsGPGKey, ref.GitOpsRepoCredentials,
		ref.GitOpsRepository, ref.GitOpsCluster, ref.GitOpsProject, ref.GitOpsApplicationSet, ref.GitOpsApplication:
	}
	return report.Details(), report.Err()
}

// filledBy finds what the triggers and the input sets of a pipeline put into
// its scripts.
func (c *Catalog) filledBy(ctx context.Context, key store.EntityKey, pipeline *yamldoc.Node, report *yamldoc.Report) error {
	left := checksOf(pipeline)
	for _, kind := range []ref.Kind{ref.Trigger, ref.InputSet} {
		err := c.each(ctx, key.Scope, kind, key.ID, func(s store.Entity) {
			if !left.another() {
				return
			}
			_, doc, err := documentOf(s.Key, s.YAML)
			if err != nil {
				return // what is saved has been read before
			}
			var values *yamldoc.Node
			if kind == ref.Trigger {
				values = entity.InputYAML(doc)
			} else {
				values = valuesOf(doc)
			}
			part := yamldoc.NewReport("")
			lint.Filled(pipeline, values, c.Options.Steps, part)
			for _, f := range part.Findings() {
				at := &yamldoc.Node{Kind: yamldoc.Scalar, Line: f.Line, Column: f.Column}
				report.Doubtf(yamldoc.Sub(at, f.Path), f.Code, "with what the %s gives, %s", s.Key.Describe(), f.Message)
			}
		})
		if err != nil {
			return err
		}
	}
	if n := left.skipped(); n > 0 {
		report.Warnf(yamldoc.Sub(pipeline, string(ref.Pipeline)), notChecked, "what %d input sets and triggers fill in wasn't checked: %s", n, left.message())
	}
	return nil
}

// Fills reports what a trigger or an input set puts into scripts of its
// pipeline, which is given below its root key with what templates bring. The
// findings stand where the values do.
func Fills(pipeline *yamldoc.Node, e *entity.Entity, types step.Types, r *yamldoc.Report) {
	var values *yamldoc.Node
	path := "pipeline"
	switch {
	case e.Trigger != nil:
		values, path = e.Trigger.Inputs, "inputYaml"
	case e.InputSet != nil:
		values = e.InputSet.Values
	}
	part := yamldoc.NewReport("")
	lint.Filled(pipeline, values, types, part)
	at := yamldoc.Sub(&yamldoc.Node{Kind: yamldoc.Scalar, Line: e.Identifier.At.Line, Column: e.Identifier.At.Column}, path)
	if e.InputSet != nil && values != nil {
		at = yamldoc.Sub(values, path)
	}
	for _, f := range part.Findings() {
		where := fmt.Sprintf("line %d", f.Line)
		if f.Path != "" {
			where = f.Path
		}
		r.Doubtf(at, f.Code, "%s of the pipeline %s: %s", where, e.Parent.ID, f.Message)
	}
}
