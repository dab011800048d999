package resolve

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// pipelineField resolves a path below "pipeline" that names no stage
// (semantics/pipeline §3.6).
func (s *Scope) pipelineField(rest []string) (expr.Value, int, error) {
	e := s.Execution
	if len(rest) == 0 {
		return expr.FromAny(s.Plan.Pipeline.Any()), 0, nil
	}
	switch rest[0] {
	case "executionId":
		return expr.String(e.ID), 1, nil
	case "resumedExecutionId":
		if e.RetryOf != "" {
			return expr.String(e.RetryOf), 1, nil
		}
		return expr.String(e.ID), 1, nil
	case "sequenceId":
		return expr.Int(e.Sequence), 1, nil
	case "executionMode":
		if e.RollbackOf != "" {
			return expr.String("POST_EXECUTION_ROLLBACK"), 1, nil
		}
		if s.State(s.Plan.Root.ID).Rollback {
			return expr.String("PIPELINE_ROLLBACK"), 1, nil
		}
		return expr.String("NORMAL"), 1, nil
	case "startTs":
		return expr.Int(e.StartedAt.UnixMilli()), 1, nil
	case "endTs":
		return millis(e.EndedAt.IsZero(), e.EndedAt.UnixMilli()), 1, nil
	case "triggerType":
		return s.event.triggerType()
	case "triggeredBy":
		return s.event.triggeredBy(s.Execution.Actor, rest)
	case "orgIdentifier":
		return expr.String(e.Scope.Org), 1, nil
	case "projectIdentifier":
		return expr.String(e.Scope.Project), 1, nil
	case "storeType":
		return expr.String("inline"), 1, nil
	case "repo", "branch", "executionUrl":
		return expr.Null(), 1, nil
	case "execution": // execution.url, as older notifications say
		return expr.Null(), len(rest), nil
	case "selectedStages":
		return stageList(s.Plan.Root), 1, nil
	case "status", "currentStatus", "liveStatus":
		return s.record().statusField(s.Plan.Root, rest[0]), 1, nil
	case "stages":
		if len(rest) > 1 {
			return expr.Null(), 0, unknown("the pipeline has no stage %q", rest[1])
		}
	}
	return s.paths().field(s.Plan.Pipeline, rest)
}

func (e *started) triggeredBy(actor string, rest []string) (expr.Value, int, error) {
	if len(rest) > 1 && e.plan.Trigger != nil {
		by, err := e.startedBy()
		if err != nil || rest[1] != "name" {
			return expr.Null(), len(rest), err // an event has no e-mail address
		}
		if by.Source == trigger.Scheduled {
			return expr.String(by.Trigger), 2, nil
		}
		return expr.String(by.User), 2, nil
	}
	if len(rest) > 1 && (rest[1] == "name" || rest[1] == "email") {
		return expr.String(actor), 2, nil
	}
	return expr.Null(), len(rest), nil
}

// stageList is the identifiers of all stages, in order.
func stageList(n *plan.Node) expr.Value {
	var ids []expr.Value
	var walk func(*plan.Node)
	walk = func(n *plan.Node) {
		for _, c := range n.Children {
			switch c.Kind {
			case plan.KindStage, plan.KindLoop:
				ids = append(ids, expr.String(c.Identifier))
			case plan.KindParallel:
				walk(c)
			case plan.KindPipeline, plan.KindGroup, plan.KindStep:
			}
		}
	}
	walk(n)
	return expr.List(ids)
}

// scopeNames resolves account.*, org.* and project.*. An account has no record, and
// neither may a scope in which nothing was ever saved: it is called by its identifier.
func (d documents) scopeNames(path []string) (expr.Value, int, error) {
	var kind ref.Kind
	id := d.scope.Account
	switch path[0] {
	case "org":
		kind, id = ref.Organization, d.scope.Org
	case "project":
		kind, id = ref.Project, d.scope.Project
	}
	switch {
	case len(path) < 2:
		return expr.Null(), 0, expr.ErrUnknown
	case path[1] == "identifier" || path[1] == "companyName":
		return expr.String(id), 2, nil
	case path[1] != "name" && path[1] != "description" && path[1] != "tags":
		return expr.Null(), 0, unknown("%s has no %q; it has identifier and name, and those of a record description and tags", path[0], path[1])
	}
	var record *entity.Entity
	if kind != "" && id != "" {
		var err error
		record, err = d.saved(kind, ref.Ref{Scope: ref.Home(kind, d.scope), ID: id})
		if err != nil && !fault.Is(err, fault.NotFound) {
			return expr.Null(), 0, err
		}
	}
	switch {
	case record == nil && path[1] == "name":
		return expr.String(id), 2, nil
	case record == nil:
		return expr.Null(), len(path), nil
	case path[1] == "name":
		return expr.String(record.Name.Text), 2, nil
	case path[1] == "description":
		return expr.String(record.Description.Text), 2, nil
	case len(path) == 2:
		tags := make(map[string]any, len(record.Tags.Value))
		for key, value := range record.Tags.Value {
			tags[key] = value
		}
		return expr.FromAny(tags), 2, nil
	}
	tag, ok := record.Tags.Value[path[2]]
	if !ok {
		return expr.Null(), 3, nil
	}
	return expr.String(tag), 3, nil
}

// Tree resolves every expression of a document, except those below the
// top-level keys named late. The result has the places of the original.
func (s *Scope) Tree(n *yamldoc.Node, late []string) (*yamldoc.Node, error) {
	if n == nil || n.Kind != yamldoc.Mapping {
		return n, nil
	}
	out := *n
	out.Entries = make([]yamldoc.Entry, len(n.Entries))
	for i, e := range n.Entries {
		out.Entries[i] = e
		if slices.Contains(late, e.Key) {
			continue
		}
		v, err := s.tree(e.Value, e.Key)
		if err != nil {
			return nil, err
		}
		out.Entries[i].Value = v
	}
	return &out, nil
}
