// Package mirror is what the control plane knows of GitOps: which agents there
// are, what they keep, what they say of it, and what people ask of them.
//
// An agent goes on without it (semantics/gitops §2): here its documents are edited
// and looked at. They are entities, which pkg/catalog saves; what is reported is
// taken in here, and what a document means is pkg/gitops/argo's.
package mirror

import (
	"cmp"
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/dispatch"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Config is what a Mirror needs.
type Config struct {
	Store   store.Store
	Options entity.Options // what documents were checked against
	// Secret has what is kept apart of documents.
	Secret *secret.Keeper
	// ReportMin is between reports of an agent, PollEvery between its questions;
	// 0: what is usual.
	ReportMin, PollEvery time.Duration
	// Quiet is between the questions of an agent that can be told of news; 0:
	// PollEvery. It is below what Heard takes for silence, or the agent says that it
	// is there by its delegate.
	Quiet time.Duration
	// News says to a delegate that there is news for the agent that it is; nil: nobody
	// does. It may fail silently: the next question covers it.
	News func(ctx context.Context, account, delegate string)
	Now  func() time.Time
}

// What is usual between reports, and between polls.
const (
	usualReportMin = 10 * time.Second
	usualPollEvery = 30 * time.Second
)

// Mirror holds the use cases.
type Mirror struct{ Config }

// New makes a Mirror.
func New(cfg Config) *Mirror {
	cfg.ReportMin, cfg.PollEvery = cmp.Or(cfg.ReportMin, usualReportMin), cmp.Or(cfg.PollEvery, usualPollEvery)
	return &Mirror{cfg}
}

// AgentKey is where an agent is saved.
func AgentKey(agent ref.Ref) store.EntityKey {
	return store.EntityKey{Scope: agent.Scope, Kind: ref.GitOpsAgent, ID: agent.ID}
}

// agentOf is the agent of a document; false: it is no document of an agent.
func agentOf(k store.EntityKey) (ref.Ref, bool) {
	switch {
	case ref.AtAgent(k.Kind):
		return ref.Ref{Scope: k.Scope, ID: k.Env}, true
	case k.Kind == ref.GitOpsApplication, k.Kind == ref.GitOpsApplicationSet:
		r, err := ref.Parse(k.Env, k.Scope)
		return r, err == nil
	default:
		return ref.Ref{}, false
	}
}

// maxRaces bounds how often a link is changed that others change, too.
const maxRaces = 20

// change changes what is kept of an agent; it says whether there is anything to
// change.
func (m *Mirror) change(ctx context.Context, agent ref.Ref, how func(*store.GitOpsLink) (bool, error)) (store.GitOpsLink, error) {
	for range maxRaces {
		l, err := m.link(ctx, agent)
		if err != nil {
			return l, err
		}
		changed, err := how(&l)
		if err != nil || !changed {
			return l, err
		}
		saved, err := m.Store.SaveGitOpsLink(ctx, l)
		if !fault.Is(err, fault.StaleVersion) {
			return saved, err
		}
	}
	return store.GitOpsLink{}, fault.New(fault.Unavailable, "others changed what agent %s says %d times meanwhile", agent.ID, maxRaces)
}

// link is what is kept of an agent, which may be nothing yet.
func (m *Mirror) link(ctx context.Context, agent ref.Ref) (store.GitOpsLink, error) {
	l, err := m.Store.GitOpsLink(ctx, agent)
	if fault.Is(err, fault.NotFound) {
		return store.GitOpsLink{Agent: agent}, nil
	}
	return l, err
}

// Saved tells the agents of documents that were saved or deleted that there is
// something new. What it can't tell they find when they next look at all they
// have. What is known of an agent goes with its document.
func (m *Mirror) Saved(ctx context.Context, keys ...store.EntityKey) error {
	told := map[ref.Ref]bool{}
	for _, k := range keys {
		if k.Kind == ref.GitOpsAgent {
			if err := m.forget(ctx, k); err != nil {
				return err
			}
			continue
		}
		agent, ok := agentOf(k)
		if !ok || told[agent] {
			continue
		}
		told[agent] = true
		l, err := m.change(ctx, agent, func(l *store.GitOpsLink) (bool, error) {
			l.Documents++
			return true, nil
		})
		if err != nil {
			return err
		}
		m.wake(ctx, l)
	}
	return nil
}

// wake has an agent that can be told ask now what is new.
func (m *Mirror) wake(ctx context.Context, l store.GitOpsLink) {
	if l.Hello.Delegate != "" && m.News != nil {
		m.News(ctx, l.Agent.Scope.Account, l.Hello.Delegate)
	}
}

// forget forgets an agent whose document is gone.
func (m *Mirror) forget(ctx context.Context, k store.EntityKey) error {
	_, err := m.Store.Entity(ctx, k)
	if fault.Is(err, fault.NotFound) {
		return m.Store.ForgetGitOps(ctx, ref.Ref{Scope: k.Scope, ID: k.ID})
	}
	return err
}

// led refuses who speaks for an agent that somebody else leads, or that has
// never said hello.
func led(l store.GitOpsLink, fence int64) error {
	if l.Hello.ClusterUID == "" {
		return fault.New(fault.LeaseLost, "agent %s hasn't said hello", l.Agent.ID)
	}
	if l.Hello.Fence != fence {
		return l.Deposed(fence)
	}
	return nil
}

// Move lets an agent be in another cluster than before: in the one whose process says
// hello next. What is in the former one stays as it is, and nobody there speaks for the
// agent any more, unless it is moved back.
func (m *Mirror) Move(ctx context.Context, agent ref.Ref, back bool, by audit.Author) error {
	key := AgentKey(agent)
	if _, err := m.Store.Entity(ctx, key); err != nil {
		return err
	}
	after := ""
	_, err := m.change(ctx, agent, func(l *store.GitOpsLink) (bool, error) {
		after = "back to cluster " + l.Left
		switch {
		case back && l.Hello.ClusterUID != "":
			return false, fault.New(fault.Conflict, "agent %s is in the cluster %s already; move it from there", agent.ID, l.Hello.ClusterUID)
		case back:
			l.Left = ""
			return true, nil
		case l.Hello.ClusterUID != "":
			l.Left = l.Hello.ClusterUID
			after = "from cluster " + l.Left
			l.Hello, l.Seen, l.Seq, l.Digest = protocol.Hello{}, time.Time{}, 0, ""
			return true, nil
		case l.Left == "":
			return false, fault.New(fault.Conflict, "agent %s hasn't been in any cluster; the first that says it is the agent will be", agent.ID)
		}
		after = "from cluster " + l.Left
		return false, nil // it is on its way
	})
	if err != nil {
		return err
	}
	_, err = m.Store.AppendAudit(ctx, audit.Record{
		Time: m.Now(), Actor: by.Actor, Scope: key.Scope, Kind: string(key.Kind), ID: key.ID, Request: by.Request, Action: "MOVE", After: after,
	})
	return err
}

// Hello takes in who leads an agent. fault.Conflict: an agent of that name is in
// another cluster.
func (m *Mirror) Hello(ctx context.Context, agent ref.Ref, h protocol.Hello) (protocol.Welcome, error) {
	if _, err := m.Store.Entity(ctx, AgentKey(agent)); err != nil {
		return protocol.Welcome{}, err
	}
	l, err := m.change(ctx, agent, func(l *store.GitOpsLink) (bool, error) {
		before := l.Hello
		switch {
		case l.Left == h.ClusterUID && l.Left != "":
			return false, fault.New(fault.Conflict, "agent %s was moved away from this cluster, %s; uninstall it here", agent.ID, l.Left)
		case before.ClusterUID != "" && before.ClusterUID != h.ClusterUID:
			return false, fault.New(fault.Conflict, "agent %s is in the cluster %s, and this one is in %s; nothing is moved by mistake: give this one another name, or say \"slipway gitops agent move %s\"", agent.ID, before.ClusterUID, h.ClusterUID, agent.ID)
		case before.Fence > h.Fence:
			return false, l.Deposed(h.Fence)
		}
		if before == h {
			return false, nil
		}
		if before.Fence != h.Fence {
			l.Seq, l.Digest = 0, ""
		}
		l.Hello, l.Seen = h, m.Now()
		return true, nil
	})
	return protocol.Welcome{ReportMin: m.ReportMin, PollEvery: m.PollEvery, Quiet: m.Quiet, Seq: l.Seq}, err
}

// Poll says what is new for an agent. It changes nothing but, now and then, when the
// agent was heard of.
func (m *Mirror) Poll(ctx context.Context, agent ref.Ref, p protocol.Poll) (protocol.News, error) {
	l, err := m.link(ctx, agent)
	if err == nil {
		err = led(l, p.Fence)
	}
	if err != nil {
		return protocol.News{}, err
	}
	if m.Now().Sub(l.Seen) > silence/2 {
		if l, err = m.change(ctx, agent, func(l *store.GitOpsLink) (bool, error) {
			l.Seen = m.Now()
			return true, led(*l, p.Fence)
		}); err != nil {
			return protocol.News{}, err
		}
	}
	out := protocol.News{Documents: l.Documents, Requests: l.Requests, Resync: p.Digest != "" && l.Digest != "" && p.Digest != l.Digest}
	if p.Requests == l.Requests && l.Requests > 0 {
		return out, nil
	}
	open, err := m.Store.OpenGitOps(ctx, agent)
	for _, r := range open {
		out.Open = append(out.Open, r.Request)
	}
	if err != nil || len(open) == 0 {
		return out, err
	}
	// What is asked is asked of documents that are saved by now.
	l, err = m.link(ctx, agent)
	out.Documents = l.Documents
	return out, err
}

// Report takes in what an agent found. What it says of applications is kept
// before it is noted that it was: a report that comes again is the same.
func (m *Mirror) Report(ctx context.Context, agent ref.Ref, r protocol.Report) (protocol.Reported, error) {
	l, err := m.link(ctx, agent)
	if err == nil {
		err = led(l, r.Fence)
	}
	if err != nil {
		return protocol.Reported{}, err
	}
	if r.Seq <= l.Seq {
		return protocol.Reported{Seq: l.Seq, ReportMin: m.ReportMin}, nil
	}
	for _, a := range r.Apps {
		if a.Summary == nil {
			err = m.Store.DeleteGitOpsApp(ctx, agent, a.AppKey)
		} else {
			err = m.Store.PutGitOpsApp(ctx, store.GitOpsApp{Agent: agent, Key: a.AppKey, Fence: r.Fence, At: m.Now(), Summary: short(*a.Summary)})
		}
		if err != nil {
			return protocol.Reported{}, err
		}
	}
	for _, h := range r.History {
		if err := m.Store.PutGitOpsHistory(ctx, agent, h); err != nil {
			return protocol.Reported{}, err
		}
	}
	l, err = m.change(ctx, agent, func(l *store.GitOpsLink) (bool, error) {
		if err := led(*l, r.Fence); err != nil || r.Seq <= l.Seq {
			return false, err
		}
		l.Seq, l.Digest, l.Seen = r.Seq, r.Digest, m.Now()
		return true, nil
	})
	return protocol.Reported{Seq: l.Seq, ReportMin: m.ReportMin}, err
}

// Answer takes in what became of a request.
func (m *Mirror) Answer(ctx context.Context, agent ref.Ref, a protocol.Answer) error {
	l, err := m.link(ctx, agent)
	if err == nil {
		err = led(l, a.Fence)
	}
	if err != nil {
		return err
	}
	return m.Store.AnswerGitOps(ctx, agent, a.ID, a.Result, m.Now().Add(store.GitOpsRequestsKept))
}

// silence is how long an agent is taken for connected that says nothing.
const silence = 5 * time.Minute

// Heard says whether an agent was heard of lately: it itself, or its delegate.
func (m *Mirror) Heard(ctx context.Context, l store.GitOpsLink) (bool, error) {
	switch {
	case l.Seen.IsZero():
		return false, nil
	case m.Now().Sub(l.Seen) < silence:
		return true, nil
	case l.Hello.Delegate == "":
		return false, nil
	}
	d, err := m.Store.Delegate(ctx, l.Agent.Scope.Account, l.Hello.Delegate)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && dispatch.Connected(d, m.Now()), err
}
