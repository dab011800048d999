package agent

import (
	"context"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// spare is how long a token must be good still that is handed out: whoever gets
// it has to reach the cloud with it, whose clock may differ.
const spare = 5 * time.Minute

// tokens are those of a task or of a watch.
type tokens struct {
	// fresh asks the control plane for another one; mask hides it.
	fresh func(ctx context.Context, name string) (task.IdentityToken, error)
	mask  func(values ...string)

	mu   sync.Mutex
	held map[string]held // by the names of their identities
}

type held struct {
	text  string
	until time.Time
}

// add takes tokens in that have just come.
func (t *tokens) add(list map[string]task.IdentityToken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, one := range list {
		t.keep(name, one)
	}
}

// keep hides a token and holds it. The caller holds the lock.
func (t *tokens) keep(name string, one task.IdentityToken) {
	t.mask(one.Text)
	if t.held == nil {
		t.held = map[string]held{}
	}
	t.held[name] = held{one.Text, time.Now().Add(one.Good)}
}

// get is an identity.Source.
func (t *tokens) get(ctx context.Context, name string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h, ok := t.held[name]; ok && time.Until(h.until) > spare {
		return h.text, nil
	}
	one, err := t.fresh(ctx, name)
	if err != nil {
		return "", err
	}
	t.keep(name, one)
	return one.Text, nil
}

// freshToken asks for another token of the task, as long as that runs: what the
// SDKs of clouds ask with has no end of its own.
func (e *environment) freshToken(ctx context.Context, name string) (task.IdentityToken, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(e.task.ctx, stop)()
	var out task.IdentityToken
	err := e.insist(ctx, "token", protocol.FreshToken{Fence: e.task.Fence, Identity: name}, &out)
	return out, err
}

// watchTokens are a watch's tokens.
func (a *Agent) watchTokens(w task.Watch, mask func(values ...string)) *tokens {
	of := task.Watched{ID: w.ID, Fence: w.Fence}
	t := &tokens{mask: mask, fresh: func(ctx context.Context, name string) (task.IdentityToken, error) {
		var out task.IdentityToken
		return out, a.api.post(ctx, a.id+"/watches/token", protocol.WatchToken{Watched: of, Identity: name}, &out)
	}}
	t.add(w.Tokens)
	return t
}
