// Package link is a GitOps agent's end of what it and the control plane say to
// each other (pkg/gitops/protocol): it fetches documents and requests, and
// reports what was found.
//
// It decides nothing. Whoever leads the agent runs one: what is reported is kept
// here, the newest of each application, until the control plane has it, and the
// agent never waits for that.
package link

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// Config is what a Link needs.
type Config struct {
	Client agent.Client
	// Hello is who says it; its fence is that of the lease that is held.
	Hello protocol.Hello
	// Kept are documents that were kept from before; they are what there is until
	// the control plane is reached.
	Kept []protocol.Document
	// Keep keeps all documents whenever they change; nil: nobody does.
	Keep func(ctx context.Context, all []protocol.Document) error
	// News has a signal when the control plane said that there is something new, and
	// Hears is whether it can; nil: it can't.
	News  <-chan struct{}
	Hears func() bool
	Log   *slog.Logger
}

// The pauses of a link.
const (
	leading   = 300 * time.Millisecond // between a change and its report
	firstWait = time.Second            // after an error; doubled with each
	soonWait  = 2 * time.Second        // for an agent that isn't saved yet
	longWait  = time.Minute
	wholeLook = time.Hour // between looks at all documents
)

// Link is the connection of an agent to the control plane.
type Link struct {
	Config
	documents *documents
	reports   *reports
	requests  chan protocol.Request
	answers   *answers
	woken     chan struct{} // somebody has something to send
	looked    chan struct{} // look now
}

// waiting is how many requests wait for the agent to take them.
const waiting = 64

// New makes a Link.
func New(cfg Config) (*Link, error) {
	d, err := newDocuments(cfg.Kept)
	if err != nil {
		return nil, err
	}
	return &Link{
		Config: cfg, documents: d, reports: newReports(), requests: make(chan protocol.Request, waiting), answers: &answers{given: map[string]bool{}},
		woken: make(chan struct{}, 1), looked: make(chan struct{}, 1),
	}, nil
}

// Documents are what the agent is to keep, as far as is known, and a channel that
// closes when that changes.
func (l *Link) Documents() (Documents, <-chan struct{}) { return l.documents.get() }

// Requests are what people ask. One that isn't answered comes again after a
// restart.
func (l *Link) Requests() <-chan protocol.Request { return l.requests }

// Answer says what became of a request. It doesn't wait.
func (l *Link) Answer(id string, r protocol.Result) {
	l.answers.add(protocol.Answer{Lead: l.Hello.Lead, ID: id, Result: r})
	ring(l.woken)
}

// Report says how an application is; nil: it is gone. It doesn't wait, and one
// that says what was said before is none.
func (l *Link) Report(app protocol.AppKey, s *protocol.Summary) error {
	changed, err := l.reports.add(app, s)
	if changed {
		ring(l.woken)
	}
	return err
}

// Synced says that an application was synced. It doesn't wait.
func (l *Link) Synced(app protocol.AppKey, e gitops.HistoryEntry) {
	l.reports.synced(protocol.History{App: app, Entry: e})
	ring(l.woken)
}

// Look has the link ask the control plane now what is new.
func (l *Link) Look() { ring(l.looked) }

func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default: // it rings already
	}
}

// Run keeps up the connection until the context ends, or until somebody else
// leads the agent: fault.LeaseLost.
func (l *Link) Run(ctx context.Context) error {
	wait := firstWait
	for {
		began := time.Now()
		err := l.connected(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case fault.Is(err, fault.LeaseLost), fault.Is(err, fault.Conflict), fault.Is(err, fault.Unauthenticated):
			return err
		}
		if time.Since(began) > longWait {
			wait = firstWait
		}
		if fault.Is(err, fault.NotFound) { // somebody is about to make it
			wait = min(wait, soonWait)
			l.Log.WarnContext(ctx, "the agent isn't saved; \"slipway gitops agent create\" does that", "agent", l.Hello.Agent.ID, "again", wait, "error", err)
		} else {
			l.Log.WarnContext(ctx, "the control plane can't be reached; what is known goes on", "agent", l.Hello.Agent.ID, "again", wait, "error", err)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, longWait)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// connected says hello and exchanges what there is, until something fails.
func (l *Link) connected(ctx context.Context) error {
	var w protocol.Welcome
	if err := l.post(ctx, "hello", l.Hello, &w); err != nil {
		return err
	}
	l.reports.from(w.Seq)
	l.documents.lookAtAll()
	every, least := cmp.Or(w.PollEvery, longWait), w.ReportMin
	if err := l.poll(ctx); err != nil {
		return err
	}
	look, asked := time.NewTicker(every), time.Now()
	defer look.Stop()
	whole := time.NewTicker(wholeLook)
	defer whole.Stop()
	var due <-chan time.Time // of a report
	if !l.reports.empty() {
		due = time.After(0)
	}
	sent := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return errors.Join(l.last(context.WithoutCancel(ctx)), context.Cause(ctx))
		case <-look.C:
			if l.Hears == nil || !l.Hears() || time.Since(asked) >= w.Quiet {
				l.Look()
			}
		case <-l.News:
			l.Look()
		case <-l.looked:
			asked = time.Now()
			if err := l.poll(ctx); err != nil {
				return err
			}
		case <-whole.C:
			l.documents.lookAtAll()
		case <-l.woken:
			if err := l.answer(ctx); err != nil {
				return err
			}
			if due == nil && !l.reports.empty() {
				due = time.After(max(leading, least-time.Since(sent)))
			}
		case <-due:
			due, sent = nil, time.Now()
			if err := l.report(ctx); err != nil {
				return err
			}
			if !l.reports.empty() {
				due = time.After(max(time.Second, min(least, time.Second)))
			}
		}
	}
}

// last sends what is left when the agent stops.
func (l *Link) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	if err := l.answer(ctx); err != nil || l.reports.empty() {
		return err
	}
	return l.report(ctx)
}

func (l *Link) post(ctx context.Context, what string, in, out any) error {
	return l.Client.Post(ctx, "gitops/"+what, in, out)
}

// poll asks what is new, and fetches it.
func (l *Link) poll(ctx context.Context) error {
	version, requests := l.documents.version(), l.answers.number()
	var n protocol.News
	if err := l.post(ctx, "poll", protocol.Poll{Lead: l.Hello.Lead, Documents: version, Requests: requests, Digest: l.digest()}, &n); err != nil {
		return err
	}
	if n.Resync {
		l.reports.again()
		ring(l.woken)
	}
	// What is asked is asked of documents that the agent has by then.
	if n.Documents != version {
		if err := l.fetch(ctx); err != nil {
			return err
		}
	}
	l.give(n)
	return nil
}

// digest is of what was reported, once all that is to be kept was.
func (l *Link) digest() string {
	d, _ := l.documents.get()
	return l.reports.digest(d.Applications)
}

// fetch fetches the documents that have changed.
func (l *Link) fetch(ctx context.Context) error {
	for more := true; more; {
		var got protocol.Documents
		if err := l.post(ctx, "documents", protocol.Have{Lead: l.Hello.Lead, Versions: l.documents.versions()}, &got); err != nil {
			return err
		}
		if err := l.documents.change(got); err != nil {
			return err
		}
		more = got.More
	}
	if l.Keep == nil {
		return nil
	}
	return l.Keep(ctx, l.documents.all())
}

// give gives the agent the requests that it hasn't had. What it has no room for
// is asked for again.
func (l *Link) give(n protocol.News) {
	for _, r := range n.Open {
		if l.answers.had(r.ID) {
			continue
		}
		select {
		case l.requests <- r:
			l.answers.give(r.ID)
		default:
			return
		}
	}
	l.answers.upTo(n.Requests)
}

// report sends what is new; what can't be sent stays.
func (l *Link) report(ctx context.Context) error {
	r := l.reports.next()
	r.Lead = l.Hello.Lead
	if l.reports.all(r) {
		r.Digest = l.digest()
	}
	var got protocol.Reported
	if err := l.post(ctx, "report", r, &got); err != nil {
		return err
	}
	l.reports.done(r)
	if got.Resync {
		l.reports.again()
	}
	return nil
}

// answer sends the answers that wait.
func (l *Link) answer(ctx context.Context) error {
	for {
		a, ok := l.answers.first()
		if !ok {
			return nil
		}
		if err := l.post(ctx, "answer", a, nil); err != nil {
			return err
		}
		l.answers.sent()
	}
}

// answers are those that wait to be sent, and the requests that the agent has.
type answers struct {
	mu    sync.Mutex
	wait  []protocol.Answer
	given map[string]bool
	upto  int64
}

func (a *answers) add(one protocol.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wait = append(a.wait, one)
}

func (a *answers) first() (protocol.Answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.wait) == 0 {
		return protocol.Answer{}, false
	}
	return a.wait[0], true
}

func (a *answers) sent() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wait = a.wait[1:]
}

func (a *answers) had(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.given[id]
}

func (a *answers) give(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given[id] = true
}

func (a *answers) number() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.upto
}

func (a *answers) upTo(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.upto = n
}
