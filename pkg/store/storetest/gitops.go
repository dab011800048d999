package storetest

import (
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func gitOpsCases() []testCase {
	return []testCase{
		{"what a GitOps agent says is read as it was saved", saveGitOpsLink},
		{"of many who save the same version of what an agent says one wins", raceGitOpsLink},
		{"what is known of an application is its last leader's", gitOpsApps},
		{"the history of an application is given newest first, each once", gitOpsHistory},
		{"a request is open until it is answered, and the first answer stays", gitOpsRequests},
		{"with an agent all that is known of it is forgotten", forgetGitOps},
	}
}

func (b *bench) agent(id string) ref.Ref { return ref.Ref{Scope: b.scope(), ID: id} }

func saveGitOpsLink(b *bench) {
	agent := b.agent("eu1")
	_, err := b.Store.GitOpsLink(b.ctx(), agent)
	b.refused(err, fault.NotFound)
	l := store.GitOpsLink{
		Left:  "another cluster",
		Agent: agent, Seen: at(1), Seq: 4, Digest: "ab", Documents: 2, Requests: 3,
		Hello: protocol.Hello{Lead: protocol.Lead{Agent: protocol.Agent{ID: "eu1"}, Fence: 7}, Delegate: "d1", Version: "1", ClusterUID: "u", Kubernetes: "1.36", Namespace: "n"},
	}
	saved, err := b.Store.SaveGitOpsLink(b.ctx(), l)
	b.ok(err)
	l.Version = 1
	same(b, "what is given back", l, saved)
	saved.Seq = 5
	saved, err = b.Store.SaveGitOpsLink(b.ctx(), saved)
	b.ok(err)
	other, err := b.Store.SaveGitOpsLink(b.ctx(), store.GitOpsLink{Agent: ref.Ref{Scope: ref.Scope{Account: b.account}, ID: "eu2"}})
	b.ok(err)
	got, err := b.Store.GitOpsLink(b.ctx(), agent)
	b.ok(err)
	same(b, "link", saved, got)
	all, err := b.Store.ListGitOpsLinks(b.ctx(), b.account)
	b.ok(err)
	same(b, "links of the account", []store.GitOpsLink{other, saved}, all)
	for _, version := range []int64{0, 1, 3} {
		l.Version = version
		_, err = b.Store.SaveGitOpsLink(b.ctx(), l)
		b.refused(err, fault.StaleVersion)
	}
}

func raceGitOpsLink(b *bench) {
	l, err := b.Store.SaveGitOpsLink(b.ctx(), store.GitOpsLink{Agent: b.agent("eu1")})
	b.ok(err)
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		mine := l
		mine.Digest = fmt.Sprint("d", i)
		_, err := b.Store.SaveGitOpsLink(b.ctx(), mine)
		return err
	})
	got, err := b.Store.GitOpsLink(b.ctx(), l.Agent)
	b.ok(err)
	same(b, "digest", fmt.Sprint("d", winner), got.Digest)
}

func (b *bench) appOf(agent ref.Ref, name string, fence int64) store.GitOpsApp {
	return store.GitOpsApp{Agent: agent, Key: protocol.AppKey{Name: name}, Fence: fence, At: at(1), Summary: protocol.Summary{
		Sync: protocol.SyncSummary{Status: gitops.OutOfSync, Revision: "abc"}, Health: gitops.HealthStatus{Status: gitops.Degraded, Message: "no"},
		Operation: &protocol.OperationSummary{Phase: gitops.OperationFailed, StartedAt: at(0)}, Counts: protocol.Counts{Objects: 3}, Images: []string{"web:1"},
	}}
}

func gitOpsApps(b *bench) {
	agent, other := b.agent("eu1"), b.agent("eu2")
	one, two, elsewhere := b.appOf(agent, "web", 2), b.appOf(agent, "api", 2), b.appOf(other, "web", 9)
	spaced := b.appOf(agent, "web", 2)
	spaced.Key.Namespace = "team"
	for _, a := range []store.GitOpsApp{one, two, elsewhere, spaced} {
		b.ok(b.Store.PutGitOpsApp(b.ctx(), a))
	}
	b.refused(b.Store.PutGitOpsApp(b.ctx(), b.appOf(agent, "web", 1)), fault.LeaseLost)
	one.Fence, one.Summary.Health.Status = 3, gitops.Healthy
	b.ok(b.Store.PutGitOpsApp(b.ctx(), one))
	read := func(keys ...protocol.AppKey) []store.GitOpsApp {
		got, err := b.Store.GitOpsApps(b.ctx(), agent, keys)
		b.ok(err)
		return got
	}
	same(b, "one", []store.GitOpsApp{one}, read(one.Key, protocol.AppKey{Name: "none"}))
	same(b, "with a namespace", []store.GitOpsApp{spaced}, read(spaced.Key))
	same(b, "several", 2, len(read(one.Key, two.Key)))
	same(b, "none", 0, len(read()))
	b.ok(b.Store.DeleteGitOpsApp(b.ctx(), agent, one.Key))
	b.ok(b.Store.DeleteGitOpsApp(b.ctx(), agent, one.Key))
	same(b, "after it is gone", []store.GitOpsApp{two}, read(one.Key, two.Key))
	got, err := b.Store.GitOpsApps(b.ctx(), other, []protocol.AppKey{elsewhere.Key})
	b.ok(err)
	same(b, "the other agent's", []store.GitOpsApp{elsewhere}, got)
}

func gitOpsHistory(b *bench) {
	agent, web := b.agent("eu1"), protocol.AppKey{Name: "web"}
	entry := func(id int64, minute int) protocol.History {
		return protocol.History{App: web, Entry: gitops.HistoryEntry{ID: id, Revision: fmt.Sprint("r", id), DeployedAt: at(minute)}}
	}
	for _, h := range []protocol.History{entry(1, 1), entry(2, 2), entry(2, 2), entry(3, 3), {App: protocol.AppKey{Name: "api"}, Entry: gitops.HistoryEntry{ID: 9, DeployedAt: at(9)}}} {
		b.ok(b.Store.PutGitOpsHistory(b.ctx(), agent, h))
	}
	page, next, err := b.Store.ListGitOpsHistory(b.ctx(), agent, web, store.Page{Limit: 2})
	b.ok(err)
	same(b, "the first part", []protocol.History{entry(3, 3), entry(2, 2)}, page)
	page, next, err = b.Store.ListGitOpsHistory(b.ctx(), agent, web, store.Page{Limit: 2, Token: next})
	b.ok(err)
	same(b, "the second part", []protocol.History{entry(1, 1)}, page)
	same(b, "what follows", "", next)
	b.ok(b.Store.DeleteGitOpsApp(b.ctx(), agent, web))
	page, _, err = b.Store.ListGitOpsHistory(b.ctx(), agent, web, store.Page{})
	b.ok(err)
	same(b, "of one that is gone", 0, len(page))
}

func (b *bench) ask(agent ref.Ref, id string) store.GitOpsRequest {
	r := store.GitOpsRequest{Agent: agent, Request: protocol.Request{
		ID: id, App: protocol.AppKey{Name: "web"}, Kind: protocol.RequestSync, By: "ann", At: at(1),
		Operation: &gitops.Operation{Sync: &gitops.SyncRequest{Revision: "abc", Prune: true}},
	}}
	b.ok(b.Store.AskGitOps(b.ctx(), r, audit.Record{Time: at(1), Actor: "ann", Scope: agent.Scope, Action: audit.Update, Kind: "gitopsApplication", ID: "web"}))
	return r
}

func gitOpsRequests(b *bench) {
	agent := b.agent("eu1")
	one, two := b.ask(agent, "1"), b.ask(agent, "2")
	open, err := b.Store.OpenGitOps(b.ctx(), agent)
	b.ok(err)
	same(b, "open", []store.GitOpsRequest{one, two}, open)
	until := time.Now().Add(time.Hour).Truncate(time.Second) // the table looks at the clock
	b.ok(b.Store.AnswerGitOps(b.ctx(), agent, "1", protocol.Result{Message: "begun"}, until))
	b.ok(b.Store.AnswerGitOps(b.ctx(), agent, "1", protocol.Result{Failed: true}, until))
	b.ok(b.Store.AnswerGitOps(b.ctx(), agent, "none", protocol.Result{}, until))
	open, err = b.Store.OpenGitOps(b.ctx(), agent)
	b.ok(err)
	same(b, "open", []store.GitOpsRequest{two}, open)
	one.Result = &protocol.Result{Message: "begun"}
	for _, want := range []store.GitOpsRequest{one, two} {
		got, err := b.Store.GitOpsRequest(b.ctx(), agent, want.Request.ID)
		b.ok(err)
		same(b, "request", want, got)
	}
	_, err = b.Store.GitOpsRequest(b.ctx(), agent, "none")
	b.refused(err, fault.NotFound)
	records, err := b.Store.ListAudit(b.ctx(), b.account, 0, 10)
	b.ok(err)
	same(b, "records", 2, len(records))
}

func forgetGitOps(b *bench) {
	agent, other := b.agent("eu1"), b.agent("eu2")
	b.ok(b.Store.ForgetGitOps(b.ctx(), agent))
	for _, a := range []ref.Ref{agent, other} {
		_, err := b.Store.SaveGitOpsLink(b.ctx(), store.GitOpsLink{Agent: a})
		b.ok(err)
		b.ok(b.Store.PutGitOpsApp(b.ctx(), b.appOf(a, "web", 1)))
		b.ask(a, "1")
	}
	b.ok(b.Store.ForgetGitOps(b.ctx(), agent))
	_, err := b.Store.GitOpsLink(b.ctx(), agent)
	b.refused(err, fault.NotFound)
	for a, want := range map[ref.Ref]int{agent: 0, other: 1} {
		apps, err := b.Store.GitOpsApps(b.ctx(), a, []protocol.AppKey{{Name: "web"}})
		b.ok(err)
		same(b, "applications of "+a.ID, want, len(apps))
		open, err := b.Store.OpenGitOps(b.ctx(), a)
		b.ok(err)
		same(b, "requests of "+a.ID, want, len(open))
	}
}
