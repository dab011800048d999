package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/rules"
	"github.com/slipway-cd/slipway/pkg/gitops/window"
)

// bounds are what the project of an application lets it do, and when.
type bounds struct {
	rules   *rules.Rules
	cluster rules.Cluster
	windows []*window.Window          // those that apply to the application
	orphans *gitops.OrphanedResources // nil: nobody looks for them
	at      Cluster
	project string // as the application names it
	account string // the user as whom objects are changed; empty: the agent
	nobody  error  // why there is none
}

// bounds reads the project of an application.
func (d *Documents) bounds(doc *gitops.Application, c Cluster) (*bounds, error) {
	p, err := d.project(doc.Spec.Project)
	if err != nil {
		return nil, err
	}
	b := &bounds{at: c, project: doc.Spec.Project, orphans: p.Spec.OrphanedResources, cluster: rules.Cluster{Server: c.Server, Name: c.Name, Own: c.Project != "" && c.Project == p.Meta.Name}}
	if b.rules, err = rules.Read(*p); err != nil {
		return nil, fault.Wrap(err, "project %s", p.Meta.Name)
	}
	var all []*window.Window
	for i, w := range p.Spec.SyncWindows {
		one, err := window.Read(w)
		if err != nil {
			return nil, fault.Wrap(err, "project %s: syncWindows[%d]", p.Meta.Name, i)
		}
		all = append(all, one)
	}
	if d.Settings.Accounts {
		in, name := b.rules.Account(c.Server, doc.Spec.Destination.Namespace)
		switch {
		case name != "" && in != "":
			b.account = "system:serviceaccount:" + in + ":" + name
		case name != "":
			b.nobody = fault.New(fault.Invalid, "the project %s has the account %s for its destination, and neither of them says in which namespace that is", p.Meta.Name, name)
		case !d.Settings.OwnWithout:
			b.nobody = fault.New(fault.Invalid, "the project %s has no account for the namespace %q of the cluster %s among its destinationServiceAccounts", p.Meta.Name, doc.Spec.Destination.Namespace, c.Server)
		}
	}
	b.windows = window.Of(all, doc.Meta.Name, gitops.Destination{Server: c.Server, Name: c.Name, Namespace: doc.Spec.Destination.Namespace})
	return b, nil
}

// foreign says why the application may not have its cluster; nil: it may.
func (b *bounds) foreign(doc *gitops.Application) error {
	if own := b.at.Project; own != "" && own != cmp.Or(doc.Spec.Project, "default") {
		return fault.New(fault.Forbidden, "the cluster %s is the project %s's alone, and the application is of another", b.at.Name, own)
	}
	return nil
}

// application says why the application may not be as its document says; nil: it may.
func (b *bounds) application(doc *gitops.Application) error {
	for _, s := range doc.Spec.All() {
		if err := b.rules.Source(s.RepoURL); err != nil {
			return err
		}
	}
	return b.rules.Destination(b.cluster, doc.Spec.Destination.Namespace)
}

// signed says why the application may not be at some revisions, as somebody has to sign
// them; nil: it may.
func (b *bounds) signed(ctx context.Context, from *source.Sources, known *access.Known, sources []gitops.Source, revisions []string) error {
	for i := range sources {
		by, err := b.rules.Signers(sources[i].RepoURL)
		if err == nil && len(by) > 0 {
			err = from.Signed(ctx, b.project, &sources[i], known, revisions[i], by)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// object says why the application may not have an object; empty: it may.
func (b *bounds) object(k object.Key) string {
	if err := b.rules.Object(k, b.cluster); err != nil {
		return err.Error()
	}
	switch only := b.at.Namespaces; {
	case len(only) == 0 || slices.Contains(only, k.Namespace) || k.Namespace == "" && b.at.Wide:
		return ""
	case k.Namespace == "":
		return fmt.Sprintf("the agent only looks into namespaces of the cluster %s, and %s is of the whole cluster", b.at.Name, describe(k))
	default:
		return fmt.Sprintf("the agent only looks into the namespaces %s of the cluster %s, and not into that of %s", strings.Join(only, ", "), b.at.Name, describe(k))
	}
}

// blocked says why a sync may not be, or go on, now; empty: it may.
func (b *bounds) blocked(asked window.Asked, now time.Time) string {
	closed := window.Blocked(b.windows, asked, now)
	if closed == nil {
		return ""
	}
	var names []string
	for _, w := range closed {
		names = append(names, fmt.Sprintf("%s %q for %s in %s", w.Kind, w.Schedule, w.Duration, cmp.Or(w.TimeZone, "UTC")))
	}
	text := "sync windows are in the way: " + strings.Join(names, ", ")
	if next := window.Next(b.windows, asked, now); !next.IsZero() {
		text += "; the next sync may be at " + next.UTC().Format(time.RFC3339)
	}
	return text
}
