package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/poll"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

const (
	// lookFor bounds one look at a source.
	lookFor = 2 * time.Minute
	// askAgain is how long what an event asked for waits if it can't be looked at.
	askAgain = time.Minute
)

// Watch makes a watcher of triggers: it asks again and again which versions of an
// artifact there are, and tells of those that weren't there before. What events
// have asked for it looks at once.
func Watch(t http.RoundTripper) executor.Watcher {
	if t == nil {
		t = http.DefaultTransport
	}
	return func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
		place, err := executor.Place[poll.Place](w.Kind, w.Place)
		if err != nil {
			return err
		}
		p := &polling{Place: place, t: t, report: report, known: map[string]bool{}, told: time.Now()}
		for _, hash := range place.Seen {
			p.known[hash] = true
		}
		return p.run(ctx)
	}
}

// polling is a watch of a source.
type polling struct {
	poll.Place
	t      http.RoundTripper
	report func(context.Context, task.Observed) error
	known  map[string]bool // versions, by poll.Hash

	told    time.Time // when the control plane was told last
	trouble string    // that it was told of
}

func (p *polling) run(ctx context.Context) error {
	for {
		next := p.Every
		o, done := p.look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// Nobody waits for a sign of life of what asks for nothing by itself.
		alive := p.Every > 0 && time.Since(p.told) >= task.ObserveEvery
		if len(o.News) > 0 || o.Trouble != p.trouble || alive {
			err := p.report(ctx, o)
			switch {
			case fault.Is(err, fault.LeaseLost):
				return err
			case err == nil:
				p.told, p.trouble = time.Now(), o.Trouble
				done()
			}
			if err != nil {
				o.Trouble = err.Error()
			}
		}
		if len(p.Asked) > 0 && o.Trouble != "" && (next == 0 || next > askAgain) {
			next = askAgain
		}
		if next == 0 {
			<-ctx.Done()
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(spread(next)):
		}
	}
}

// spread is a time that is up to a tenth shorter or longer, so that polls don't
// meet at one source.
func spread(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5) //nolint:gosec // nobody gains by guessing it
}

// look asks for what events have told of and, if the trigger says so, for all
// versions. done is called once the control plane has been told.
func (p *polling) look(ctx context.Context) (o task.Observed, done func()) {
	ctx, stop := context.WithTimeout(ctx, lookFor)
	defer stop()
	answered, err := p.answers(ctx)
	if err == nil && p.Every > 0 {
		var all []version
		if all, err = p.list(ctx); err == nil {
			return p.compared(ctx, all, answered)
		}
	}
	if err != nil {
		return task.Observed{Trouble: err.Error()}, func() {}
	}
	if len(answered) == 0 {
		return task.Observed{}, func() {}
	}
	return told(poll.News{New: answered}), func() { p.Asked = nil }
}

// compared are the versions that weren't there before, of all that are there. Of
// the first look there are none.
func (p *polling) compared(ctx context.Context, all []version, answered []poll.Version) (task.Observed, func()) {
	known := map[string]bool{}
	var fresh []version // the newest first
	for _, v := range all {
		hash := poll.Hash(v.id)
		known[hash] = true
		if p.Begun && !p.known[hash] && (p.Since.IsZero() || v.created.After(p.Since)) {
			fresh = append(fresh, v)
		}
	}
	n := poll.News{Looked: true, New: answered, Passed: max(0, len(fresh)-poll.MaxNews)}
	for _, v := range slices.Backward(fresh[:min(len(fresh), poll.MaxNews)]) {
		found, err := p.find(ctx, v.id)
		if fault.Is(err, fault.NotFound) { // gone again
			continue
		}
		if err != nil {
			return task.Observed{Trouble: err.Error()}, func() {}
		}
		n.New = append(n.New, found)
	}
	for _, v := range all[:min(len(all), poll.MaxSeen)] {
		n.Seen = append(n.Seen, poll.Hash(v.id))
	}
	if len(all) > poll.MaxSeen {
		n.Since = all[poll.MaxSeen-1].created
	}
	done := func() { p.Begun, p.known, p.Since, p.Asked = true, known, time.Time{}, nil }
	if p.Begun && len(n.New) == 0 && n.Passed == 0 {
		done()
		return task.Observed{}, func() {}
	}
	return told(n), done
}

// told is news as they travel.
func told(n poll.News) task.Observed {
	doc, err := json.Marshal(n)
	if err != nil { // it is texts and times
		return task.Observed{Trouble: err.Error()}
	}
	return task.Observed{News: doc}
}

// list gives all versions, the newest first.
func (p *polling) list(ctx context.Context) ([]version, error) {
	src, err := p.open(p.Artifact)
	if err != nil {
		return nil, err
	}
	return src.versions(ctx)
}

// find looks one up.
func (p *polling) find(ctx context.Context, id string) (poll.Version, error) {
	src, err := p.open(p.Artifact)
	if err != nil {
		return poll.Version{}, err
	}
	f, err := src.find(ctx, id)
	if f.Version == "" {
		f.Version = id
	}
	return poll.Version{ID: id, Results: f}, err
}

// open makes the source. The versions of machine images are known by their ids
// here: a name may be given again.
func (p *polling) open(a lookup.Artifact) (source, error) {
	if a.AMI != nil {
		return imagesByID{&machineImages{spec: *a.AMI, t: p.t}}, nil
	}
	return open(a, p.t)
}

// imagesByID are machine images as versions by their ids.
type imagesByID struct{ *machineImages }

func (m imagesByID) versions(ctx context.Context) ([]version, error) {
	if err := m.list(ctx); err != nil {
		return nil, err
	}
	all := make([]version, 0, len(m.all))
	for _, i := range m.all {
		all = append(all, version{sdk.ToString(i.ImageId), made(i)})
	}
	return all, nil
}

func (m imagesByID) find(ctx context.Context, id string) (found, error) {
	m.only = id
	if err := m.list(ctx); err != nil {
		return found{}, err
	}
	if len(m.all) == 0 {
		return found{}, fault.New(fault.NotFound, "there is no AMI %s", id)
	}
	image := m.all[0]
	f := described(image)
	f.Version = sdk.ToString(image.Name)
	for _, tag := range image.Tags {
		f.Metadata["tags."+sdk.ToString(tag.Key)] = sdk.ToString(tag.Value)
	}
	return f, nil
}

// answers looks at what events have told of.
func (p *polling) answers(ctx context.Context) ([]poll.Version, error) {
	var out []poll.Version
	for _, id := range p.Asked {
		v, err := p.answer(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// answer looks at one: if the trigger's tags and filters don't fit, it says which.
func (p *polling) answer(ctx context.Context, id string) (poll.Version, error) {
	v, err := p.find(ctx, id)
	if !fault.Is(err, fault.NotFound) {
		return v, err
	}
	whole := p.Artifact
	if whole.AMI != nil {
		images := *whole.AMI
		images.Filters = nil
		whole.AMI = &images
	}
	src, err := p.open(whole)
	if err != nil {
		return v, err
	}
	f, err := src.find(ctx, id)
	if fault.Is(err, fault.NotFound) {
		v.Unfit = "the connector's account has no such version that is available"
		return v, nil
	}
	v.Results = f
	if err == nil && whole.AMI != nil {
		v.Unfit = unfit(p.Artifact.AMI.Filters, f.Metadata)
	}
	return v, err
}

// unfit says which filters keep an image out: the tags that differ, else those
// that may.
func unfit(filters, metadata map[string]string) string {
	var tags, others []string
	for _, key := range slices.Sorted(maps.Keys(filters)) {
		want := filters[key]
		name, isTag := strings.CutPrefix(key, "tag:")
		if !isTag {
			others = append(others, fmt.Sprintf("%s is %q", key, want))
			continue
		}
		switch value, has := metadata["tags."+name]; {
		case !has:
			tags = append(tags, fmt.Sprintf("it has no tag %s; want %q", name, want))
		case !like(want, value):
			tags = append(tags, fmt.Sprintf("its tag %s is %q, not %q", name, value, want))
		}
	}
	if len(tags) > 0 {
		return strings.Join(tags, "; ")
	}
	return "it isn't one whose " + strings.Join(others, " and ")
}

// like compares as EC2's filters do: * and ? stand for any characters.
func like(pattern, value string) bool {
	p := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	ok, err := regexp.MatchString(`(?s)\A`+p+`\z`, value)
	return ok && err == nil
}
