package link

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// reports keeps what isn't reported yet: of each application the newest summary,
// and the last entries of histories.
type reports struct {
	mu      sync.Mutex
	known   map[protocol.AppKey][]byte // JSON of the newest summary
	pending map[protocol.AppKey]bool   // its newest summary, or that it is gone
	history []protocol.History
	seq     int64
}

func newReports() *reports {
	return &reports{known: map[protocol.AppKey][]byte{}, pending: map[protocol.AppKey]bool{}}
}

// add takes in a summary; it says whether there is something to report.
func (r *reports) add(app protocol.AppKey, s *protocol.Summary) (bool, error) {
	var doc []byte
	if s != nil {
		var err error
		if doc, err = json.Marshal(s); err != nil {
			return false, fmt.Errorf("encode the summary of %s: %w", app, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, ok := r.known[app]; ok == (doc != nil) && bytes.Equal(before, doc) {
		return false, nil
	}
	if doc == nil {
		delete(r.known, app)
	} else {
		r.known[app] = doc
	}
	r.pending[app] = true
	return true, nil
}

func (r *reports) synced(h protocol.History) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, h)
	if n := len(r.history) - protocol.MaxHistory; n > 0 {
		r.history = slices.Delete(r.history, 0, n)
	}
}

// from goes on from the last report that the control plane has.
func (r *reports) from(seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq = max(r.seq, seq)
}

// again has all summaries reported.
func (r *reports) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for app := range r.known {
		r.pending[app] = true
	}
}

func (r *reports) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) == 0 && len(r.history) == 0
}

// next is the next report: as much as one takes.
func (r *reports) next() protocol.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := protocol.Report{Seq: r.seq + 1, History: slices.Clone(r.history)}
	keys := slices.SortedFunc(maps.Keys(r.pending), func(a, b protocol.AppKey) int { return strings.Compare(a.String(), b.String()) })
	for _, app := range keys[:min(len(keys), protocol.MaxApps)] {
		one := protocol.App{AppKey: app}
		if doc, ok := r.known[app]; ok {
			one.Summary = &protocol.Summary{}
			if json.Unmarshal(doc, one.Summary) != nil {
				continue // it was made here
			}
		}
		out.Apps = append(out.Apps, one)
	}
	return out
}

// all says whether a report has all that is pending.
func (r *reports) all(sent protocol.Report) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(sent.Apps) == len(r.pending)
}

// done forgets what was reported, unless it has changed meanwhile.
func (r *reports) done(sent protocol.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq = sent.Seq
	for _, a := range sent.Apps {
		var doc []byte
		if a.Summary != nil {
			doc, _ = json.Marshal(a.Summary) // it was encoded before
		}
		if now, ok := r.known[a.AppKey]; ok == (doc != nil) && bytes.Equal(now, doc) {
			delete(r.pending, a.AppKey)
		}
	}
	for _, h := range sent.History {
		r.history = slices.DeleteFunc(r.history, func(o protocol.History) bool {
			return o.App == h.App && o.Entry.ID == h.Entry.ID && o.Entry.DeployedAt.Equal(h.Entry.DeployedAt)
		})
	}
}

// digest is of all summaries, however they are ordered; empty as long as one of
// the applications hasn't been reported.
func (r *reports) digest(apps []gitops.Application) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range apps {
		if _, ok := r.known[protocol.AppKey{Name: a.Meta.Name}]; !ok {
			return ""
		}
	}
	var sum [16]byte
	for app, doc := range r.known {
		one := sha256.Sum256(append([]byte(app.String()+"\x00"), doc...))
		for i := range sum {
			sum[i] ^= one[i]
		}
	}
	return hex.EncodeToString(sum[:])
}
