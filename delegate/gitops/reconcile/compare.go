package reconcile

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/compare"
	"github.com/slipway-cd/slipway/delegate/gitops/live"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/health"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/syncing"
)

// atOnce is how many requests one application makes of a cluster at once.
const atOnce = 32

// verdict is what a dry run said of an object, as long as neither it nor what it is
// to be has changed.
type verdict struct {
	version string // of the live object
	hash    live.Hash
	synced  bool
	message string // why it can't be applied
	// own and uid are those of an object that is ours as it is.
	own     live.Hash
	uid     string
	problem error // why nothing is known
}

// unchanged says by ownership alone whether an object is as it was applied, and as
// it is to be (semantics/gitops §6).
func (a *app) unchanged(w *wanted, o live.Object) bool {
	k, ok := a.rec.Inventory[w.key]
	return ok && k.Applied == w.hash && k.UID == string(o.UID) && o.Own != 0 && k.Own == o.Own && !o.Deleting
}

// compare says of each object whether it is as it is to be, and how it fares.
func (a *app) compare(ctx context.Context) {
	s := &a.rec.Status
	s.Sync.ComparedTo = gitops.ComparedTo{Destination: a.doc.Spec.Destination, Source: a.doc.Spec.Source, Sources: a.doc.Spec.Sources, IgnoreDifferences: a.doc.Spec.IgnoreDifferences}
	if a.target == nil {
		s.Sync.Status = gitops.SyncUnknown
		return
	}
	s.Sync.Revision, s.Sync.Revisions = revision(a.doc.Spec.Sources, a.target.revisions)
	a.odd = nil
	a.judge(ctx)
	resources := make([]gitops.ResourceStatus, 0, len(a.target.objects))
	worst := gitops.Synced
	add := func(one gitops.ResourceStatus, counts bool) {
		if counts && one.Status == gitops.OutOfSync {
			worst = gitops.OutOfSync
		}
		resources = append(resources, one)
	}
	a.shared = nil
	for i := range a.target.objects {
		w := &a.target.objects[i]
		if w.hook {
			continue
		}
		one := gitops.ResourceStatus{Key: w.key, Version: w.version, Status: gitops.OutOfSync, SyncWave: syncing.Wave(w.notes)}
		o, there := a.seen(w.key)
		switch {
		case !there:
			one.Health = &gitops.HealthStatus{Status: gitops.Missing}
		case o.App != a.key.tracked():
			if o.App != "" {
				a.shared = append(a.shared, w.key)
			}
			one.Health = o.Health
		default:
			one.Health = o.Health
			if a.unchanged(w, o) || a.verdicts[w.key].synced {
				one.Status = gitops.Synced
			}
		}
		if w.notes[object.AnnotationIgnoreHealth] == "true" && there {
			one.Health = nil
		}
		add(one, true)
	}
	for k := range a.rec.Inventory {
		if _, there := a.seen(k); !there && a.target.find(k) == nil {
			delete(a.rec.Inventory, k) // until it is gone, it is watched for
		}
	}
	for _, k := range a.extras() {
		o, _ := a.seen(k)
		add(gitops.ResourceStatus{
			Key: k, Version: a.rec.Inventory[k].Version, Status: gitops.OutOfSync, Health: o.Health, RequiresPruning: true, SyncWave: syncing.Wave(o.Notes),
			RequiresDeletionConfirm: syncing.ParseOptions(strings.Split(o.Notes[object.AnnotationOptions], ","))[syncing.OptionPrune] == "confirm",
		}, !strings.Contains(o.Notes[object.AnnotationCompare], "IgnoreExtraneous"))
	}
	slices.SortFunc(resources, func(a, b gitops.ResourceStatus) int { return compareKeys(a.Key, b.Key) })
	s.Resources = resources
	s.Summary = summaryOf(a)
	a.drifted = worst == gitops.OutOfSync
	s.Sync.Status = worst
	if slices.ContainsFunc(slices.Concat(a.found, a.odd), func(c gitops.Condition) bool { return c.Type == gitops.ConditionComparisonError }) {
		s.Sync.Status = gitops.SyncUnknown
	}
	a.fares(health.App(resources))
}

// revision is that of an application with one source, or those of several.
func revision(several []gitops.Source, all []string) (string, []string) {
	if len(several) > 0 {
		return "", all
	}
	if len(all) == 0 {
		return "", nil
	}
	return all[0], nil
}

// fares takes how the application fares now.
func (a *app) fares(h gitops.HealthStatus) {
	was := a.rec.Status.Health
	h.LastTransitionTime = was.LastTransitionTime
	if was.Status != h.Status || was.LastTransitionTime == nil {
		now := a.r.clock().UTC().Truncate(time.Second)
		h.LastTransitionTime = &now
	}
	a.rec.Status.Health = h
}

// extras are the objects that are the application's and in its target no more.
func (a *app) extras() []object.Key {
	var out []object.Key
	for _, k := range a.site.watcher.Of(a.key.tracked()) {
		o, there := a.seen(k)
		if _, hook := syncing.Hooks(o.Notes); there && !hook && a.target.find(k) == nil && !a.excluded(k.Group, k.Kind) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
}

// judge has the server say, in a dry run, what becomes of objects that ownership
// says nothing good of.
func (a *app) judge(ctx context.Context) {
	var doubtful []*wanted
	for i := range a.target.objects {
		w := &a.target.objects[i]
		o, there := a.seen(w.key)
		if w.hook || !there || o.App != a.key.tracked() || a.unchanged(w, o) {
			delete(a.verdicts, w.key)
			continue
		}
		if v, ok := a.verdicts[w.key]; !ok || v.version != o.ResourceVersion || v.hash != w.hash {
			doubtful = append(doubtful, w)
		}
	}
	if len(doubtful) == 0 {
		return
	}
	loaded, err := a.load(ctx, a.target)
	if err != nil {
		a.log.WarnContext(ctx, "the target can't be read again", "error", err)
		return
	}
	rules, err := a.ignored(loaded, true)
	if err != nil {
		a.odd = append(a.odd, gitops.Condition{Type: gitops.ConditionComparisonError, Message: err.Error()})
		return
	}
	verdicts := make([]verdict, len(doubtful))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, w := range doubtful {
		g.Go(func() error {
			w = loaded.find(w.key)
			v, err := a.dryRun(ctx, rules, w)
			v.problem = err
			verdicts[i] = v
			return nil
		})
	}
	_ = g.Wait() // they give no errors
	if a.verdicts == nil {
		a.verdicts = map[object.Key]verdict{}
	}
	for i, w := range doubtful {
		if err := verdicts[i].problem; err != nil { // it is asked again
			a.odd = append(a.odd, gitops.Condition{Type: gitops.ConditionComparisonError, Message: err.Error()})
			continue
		}
		a.verdicts[w.key] = verdicts[i]
		if v := verdicts[i]; v.synced && v.own != 0 {
			if a.rec.Inventory == nil {
				a.rec.Inventory = inventory{}
			}
			a.rec.Inventory[w.key] = kept{Key: w.key, Version: w.version, UID: v.uid, Own: v.own, Applied: w.hash, Shows: w.shows}
		}
	}
}

// ignored are the differences that don't count: what differs from render to render
// and, if they are asked for, those that the document lists.
func (a *app) ignored(t *target, own bool) (*compare.Rules, error) {
	var list []gitops.IgnoreRule
	for k, pointers := range t.unstable {
		namespace := k.Namespace
		if w := t.find(k); namespace == "" && w == nil {
			namespace = a.doc.Spec.Destination.Namespace // as it was rendered, it named none
		}
		list = append(list, gitops.IgnoreRule{Group: k.Group, Kind: k.Kind, Name: k.Name, Namespace: namespace, JSONPointers: pointers})
	}
	if own {
		list = append(slices.Clone(a.doc.Spec.IgnoreDifferences), list...)
	}
	s := &a.docs.Settings
	return compare.Compile(compare.Settings{Rules: s.Ignored, Status: s.Status, AggregatedRoles: s.AggregatedRoles, JQTimeout: s.JQTimeout}, list)
}

// dryRun compares an object with what an apply would make of it.
func (a *app) dryRun(ctx context.Context, rules *compare.Rules, w *wanted) (verdict, error) {
	before, err := a.site.cluster.Get(ctx, w.body)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{hash: w.hash}
	if before == nil {
		return v, nil
	}
	v.version = before.GetResourceVersion()
	after, err := a.site.cluster.Apply(ctx, w.body, applying.Way{Manager: object.Manager, DryRun: true, Validation: "Ignore"}, io.Discard)
	if err != nil {
		v.message = err.Error() //nolint:nilerr // the refusal is the verdict
		return v, nil
	}
	if after == nil {
		return v, nil
	}
	same, err := rules.Alike(ctx, before, after)
	if err != nil {
		return verdict{}, fault.Wrap(err, "compare %s", describe(w.key))
	}
	v.synced = same
	if own := live.OwnHash(before); same && own == live.OwnHash(after) {
		v.own, v.uid = own, string(before.GetUID())
	}
	return v, nil
}
