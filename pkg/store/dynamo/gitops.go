package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// gitOps is store.GitOps.
type gitOps struct {
	table  *table
	audits audits
}

// readDoc reads what is an item's one document.
func readDoc[T any](ctx context.Context, b bodies, it item) (T, error) {
	var out T
	err := b.decode(ctx, it, "doc", &out)
	return out, err
}

// SaveGitOpsLink writes one of the version that was read.
func (s gitOps) SaveGitOpsLink(ctx context.Context, l store.GitOpsLink) (store.GitOpsLink, error) {
	lost := store.Stale(fmt.Sprintf("what agent %s says", l.Agent.ID), l.Version)
	condition, values := missing, item(nil)
	if l.Version > 0 {
		condition, values = "#version = :read", item{":read": num(l.Version)}
	}
	l.Version++
	it := gitOpsLinkAt(l.Agent).item()
	it["version"] = num(l.Version)
	if err := s.table.encode(ctx, it, "doc", l, largestValue); err != nil {
		return store.GitOpsLink{}, err
	}
	if err := again(ctx, func() error { return s.table.transact(ctx, s.table.put(it, condition, values, lost)) }); err != nil {
		return store.GitOpsLink{}, err
	}
	return l, nil
}

// GitOpsLink reads that of an agent.
func (s gitOps) GitOpsLink(ctx context.Context, agent ref.Ref) (store.GitOpsLink, error) {
	it, err := s.table.find(ctx, gitOpsLinkAt(agent), "a word of agent %q", agent.ID)
	if err != nil {
		return store.GitOpsLink{}, err
	}
	return readDoc[store.GitOpsLink](ctx, s.table.bodies, it)
}

// ListGitOpsLinks lists those of an account.
func (s gitOps) ListGitOpsLinks(ctx context.Context, account string) ([]store.GitOpsLink, error) {
	found, err := s.table.query(ctx, query{pk: gitOpsLinksPK(account)})
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, found, readDoc[store.GitOpsLink])
}

// ForgetGitOps deletes the link, and what is known of applications. Histories
// and answers expire.
func (s gitOps) ForgetGitOps(ctx context.Context, agent ref.Ref) error {
	found, err := s.table.query(ctx, query{pk: gitOpsPK(agent), only: "pk, sk"})
	if err != nil {
		return err
	}
	for _, it := range found {
		if err := s.table.drop(ctx, keyOf(it), "", nil); err != nil {
			return err
		}
	}
	return s.table.drop(ctx, gitOpsLinkAt(agent), "", nil)
}

// PutGitOpsApp stores what is known of an application.
func (s gitOps) PutGitOpsApp(ctx context.Context, a store.GitOpsApp) error {
	it := gitOpsAppAt(a.Agent, a.Key).item()
	it["fence"] = num(a.Fence)
	if err := s.table.encode(ctx, it, "doc", a, largestValue); err != nil {
		return err
	}
	lost := fault.New(fault.LeaseLost, "application %s was reported with a higher fence than %d", a.Key, a.Fence)
	return again(ctx, func() error {
		return s.table.transact(ctx, s.table.put(it, missing+" OR #fence <= :fence", item{":fence": num(a.Fence)}, lost))
	})
}

// GitOpsApps reads those of some applications that are known.
func (s gitOps) GitOpsApps(ctx context.Context, agent ref.Ref, keys []protocol.AppKey) ([]store.GitOpsApp, error) {
	at := make([]key, len(keys))
	for i, k := range keys {
		at[i] = gitOpsAppAt(agent, k)
	}
	found, err := s.table.getAll(ctx, at)
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, found, readDoc[store.GitOpsApp])
}

// DeleteGitOpsApp forgets one.
func (s gitOps) DeleteGitOpsApp(ctx context.Context, agent ref.Ref, k protocol.AppKey) error {
	found, err := s.table.query(ctx, query{pk: gitOpsHistoryPK(agent, k), only: "pk, sk"})
	if err != nil {
		return err
	}
	for _, it := range found {
		if err := s.table.drop(ctx, keyOf(it), "", nil); err != nil {
			return err
		}
	}
	return s.table.drop(ctx, gitOpsAppAt(agent, k), "", nil)
}

// PutGitOpsHistory keeps that an application was synced.
func (s gitOps) PutGitOpsHistory(ctx context.Context, agent ref.Ref, h protocol.History) error {
	it := gitOpsHistoryAt(agent, h).item()
	it[Expires] = num(h.Entry.DeployedAt.Add(store.GitOpsHistoryKept).Unix())
	if err := s.table.encode(ctx, it, "doc", h, largestValue); err != nil {
		return err
	}
	_, _, err := s.table.place(ctx, it, "")
	return err
}

// ListGitOpsHistory lists how an application was synced, newest first.
func (s gitOps) ListGitOpsHistory(ctx context.Context, agent ref.Ref, k protocol.AppKey, page store.Page) ([]protocol.History, string, error) {
	found, next, err := s.table.newestFirst(ctx, gitOpsHistoryPK(agent, k), time.Time{}, page)
	if err != nil {
		return nil, "", err
	}
	history, err := decodeAll(ctx, s.table.bodies, found, readDoc[protocol.History])
	return history, next, err
}

// AskGitOps keeps a new request.
func (s gitOps) AskGitOps(ctx context.Context, r store.GitOpsRequest, a audit.Record) error {
	it := gitOpsRequestAt(r.Agent, openRequests, r.Request.ID).item()
	if err := s.table.encode(ctx, it, "doc", r, largestValue); err != nil {
		return err
	}
	return s.audits.audited(ctx, a, s.table.put(it, "", nil, nil))
}

// OpenGitOps lists the requests that nobody has answered.
func (s gitOps) OpenGitOps(ctx context.Context, agent ref.Ref) ([]store.GitOpsRequest, error) {
	found, err := s.table.query(ctx, query{pk: gitOpsPK(agent), sk: "begins_with(sk, :open)", values: item{":open": str(openRequests)}})
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, found, readDoc[store.GitOpsRequest])
}

// GitOpsRequest reads one. An open one is asked for first: it may be answered
// meanwhile, and never the other way round.
func (s gitOps) GitOpsRequest(ctx context.Context, agent ref.Ref, id string) (store.GitOpsRequest, error) {
	it, err := s.table.get(ctx, gitOpsRequestAt(agent, openRequests, id))
	if err != nil {
		return store.GitOpsRequest{}, err
	}
	if it == nil {
		if it, err = s.table.find(ctx, gitOpsRequestAt(agent, answeredRequests, id), "request %q", id); err != nil {
			return store.GitOpsRequest{}, err
		}
	}
	return readDoc[store.GitOpsRequest](ctx, s.table.bodies, it)
}

// errAnswered: somebody else's answer came first.
var errAnswered = errors.New("it has been answered")

// AnswerGitOps keeps the first answer to a request.
func (s gitOps) AnswerGitOps(ctx context.Context, agent ref.Ref, id string, r protocol.Result, until time.Time) error {
	open := gitOpsRequestAt(agent, openRequests, id)
	it, err := s.table.get(ctx, open)
	if err != nil || it == nil {
		return err
	}
	asked, err := readDoc[store.GitOpsRequest](ctx, s.table.bodies, it)
	if err != nil {
		return err
	}
	asked.Result = &r
	next := gitOpsRequestAt(agent, answeredRequests, id).item()
	next[Expires] = num(until.Unix())
	if err := s.table.encode(ctx, next, "doc", asked, largestValue); err != nil {
		return err
	}
	err = again(ctx, func() error {
		return s.table.transact(ctx, s.table.put(next, "", nil, nil), s.table.remove(open, present, nil, errAnswered))
	})
	if errors.Is(err, errAnswered) {
		return nil
	}
	return err
}
