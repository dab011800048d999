package firing

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/dispatch"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/poll"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/match"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

const (
	// maxPolls is how many triggers one delegate asks for new versions for.
	maxPolls = 500
	// taken is how many one request takes, so that its answer stays small.
	taken = 50
	// maxRaces bounds how often a change is made again because somebody else
	// changed what it was made from.
	maxRaces = 20
	// pollMark begins the ids of polls. Those of placements' watches have no dot.
	pollMark = "poll."
)

// IsPoll says whether a watch, as a delegate names it, asks for new versions.
func IsPoll(id string) bool { return strings.HasPrefix(id, pollMark) }

// pollID is a trigger's poll as delegates know it.
func pollID(k store.EntityKey) string {
	parts := []string{k.Scope.Account, k.Scope.Org, k.Scope.Project, k.Env, k.ID}
	return pollMark + base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\x00")))
}

// parsePollID reads an id that pollID made. Whose it is must be checked still:
// delegates send it.
func parsePollID(id string) (store.EntityKey, error) {
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, pollMark))
	parts := strings.Split(string(text), "\x00")
	if err != nil || len(parts) != 5 || !IsPoll(id) {
		return store.EntityKey{}, fault.New(fault.Invalid, "%q isn't the id of a poll", id)
	}
	return store.EntityKey{Scope: ref.Scope{Account: parts[0], Org: parts[1], Project: parts[2]}, Kind: ref.Trigger, Env: parts[3], ID: parts[4]}, nil
}

// Polls gives a delegate the triggers for which it is to ask for new versions and
// doesn't yet: those that are its own, and those that it may ask for and nobody
// does. Like the watch of a placement, a poll is its delegate's for as long as
// that is connected.
func (s *Service) Polls(ctx context.Context, d store.Delegate, in protocol.Watching) (protocol.Watches, error) {
	var out protocol.Watches
	d.LastSeen, d.Running = s.Now(), 0 // it speaks, and a poll takes no place of a task
	if d.Draining || !slices.Contains(d.Kinds, poll.Kind) {
		return out, nil
	}
	all, err := s.listeners(ctx, entity.WatchedSource)
	if err != nil {
		return out, err
	}
	held := map[string]int64{}
	for _, w := range in.Held {
		held[w.ID] = w.Fence
	}
	var connected map[string]bool // nil: nobody has asked yet
	for _, l := range all {
		if !d.Scope.Covers(l.key.Scope) || len(out.Watch) >= taken {
			delete(held, pollID(l.key))
			continue
		}
		p, err := s.polled(ctx, l)
		if err != nil {
			return out, err
		}
		fence, holds := held[pollID(l.key)]
		if p.Watcher == d.ID && holds && fence >= p.Fence {
			delete(held, pollID(l.key))
			continue
		}
		if p.Watcher != d.ID && p.Watcher != "" {
			if connected == nil {
				if connected, err = s.Connected(ctx, d.Scope.Account); err != nil {
					return out, err
				}
			}
			if connected[p.Watcher] {
				continue // and dropped, if the delegate holds it
			}
		}
		w, err := s.give(ctx, d, l, p)
		if err != nil {
			return out, err
		}
		if w != nil {
			delete(held, w.ID)
			out.Watch = append(out.Watch, *w)
		}
		if len(in.Held)+len(out.Watch) >= maxPolls {
			break
		}
	}
	return out, s.drop(ctx, all, held, &out)
}

// drop adds what the delegate holds and isn't its own. What no trigger wants any
// more is forgotten: a trigger that is enabled again begins anew.
func (s *Service) drop(ctx context.Context, all []listener, held map[string]int64, out *protocol.Watches) error {
	out.Drop = slices.Sorted(maps.Keys(held))
	for _, id := range out.Drop {
		k, err := parsePollID(id)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(l listener) bool { return l.key == k }) {
			continue
		}
		if err := s.Stored.DeletePoll(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// polled reads a trigger's, or begins it anew if the trigger was saved since.
func (s *Service) polled(ctx context.Context, l listener) (store.Poll, error) {
	p, err := s.Stored.Poll(ctx, l.key)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return p, err
	}
	if p.Trigger != l.saved {
		p = store.Poll{Key: l.key, Version: p.Version, Watcher: p.Watcher, Fence: p.Fence + 1, Trigger: l.saved, Asked: p.Asked}
	}
	return p, nil
}

// give makes a poll the delegate's, if it may ask there and nobody else was
// quicker.
func (s *Service) give(ctx context.Context, d store.Delegate, l listener, p store.Poll) (*task.Watch, error) {
	a, err := s.account(ctx, l.key.Scope, l.trigger.Artifact)
	if err != nil {
		return nil, s.trouble(ctx, l, p, reason(err))
	}
	if !dispatch.Fits(d, l.key.Scope, a.selectors, s.Now()) {
		if p.Watcher == d.ID { // it may be somebody else's: the connector has changed
			p.Watcher = ""
			_, err = s.Stored.SavePoll(ctx, p)
		}
		return nil, ignoreStale(err)
	}
	values, err := s.Secret.RevealAll(ctx, l.key.Scope, a.secrets)
	if err != nil {
		return nil, s.trouble(ctx, l, p, reason(err))
	}
	tokens, err := s.Issuer.SignAll(ctx, a.identities, pollTask(l.key))
	if err != nil {
		return nil, s.trouble(ctx, l, p, reason(err))
	}
	if p.Watcher != d.ID {
		p.Watcher = d.ID
		p.Fence++
	}
	if p, err = s.Stored.SavePoll(ctx, p); err != nil {
		return nil, ignoreStale(err)
	}
	place, err := json.Marshal(poll.Place{
		Artifact: a.asked(l.trigger.Artifact), Every: l.trigger.Artifact.Every, Begun: p.Begun, Seen: p.Seen, Since: p.Since, Asked: p.Asked,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the poll of trigger %s: %w", l.key.ID, err)
	}
	return &task.Watch{
		ID: pollID(l.key), Fence: p.Fence, Kind: poll.Kind, Place: place, Secrets: values, LateSecrets: a.late, Tokens: tokens,
		Target: task.Target{Service: "trigger " + l.key.ID},
	}, nil
}

// pollTask stands for a poll in tokens, which name the task that they are for.
func pollTask(k store.EntityKey) task.ID { return task.ID(pollID(k)) }

// account is an account of AWS as a delegate reaches it, outside of any
// execution. Secrets in it are placeholders.
type account struct {
	task.AWS
	selectors  []string
	secrets    map[string]string // placeholder -> name of the secret
	late       map[string]task.LateSecret
	identities map[string]identity.Identity
}

// account is what the connector of a trigger gives.
func (s *Service) account(ctx context.Context, scope ref.Scope, t entity.ArtifactTrigger) (account, error) {
	root := &plan.Node{ID: plan.NodeID(ref.Pipeline), Kind: plan.KindPipeline, Doc: &yamldoc.Node{Kind: yamldoc.Mapping}}
	names := resolve.New(resolve.Config{
		Context: ctx, Plan: &plan.Plan{Root: root, Pipeline: root.Doc}, Node: root, State: func(plan.NodeID) plan.State { return plan.State{} },
		Execution: store.Execution{Scope: scope}, Entities: s.Store, Files: s.Files, Types: s.Types, Templates: templatestore.Lookup(s.Store.Entity), Now: s.Now(),
	})
	c, err := names.Connector(t.Connector.Value)
	if err != nil {
		return account{}, err
	}
	reached, err := c.AWS(t.Region.Value)
	if err != nil {
		return account{}, err
	}
	a := account{AWS: reached, selectors: slices.Clone(c.Selectors), secrets: names.Secrets(), late: names.LateSecrets(), identities: names.Identities()}
	for _, late := range a.late {
		a.selectors = append(a.selectors, late.Selectors...)
	}
	return a, nil
}

// asked is what a delegate asks for a trigger.
func (a account) asked(t entity.ArtifactTrigger) lookup.Artifact {
	out := lookup.Artifact{Type: t.Type.Value, Choice: lookup.Choice{Pattern: t.FilePath.Value}}
	switch t.Type.Value {
	case trigger.ECR:
		out.Name, out.ECR = t.ImagePath.Value, &lookup.ECRImages{AWS: a.AWS, Account: t.RegistryID.Value, Repository: t.ImagePath.Value}
	case trigger.AmazonS3:
		out.Name, out.S3 = "s3://"+t.Bucket.Value, &task.S3Objects{AWS: a.AWS, Bucket: t.Bucket.Value}
	default:
		out.Name, out.AMI = "AMI in "+t.Region.Value, &lookup.MachineImages{AWS: a.AWS, Filters: artifact.Filtered(t.Tags, t.Filters)}
	}
	return out
}

// PollToken signs an identity of a poll anew, for the delegate whose it is.
func (s *Service) PollToken(ctx context.Context, d store.Delegate, r protocol.WatchToken) (task.IdentityToken, error) {
	_, l, err := s.mine(ctx, d, task.Watched{ID: r.ID, Fence: r.Fence})
	if err != nil {
		return task.IdentityToken{}, err
	}
	a, err := s.account(ctx, l.key.Scope, l.trigger.Artifact)
	if err != nil {
		return task.IdentityToken{}, err
	}
	as, ok := a.identities[r.Identity]
	if !ok {
		return task.IdentityToken{}, fault.New(fault.NotFound, "the poll of trigger %s came with no token of %.64q", l.key.ID, r.Identity)
	}
	return s.Issuer.Sign(ctx, as, pollTask(l.key))
}

// mine is a poll that a delegate has, and its trigger; fault.LeaseLost if it isn't
// the delegate's any more.
func (s *Service) mine(ctx context.Context, d store.Delegate, w task.Watched) (store.Poll, listener, error) {
	k, err := parsePollID(w.ID)
	if err != nil {
		return store.Poll{}, listener{}, err
	}
	if k.Scope.Account != d.Scope.Account || !d.Scope.Covers(k.Scope) {
		return store.Poll{}, listener{}, fault.New(fault.Forbidden, "delegate %s isn't for %s", d.Name, k.Scope)
	}
	lost := fault.New(fault.LeaseLost, "delegate %s doesn't ask for trigger %s with fence %d", d.Name, k.ID, w.Fence)
	p, err := s.Stored.Poll(ctx, k)
	switch {
	case fault.Is(err, fault.NotFound):
		return p, listener{}, lost
	case err != nil:
		return p, listener{}, err
	}
	l, err := s.listener(ctx, k)
	if err != nil {
		return p, l, err
	}
	if p.Watcher != d.ID || p.Fence != w.Fence || l.trigger == nil || p.Trigger != l.saved {
		return p, l, lost
	}
	return p, l, nil
}

// News takes in what a delegate has found for a trigger, and fires it once for
// each new version. The same again fires nothing more, so that a poll which
// couldn't be saved is repeated.
func (s *Service) News(ctx context.Context, d store.Delegate, o task.Observed) error {
	p, l, err := s.mine(ctx, d, o.Watched)
	if err != nil {
		return err
	}
	if o.Trouble != "" {
		return s.trouble(ctx, l, p, o.Trouble)
	}
	before := p.Trouble
	p.Trouble = ""
	if len(o.News) > 0 {
		n, err := readNews(o.News)
		if err != nil {
			return err
		}
		if err := s.tell(ctx, l, n); err != nil {
			return err
		}
		if n.Looked {
			p.Begun, p.Seen, p.Since = true, n.Seen, n.Since
		}
		p.Asked = slices.DeleteFunc(p.Asked, func(id string) bool {
			return slices.ContainsFunc(n.New, func(v poll.Version) bool { return v.ID == id })
		})
	} else if before == "" {
		return nil // a sign of life
	}
	if _, err = s.Stored.SavePoll(ctx, p); fault.Is(err, fault.StaleVersion) {
		return fault.New(fault.LeaseLost, "the poll of trigger %s has changed meanwhile", l.key.ID)
	}
	return err
}

// readNews decodes and bounds what a delegate tells.
func readNews(doc []byte) (poll.News, error) {
	var n poll.News
	if err := json.Unmarshal(doc, &n); err != nil {
		return n, fault.New(fault.Invalid, "the news of a poll: %w", err)
	}
	if len(n.New) > poll.MaxNews+poll.MaxAsked || len(n.Seen) > poll.MaxSeen {
		return n, fault.New(fault.TooLarge, "a poll tells of %d new versions and remembers %d; the limits are %d and %d", len(n.New), len(n.Seen), poll.MaxNews+poll.MaxAsked, poll.MaxSeen)
	}
	for _, hash := range n.Seen {
		if len(hash) != len(poll.Hash("")) {
			return n, fault.New(fault.Invalid, "a poll remembers %.64q; want a hash", hash)
		}
	}
	return n, nil
}

// tell fires a trigger for new versions, in their order.
func (s *Service) tell(ctx context.Context, l listener, n poll.News) error {
	if n.Passed > 0 {
		skipped := store.Fire{
			Trigger: l.key, ID: "passed " + cmp.Or(n.New[0].ID, "all"), At: s.Now(), Outcome: store.FireSkipped,
			Reason: fmt.Sprintf("%d versions were new at once; the oldest %d of them start nothing", n.Passed+len(n.New), n.Passed),
		}
		if err := s.Store.PutFire(ctx, skipped); err != nil {
			return err
		}
	}
	for _, v := range n.New {
		e := found(l.trigger.Artifact, v)
		if _, err := s.fire(ctx, event{listener: l, Event: match.For(e, l.key.ID, l.trigger.Artifact), id: e.ArtifactID(), at: s.Now()}); err != nil {
			return err
		}
	}
	return nil
}

// found is a version that a delegate has found, as an event of AWS would tell of
// it.
func found(t entity.ArtifactTrigger, v poll.Version) trigger.Event {
	a := &trigger.Artifact{Build: cmp.Or(v.Version, v.ID), Region: t.Region.Value, Metadata: maps.Clone(v.Metadata), Unfit: v.Unfit}
	if a.Metadata == nil {
		a.Metadata = map[string]string{}
	}
	e := trigger.Event{Source: t.Type.Value, Types: []string{"Push"}, Artifact: a}
	switch t.Type.Value {
	case trigger.ECR:
		if host := strings.Split(v.Image, "."); len(host) > 3 { // ACCOUNT.dkr.ecr.REGION.
			a.Account, a.Region = host[0], host[3]
		}
		a.Name, e.Tag = t.ImagePath.Value, a.Build
		a.Metadata["digest"], a.Metadata["imagePath"] = v.Digest, a.Name
	case trigger.AmazonS3:
		a.Name = t.Bucket.Value
	default:
		a.Name, a.Account, a.Metadata["amiId"] = a.Region, a.Metadata["ownerId"], v.ID
	}
	return e
}

// trouble writes down why nothing can be asked for a trigger, once.
func (s *Service) trouble(ctx context.Context, l listener, p store.Poll, why string) error {
	if p.Trouble == why {
		return nil
	}
	p.Trouble = why
	if _, err := s.Stored.SavePoll(ctx, p); err != nil {
		return ignoreStale(err)
	}
	at := s.Now()
	return s.Store.PutFire(ctx, store.Fire{
		Trigger: l.key, ID: "poll " + at.UTC().Format("2006-01-02T15:04:05Z"), At: at, Outcome: store.FireFailed, Reason: "nothing can be asked: " + why,
	})
}

// ask has a delegate look at a machine image that an event tells of.
func (s *Service) ask(ctx context.Context, l listener, image string) error {
	for range maxRaces {
		p, err := s.polled(ctx, l)
		if err != nil || slices.Contains(p.Asked, image) {
			return err
		}
		p.Asked = append(p.Asked, image)
		p.Asked = p.Asked[max(0, len(p.Asked)-poll.MaxAsked):]
		p.Fence++
		if _, err = s.Stored.SavePoll(ctx, p); !fault.Is(err, fault.StaleVersion) {
			return err
		}
	}
	return fmt.Errorf("lost the race for the poll of trigger %s %d times", l.key.ID, maxRaces)
}

func ignoreStale(err error) error {
	if fault.Is(err, fault.StaleVersion) {
		return nil
	}
	return err
}
