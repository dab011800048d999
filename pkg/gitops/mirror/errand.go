package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// The labels by which an application says what it deploys of whom.
const (
	labelService     = "harness.io/serviceRef"
	labelEnvironment = "harness.io/envRef"
)

// Errand answers a question of who does a task about applications. What may be asked
// is said by the task's spec, which was made here. A question that comes again is
// about the same requests.
func (m *Mirror) Errand(ctx context.Context, t store.Task, spec errand.Applications, q errand.Ask) (errand.Answer, error) {
	var out errand.Answer
	switch {
	case t.Kind != errand.KindApplications:
		return out, fault.New(fault.Forbidden, "task %s isn't about applications", t.ID)
	case len(q.Apps) > errand.MaxApplications:
		return out, fault.New(fault.TooLarge, "found a question about %d applications; the limit is %d", len(q.Apps), errand.MaxApplications)
	case q.Do == errand.DoLook:
		return m.looked(ctx, t, q.Apps)
	}
	found, left, err := m.meant(ctx, t.Scope, spec, q.Sets)
	if err != nil {
		return out, err
	}
	switch q.Do {
	case errand.DoFind:
		for _, one := range found {
			out.Apps = append(out.Apps, one.app)
		}
		out.Left = left
	case errand.DoRefresh, errand.DoSync, errand.DoRollback, errand.DoRollout, errand.DoAct:
		return m.begun(ctx, t, spec, q, found)
	case errand.DoDetails:
		return m.detailed(ctx, found, q.Apps)
	default:
		return out, fault.New(fault.Invalid, "%q is no question; want find, refresh, sync, rollback, rollout, act, details, update or look", q.Do)
	}
	return out, nil
}

// candidate is an application that is meant.
type candidate struct {
	key store.EntityKey
	app errand.App
	set string // whose it is; empty: it is a document
	doc *gitops.Application
}

// meant are the applications that a spec is about, by their names, and why others
// aren't that it chooses. sets are the names of the service's application sets, as far
// as a delegate has found them where the spec says.
func (m *Mirror) meant(ctx context.Context, scope ref.Scope, spec errand.Applications, sets []string) ([]candidate, []string, error) {
	pattern, err := regexp.Compile(spec.Choice.Pattern)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "applicationRegex: %w", err)
	}
	all, err := m.candidates(ctx, scope, spec.Choice.Named)
	if err != nil {
		return nil, nil, err
	}
	if spec.Sets == nil {
		sets = nil
	}
	var out []candidate
	var left []string
	for _, one := range all {
		if !chosen(spec.Choice, pattern, one.doc) {
			continue
		}
		switch why := foreign(scope, spec, sets, one); {
		case why == "":
			out = append(out, one)
		case len(spec.Choice.Named) > 0:
			return nil, nil, fault.New(fault.Invalid, "application %s: %s", one.app.Name, why)
		case spec.Choice.By():
			left = append(left, one.app.Name+": "+why)
		}
	}
	if len(out) > errand.MaxApplications {
		return nil, nil, fault.New(fault.TooLarge, "found %d applications; the limit is %d", len(out), errand.MaxApplications)
	}
	return out, left, nil
}

// candidates are applications of a project: the named ones, or all.
func (m *Mirror) candidates(ctx context.Context, scope ref.Scope, named []errand.Named) ([]candidate, error) {
	var out []candidate
	add := func(f Found) {
		one := candidate{key: f.Key, doc: f.Document, set: f.Set, app: errand.App{Agent: f.Key.Env, Name: f.Key.ID}}
		for _, src := range f.Document.Spec.All() {
			one.app.Sources = append(one.app.Sources, src.RepoURL)
		}
		out = append(out, one)
	}
	for _, n := range named {
		key, err := appKey(scope, n)
		if err != nil {
			return nil, err
		}
		f, err := m.Find(ctx, key)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.NotFound, "there is no application %q of agent %s", n.Name, n.Agent)
		}
		if err != nil {
			return nil, err
		}
		add(f)
	}
	const largest = 500
	for page := (store.Page{Limit: largest}); len(named) == 0; {
		some, next, err := m.List(ctx, scope, "", page)
		if err != nil {
			return nil, err
		}
		for _, f := range some {
			add(f)
		}
		if page.Token = next; next == "" {
			break
		}
	}
	return out, nil
}

// appKey is where an application is saved that a step names.
func appKey(scope ref.Scope, n errand.Named) (store.EntityKey, error) {
	agent, err := ref.Parse(n.Agent, scope)
	if err != nil {
		return store.EntityKey{}, fault.New(fault.Invalid, "agentId: %w", err)
	}
	return store.EntityKey{Scope: scope, Kind: ref.GitOpsApplication, Env: agent.Text(scope), ID: n.Name}, nil
}

// chosen says whether a choice takes an application.
func chosen(c errand.Choice, pattern *regexp.Regexp, doc *gitops.Application) bool {
	switch {
	case c.Pattern != "":
		return pattern.MatchString(doc.Meta.Name)
	case len(c.Labels) > 0:
		return !slices.ContainsFunc(c.Labels, func(want string) bool { return !labelled(doc.Meta.Labels, want) })
	}
	return true
}

// labelled says whether labels have key:value, or a text in a key or a value.
func labelled(labels map[string]string, want string) bool {
	key, value, pair := strings.Cut(want, ":")
	if pair {
		have, ok := labels[strings.TrimSpace(key)]
		return ok && have == strings.TrimSpace(value)
	}
	for k, v := range labels {
		if strings.Contains(k, want) || strings.Contains(v, want) {
			return true
		}
	}
	return false
}

// notOfService is why a listed application is refused, in Harness's words.
const notOfService = "Application does not correspond to the service(s) selected in the pipeline execution"

// foreign says why an application isn't one of the stage; empty: it is. What the
// service's sets make is the service's, unless a label says something else.
func foreign(scope ref.Scope, spec errand.Applications, sets []string, one candidate) string {
	labels := one.doc.Meta.Labels
	if !spec.Choice.AnyService {
		ofSet := labels[labelService] == "" && one.set != "" && slices.Contains(sets, one.set)
		if !ofSet && !same(labels[labelService], spec.Stage.Service, scope) {
			return notOfService + " (label " + labelService + ")"
		}
		if env := labels[labelEnvironment]; env != "" && !same(env, spec.Stage.Environment, scope) {
			return "it is of environment " + env + " (label " + labelEnvironment + ")"
		}
	}
	for _, c := range spec.Stage.Clusters {
		if same(c.Agent, one.key.Env, scope) && isCluster(c, one.doc.Spec.Destination) {
			return ""
		}
	}
	return "it is on none of the stage's clusters"
}

// same says whether two references mean one entity.
func same(a, b string, scope ref.Scope) bool {
	one, errOne := ref.Parse(a, scope)
	other, errOther := ref.Parse(b, scope)
	return errOne == nil && errOther == nil && one == other
}

// isCluster says whether a destination is a cluster: a server counts before a name, as
// agents have it.
func isCluster(c errand.Cluster, to gitops.Destination) bool {
	if to.Server != "" {
		return to.Server == c.Server
	}
	return to.Name == c.Name
}

// begun asks for what a question wants of applications, once for each attempt of the
// step.
func (m *Mirror) begun(ctx context.Context, t store.Task, spec errand.Applications, q errand.Ask, found []candidate) (errand.Answer, error) {
	var out errand.Answer
	if q.Do == errand.DoSync && spec.Sync == nil || q.Do == errand.DoRollback && spec.Rollback == nil ||
		q.Do == errand.DoRollout && spec.Rollout == nil || q.Do == errand.DoAct && touch(spec) == nil {
		return out, fault.New(fault.Forbidden, "task %s does no %s", t.ID, q.Do)
	}
	e, err := m.Store.Execution(ctx, t.Execution)
	if err != nil {
		return out, fault.Wrap(err, "execution %s", t.Execution)
	}
	by := audit.Author{Actor: e.Actor, Request: t.Execution}
	for _, n := range q.Apps {
		one, err := among(found, n)
		if err != nil {
			return out, err
		}
		var listed errand.Named
		for _, l := range spec.Choice.Named {
			if key, err := appKey(t.Scope, l); err == nil && key == one.key {
				listed = l
			}
		}
		r := protocol.Request{ID: requestOf(t, e.StartedAt, q.Do, one.key) + "-" + strconv.Itoa(q.Round)}
		switch q.Do {
		case errand.DoSync:
			o := *spec.Sync
			request := *o.Sync
			request.Resources = listed.Resources
			o.Sync = &request
			r.Kind, r.Operation = protocol.RequestSync, &o
		case errand.DoRollback:
			r.Kind, r.Prune, r.History = protocol.RequestRollback, spec.Rollback.Prune, listed.History
			if r.History == 0 {
				r.Steps = cmp.Or(listed.Steps, spec.Rollback.Steps)
			}
		case errand.DoRollout:
			r.Kind, r.Look = protocol.RequestRollout, &protocol.Look{Which: rolloutOf(*spec.Rollout), Follow: true, Seen: q.Seen}
		case errand.DoAct:
			r.Kind, r.Touch = protocol.RequestAction, touch(spec)
		default:
			r.Kind, r.Hard = protocol.RequestRefresh, spec.Hard
		}
		asked, err := m.Ask(ctx, one.key, r, by)
		if err != nil {
			return out, err
		}
		one.app.Request = &errand.Request{ID: asked.ID, At: asked.At}
		out.Apps = append(out.Apps, one.app)
	}
	return out, nil
}

// touch is what a task does to Rollouts of Argo's; nil: nothing.
func touch(spec errand.Applications) *protocol.Touch {
	switch {
	case spec.Rollout != nil && spec.Rollout.Action != "":
		return &protocol.Touch{Which: rolloutOf(*spec.Rollout), Action: spec.Rollout.Action}
	case spec.Promote != "":
		return &protocol.Touch{Which: rolloutOf(errand.Rollout{}), All: true, Ready: true, Action: spec.Promote}
	}
	return nil
}

// rolloutOf chooses a Rollout of Argo's.
func rolloutOf(r errand.Rollout) protocol.Which {
	return protocol.Which{Group: "argoproj.io", Kind: "Rollout", Namespace: r.Namespace, Name: r.Name}
}

// among is the one of some candidates that a question names.
func among(found []candidate, n errand.Named) (candidate, error) {
	at := slices.IndexFunc(found, func(c candidate) bool { return c.app.Name == n.Name && c.app.Agent == n.Agent })
	if at < 0 {
		return candidate{}, fault.New(fault.Forbidden, "application %s of agent %s isn't one of the step's", n.Name, n.Agent)
	}
	return found[at], nil
}

// detailed is all that is known of applications, as Argo CD writes it, but for what is
// known of each of their objects.
func (m *Mirror) detailed(ctx context.Context, found []candidate, apps []errand.Named) (errand.Answer, error) {
	var out errand.Answer
	for _, n := range apps {
		one, err := among(found, n)
		if err != nil {
			return out, err
		}
		known, err := m.Known(ctx, one.key)
		if err != nil {
			return out, err
		}
		doc := struct {
			APIVersion string                    `json:"apiVersion"`
			Kind       string                    `json:"kind"`
			Metadata   gitops.Meta               `json:"metadata"`
			Spec       gitops.ApplicationSpec    `json:"spec"`
			Status     *gitops.ApplicationStatus `json:"status,omitempty"`
		}{APIVersion: "argoproj.io/v1alpha1", Kind: "Application", Metadata: one.doc.Meta, Spec: one.doc.Spec}
		doc.Spec.IgnoreDifferences, doc.Spec.Info = nil, nil
		if k, ok := known[one.key]; ok {
			one.app.Summary, one.app.ReportedAt = &k.Summary, k.At
			doc.Status = statusOf(k.Summary)
		}
		if one.app.Document, err = json.Marshal(doc); err != nil {
			return out, fmt.Errorf("encode application %s: %w", one.app.Name, err)
		}
		out.Apps = append(out.Apps, one.app)
	}
	return out, nil
}

// statusOf is a summary in Argo CD's words.
func statusOf(s protocol.Summary) *gitops.ApplicationStatus {
	out := &gitops.ApplicationStatus{
		Sync: gitops.SyncStatus{Status: s.Sync.Status, Revision: s.Sync.Revision, Revisions: s.Sync.Revisions}, Health: s.Health, Conditions: s.Conditions,
		Summary: gitops.Summary{Images: s.Images, ExternalURLs: s.URLs},
	}
	if o := s.Operation; o != nil {
		out.OperationState = &gitops.OperationState{
			Operation: gitops.Operation{InitiatedBy: o.By}, Phase: o.Phase, Message: o.Message, StartedAt: o.StartedAt, FinishedAt: o.FinishedAt, RetryCount: o.Retry,
		}
	}
	return out
}

// requestOf begins the ids of the requests about an application that are made for an
// attempt of a step.
func requestOf(t store.Task, started time.Time, do errand.Do, app store.EntityKey) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{t.Execution, string(t.Node), strconv.Itoa(t.Attempt), string(do), app.Env, app.ID}, "\x00")))
	return requestID(started, base32.StdEncoding.EncodeToString(sum[:]))
}

// asking are the questions that make requests.
var asking = []errand.Do{errand.DoRefresh, errand.DoSync, errand.DoRollback, errand.DoRollout, errand.DoAct}

// looked is how applications are, and what became of requests about them. A delegate
// is told only of those about which the same task has asked for something.
func (m *Mirror) looked(ctx context.Context, t store.Task, apps []errand.Named) (errand.Answer, error) {
	var out errand.Answer
	e, err := m.Store.Execution(ctx, t.Execution)
	if err != nil {
		return out, fault.Wrap(err, "execution %s", t.Execution)
	}
	keys := make([]store.EntityKey, len(apps))
	for i, n := range apps {
		if keys[i], err = appKey(t.Scope, n); err != nil {
			return out, err
		}
		id, _, _ := strings.Cut(n.Request, "-")
		if !slices.ContainsFunc(asking, func(do errand.Do) bool { return id == requestOf(t, e.StartedAt, do, keys[i]) }) {
			return out, fault.New(fault.Forbidden, "request %q about application %s isn't one of the step's", n.Request, n.Name)
		}
	}
	known, err := m.Known(ctx, keys...)
	if err != nil {
		return out, err
	}
	for i, n := range apps {
		one := errand.App{Agent: keys[i].Env, Name: n.Name}
		if k, ok := known[keys[i]]; ok {
			one.Summary, one.ReportedAt = &k.Summary, k.At
		}
		r, err := m.Asked(ctx, keys[i], n.Request)
		if err != nil {
			return out, err
		}
		one.Request = &errand.Request{ID: r.Request.ID, At: r.Request.At, Result: r.Result}
		out.Apps = append(out.Apps, one)
	}
	return out, nil
}
