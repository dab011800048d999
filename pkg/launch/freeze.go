package launch

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// frozen refuses a start if every stage of which it is known what it deploys is
// frozen. What others deploy is known when they begin.
func (l *Launcher) frozen(ctx context.Context, r Request, made Planned) error {
	freezes, err := l.freezes(ctx, r.Scope)
	if err != nil || len(freezes) == 0 {
		return err
	}
	p, err := plan.Decode(made.Doc)
	if err != nil {
		return fmt.Errorf("decode the plan of pipeline %s: %w", r.Pipeline, err)
	}
	targets := targets(p.Root, ref.Ref{Scope: r.Scope, ID: r.Pipeline})
	var first freeze.Match
	for i, t := range targets {
		active := freeze.Active(freezes, l.Now(), t)
		if len(active) == 0 {
			return nil
		}
		if i == 0 {
			first = active[0]
		}
	}
	if len(targets) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "pipeline %s deploys what freeze %s of %s stops until %s",
		r.Pipeline, first.ID, first.Scope, first.Until.UTC().Format(time.RFC3339))
}

// freezes are those that are enabled in a scope and around it.
func (l *Launcher) freezes(ctx context.Context, scope ref.Scope) ([]freeze.Freeze, error) {
	around := []ref.Scope{{Account: scope.Account}}
	if scope.Org != "" {
		around = append(around, ref.Scope{Account: scope.Account, Org: scope.Org})
	}
	if scope.Project != "" {
		around = append(around, scope)
	}
	var out []freeze.Freeze
	for _, s := range around {
		page := store.Page{Limit: 500}
		for {
			list, next, err := l.Store.ListEntities(ctx, s, ref.Freeze, "", page)
			if err != nil {
				return nil, fmt.Errorf("list the freezes of %s: %w", s, err)
			}
			for _, saved := range list {
				f, err := decodeFreeze(saved, l.Options)
				if err != nil {
					return nil, err
				}
				if f.Enabled {
					out = append(out, *f)
				}
			}
			if page.Token = next; next == "" {
				break
			}
		}
	}
	return out, nil
}

func decodeFreeze(saved store.Entity, o entity.Options) (*freeze.Freeze, error) {
	docs, report := yamldoc.Parse("", saved.YAML)
	if len(docs) != 1 {
		return nil, fmt.Errorf("read freeze %s of %s: found %d documents", saved.Key.ID, saved.Key.Scope, len(docs))
	}
	o.Scope = saved.Key.Scope
	e := entity.Decode(docs[0], report, o)
	if err := report.Err(); err != nil {
		return nil, fmt.Errorf("read freeze %s of %s: %w", saved.Key.ID, saved.Key.Scope, err)
	}
	return e.Freeze, nil
}

// targets are what the stages below a node deploy, as far as the plan knows.
func targets(n *plan.Node, pipeline ref.Ref) []freeze.Target {
	if n.Kind != plan.KindStage {
		var out []freeze.Target
		for _, c := range n.Children {
			out = append(out, targets(c, pipeline)...)
		}
		return out
	}
	d := n.Deployment
	if d == nil || d.Late || d.Several || n.Looks {
		return nil
	}
	service, err := ref.Parse(d.ServiceRef, pipeline.Scope)
	if err != nil {
		return nil
	}
	environment, err := ref.Parse(d.EnvironmentRef, pipeline.Scope)
	if err != nil {
		return nil
	}
	return []freeze.Target{{Pipeline: pipeline, Service: service, Environment: environment, EnvType: d.Environment.Text("type")}}
}
