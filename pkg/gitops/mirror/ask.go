package mirror

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// mostOpen bounds the requests that an agent hasn't answered.
const mostOpen = 500

// Ask keeps what somebody asks of an application's agent, and tells the agent. A
// request that brings its id is kept once.
// The application is there, or the set of applications; only of a deletion, and of what
// a set would come to, it needn't be.
func (m *Mirror) Ask(ctx context.Context, app store.EntityKey, r protocol.Request, by audit.Author) (protocol.Request, error) {
	agent, ok := agentOf(app)
	if !ok {
		return r, fault.New(fault.Invalid, "%s has no agent", app.Describe())
	}
	if r.App = reportKey(app); r.Kind != protocol.RequestDelete && r.Kind != protocol.RequestGenerate {
		if err := m.there(ctx, app); err != nil {
			return r, err
		}
	}
	if r.ID != "" {
		kept, err := m.Store.GitOpsRequest(ctx, agent, r.ID)
		if err == nil {
			return kept.Request, m.tell(ctx, agent)
		}
		if !fault.Is(err, fault.NotFound) {
			return r, err
		}
	}
	open, err := m.Store.OpenGitOps(ctx, agent)
	if err != nil {
		return r, err
	}
	if len(open) >= mostOpen {
		return r, fault.New(fault.TooMany, "agent %s has %d requests that it hasn't answered; it was heard of last at %s", agent.ID, len(open), m.seen(ctx, agent))
	}
	r.At, r.By = m.Now().UTC(), by.Actor
	if r.ID == "" {
		r.ID = requestID(r.At, rand.Text())
	}
	if r.Operation != nil {
		r.Operation.InitiatedBy.Username, r.Operation.InitiatedBy.Automated = by.Actor, false
	}
	record := audit.Record{
		Time: m.Now(), Actor: by.Actor, Scope: app.Scope, Kind: string(app.Kind), ID: app.ID, Request: by.Request,
		// SYNC, ROLLBACK and so on: what is asked, which the agent may refuse still.
		Action: audit.Action(strings.ToUpper(string(r.Kind))), After: "asked of agent " + agent.ID + ", request " + r.ID + touching(r.Touch),
	}
	if err := m.Store.AskGitOps(ctx, store.GitOpsRequest{Agent: agent, Request: r}, record); err != nil {
		return r, err
	}
	return r, m.tell(ctx, agent)
}

// there refuses what isn't.
func (m *Mirror) there(ctx context.Context, key store.EntityKey) error {
	if key.Kind == ref.GitOpsApplicationSet {
		_, err := m.Store.Entity(ctx, key)
		return err
	}
	_, err := m.Find(ctx, key)
	return err
}

// requestID names a request; such names sort by time.
func requestID(at time.Time, text string) string {
	return fmt.Sprintf("%013d%s", at.UnixMilli(), text[:8])
}

// tell says to an agent that somebody asks something of it.
func (m *Mirror) tell(ctx context.Context, agent ref.Ref) error {
	l, err := m.change(ctx, agent, func(l *store.GitOpsLink) (bool, error) {
		l.Requests++
		return true, nil
	})
	if err == nil {
		m.wake(ctx, l)
	}
	return err
}

// touching is what is audited of what is done to live objects.
func touching(t *protocol.Touch) string {
	if t == nil {
		return ""
	}
	text := fmt.Sprintf(": %s %s/%s %s/%s", t.Action, t.Group, t.Kind, t.Namespace, t.Name)
	if t.All {
		text += ", all"
	}
	return text
}

// seen is when an agent was heard of, for people.
func (m *Mirror) seen(ctx context.Context, agent ref.Ref) string {
	l, err := m.link(ctx, agent)
	if err != nil || l.Seen.IsZero() {
		return "no time"
	}
	return l.Seen.UTC().Format("2006-01-02 15:04:05")
}

// Asked is a request with what became of it.
func (m *Mirror) Asked(ctx context.Context, app store.EntityKey, id string) (store.GitOpsRequest, error) {
	agent, ok := agentOf(app)
	if !ok {
		return store.GitOpsRequest{}, fault.New(fault.Invalid, "%s has no agent", app.Describe())
	}
	r, err := m.Store.GitOpsRequest(ctx, agent, id)
	if err == nil && r.Request.App != reportKey(app) {
		err = fault.New(fault.NotFound, "request %q isn't one about %s", id, app.Describe())
	}
	return r, err
}

// Known is what is known of some applications and sets of them; those that
// nobody has reported are left out.
func (m *Mirror) Known(ctx context.Context, apps ...store.EntityKey) (map[store.EntityKey]store.GitOpsApp, error) {
	of := map[ref.Ref][]store.EntityKey{}
	for _, k := range apps {
		if agent, ok := agentOf(k); ok {
			of[agent] = append(of[agent], k)
		}
	}
	out := map[store.EntityKey]store.GitOpsApp{}
	for agent, keys := range of {
		names := make([]protocol.AppKey, len(keys))
		for i, k := range keys {
			names[i] = reportKey(k)
		}
		found, err := m.Store.GitOpsApps(ctx, agent, names)
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			for _, k := range keys {
				if reportKey(k) == a.Key {
					out[k] = a
				}
			}
		}
	}
	return out, nil
}

// History lists how an application was synced, newest first.
func (m *Mirror) History(ctx context.Context, app store.EntityKey, page store.Page) ([]protocol.History, string, error) {
	agent, ok := agentOf(app)
	if !ok {
		return nil, "", fault.New(fault.Invalid, "%s has no agent", app.Describe())
	}
	if _, err := m.Find(ctx, app); err != nil {
		return nil, "", err
	}
	return m.Store.ListGitOpsHistory(ctx, agent, protocol.AppKey{Name: app.ID}, page)
}

// Link is what an agent has said of itself, which may be nothing.
func (m *Mirror) Link(ctx context.Context, agent ref.Ref) (store.GitOpsLink, error) {
	if _, err := m.Store.Entity(ctx, AgentKey(agent)); err != nil {
		return store.GitOpsLink{}, err
	}
	return m.link(ctx, agent)
}
