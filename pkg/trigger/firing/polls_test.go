package firing_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/poll"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// onAMI is a trigger on machine images.
func onAMI(id, more string) string {
	return strings.Replace(strings.Replace(onImage(id, "aws", more), "Ecr", "AmazonMachineImage", 1), ", imagePath: acme/web", "", 1)
}

// polled is a trigger that is polled for.
func polled(trigger string) string {
	return strings.Replace(trigger, "    type: Artifact\n", "    type: Artifact\n    pollInterval: 5m\n", 1)
}

func amiEvent(id, state string) []byte {
	return fmt.Appendf(nil, `{"id":"e","source":"aws.ec2","detail-type":"EC2 AMI State Change","account":"123456789012","region":"eu-west-1","detail":{"ImageId":%q,"State":%q}}`, id, state)
}

// delegate is a connected delegate that can ask for versions.
func (h *host) delegate(id string, tags ...string) store.Delegate {
	h.Helper()
	d := store.Delegate{ID: id, Name: id, Scope: ref.Scope{Account: "default"}, Kinds: []task.Kind{poll.Kind}, Tags: tags, LastSeen: time.Now()}
	if err := h.Store.PutDelegate(h.Context(), d); err != nil {
		h.Fatal(err)
	}
	return d
}

// given asks for the polls of a delegate, and what it is to drop.
func (h *host) given(d store.Delegate, held ...task.Watch) protocol.Watches {
	h.Helper()
	var in protocol.Watching
	for _, w := range held {
		in.Held = append(in.Held, task.Watched{ID: w.ID, Fence: w.Fence})
	}
	out, err := h.Triggers.Polls(h.Context(), d, in)
	if err != nil {
		h.Fatal(err)
	}
	return out
}

// takes is the one poll that a delegate is given.
func (h *host) takes(d store.Delegate) (task.Watch, poll.Place) {
	h.Helper()
	out := h.given(d)
	if len(out.Watch) != 1 {
		h.Fatalf("%s was given %d polls, want one", d.ID, len(out.Watch))
	}
	var p poll.Place
	if err := json.Unmarshal(out.Watch[0].Place, &p); err != nil {
		h.Fatal(err)
	}
	return out.Watch[0], p
}

func (h *host) news(d store.Delegate, w task.Watch, n poll.News) error {
	h.Helper()
	doc, err := json.Marshal(n)
	if err != nil {
		h.Fatal(err)
	}
	return h.Triggers.News(h.Context(), d, task.Observed{Watched: task.Watched{ID: w.ID, Fence: w.Fence}, News: doc})
}

func (h *host) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func hashes(ids ...string) []string {
	out := []string{}
	for _, id := range ids {
		out = append(out, poll.Hash(id))
	}
	return out
}

func tag(name string) poll.Version {
	return poll.Version{ID: name, Results: lookup.Results{
		Version: name, Digest: "sha256:ab", Image: "123456789012.dkr.ecr.eu-west-1.amazonaws.com/acme/web:" + name, Metadata: map[string]string{"tag": name},
	}}
}

func (h *host) outcomes(id string) []string {
	h.Helper()
	var out []string
	for _, f := range h.fires(id) {
		out = append(out, string(f.Outcome)+" "+f.Reason)
	}
	slices.Sort(out)
	return out
}

// What is there when a poll begins starts nothing. What comes later starts one
// execution, whether a delegate tells of it, an event, or both.
func TestAPollFiresForNewVersions(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(awsConnectors + "\n---\n" + polled(onImage("on_image", "aws", "")))
	d := h.delegate("d1")
	w, p := h.takes(d)
	if w.Kind != poll.Kind || p.Begun || p.Every != 5*time.Minute || p.Artifact.ECR == nil || p.Artifact.ECR.Repository != "acme/web" || p.Artifact.ECR.AWS.Region != "eu-west-1" {
		t.Fatalf("the poll is %+v", p)
	}
	if again := h.given(d, w); len(again.Watch)+len(again.Drop) != 0 {
		t.Errorf("who polls already is given %+v", again)
	}
	h.ok(h.news(d, w, poll.News{Looked: true, Seen: hashes("1.1", "1.0")}))
	if list := h.executions(); len(list) != 0 {
		t.Fatalf("what was there has started %+v", list)
	}
	h.image("e1", "1.2")
	for range 2 { // the first answer may be lost
		h.ok(h.news(d, w, poll.News{Looked: true, Seen: hashes("1.3", "1.2", "1.1", "1.0"), New: []poll.Version{tag("1.2"), tag("1.3")}}))
	}
	h.image("e2", "1.3")
	var versions []string
	for _, e := range h.executions() {
		given, err := launch.GivenTo(e)
		h.ok(err)
		versions = append(versions, given.YAML)
	}
	if len(versions) != 2 || !strings.Contains(versions[0], "1.3") || !strings.Contains(versions[1], "1.2") {
		t.Errorf("started are %q; want 1.2 and then 1.3", versions)
	}
	if got := h.outcomes("on_image"); len(got) != 2 {
		t.Errorf("fires are %q; want one for each version", got)
	}
}

// A delegate that has vanished, here by saying goodbye, is followed by another,
// which knows what was seen.
func TestAnotherDelegateTakesAPollOver(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(awsConnectors + "\n---\n" + polled(onImage("on_image", "aws", "")))
	d1, d2 := h.delegate("d1"), h.delegate("d2")
	w1, _ := h.takes(d1)
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h.ok(h.news(d1, w1, poll.News{Looked: true, Seen: hashes("1.0"), Since: since}))
	if out := h.given(d2); len(out.Watch) != 0 {
		t.Fatalf("a poll that somebody has is given away: %+v", out)
	}
	h.ok(h.Store.DeleteDelegate(t.Context(), "default", "d1"))
	w2, p := h.takes(d2)
	if !p.Begun || !slices.Equal(p.Seen, hashes("1.0")) || !p.Since.Equal(since) || w2.Fence <= w1.Fence {
		t.Errorf("the successor gets %+v with fence %d; want what was seen", p, w2.Fence)
	}
	if err := h.news(d1, w1, poll.News{Looked: true, New: []poll.Version{tag("1.1")}}); !fault.Is(err, fault.LeaseLost) {
		t.Errorf("who was given up for lost tells news: %v", err)
	}
	h.ok(h.news(d2, w2, poll.News{Looked: true, Seen: hashes("1.2", "1.1", "1.0"), New: []poll.Version{tag("1.1"), tag("1.2")}}))
	if got := h.outcomes("on_image"); len(got) != 2 {
		t.Errorf("fires are %q; want both, once", got)
	}
	if out := h.given(d1, w1); len(out.Drop) != 1 {
		t.Errorf("who comes back is given %+v; want to drop it", out)
	}
}

// A trigger that is saved again or disabled begins anew.
func TestAChangedTriggerBeginsAnew(t *testing.T) {
	t.Parallel()
	h := setup(t)
	doc := polled(onImage("on_image", "aws", ""))
	h.save(awsConnectors + "\n---\n" + doc)
	d := h.delegate("d1")
	w, _ := h.takes(d)
	h.ok(h.news(d, w, poll.News{Looked: true, Seen: hashes("1.0")}))
	h.save(strings.Replace(doc, "acme/web", "acme/api", 1))
	if err := h.news(d, w, poll.News{Looked: true, New: []poll.Version{tag("1.1")}}); !fault.Is(err, fault.LeaseLost) {
		t.Errorf("what the trigger wanted before fires it: %v", err)
	}
	out := h.given(d, w)
	if len(out.Watch) != 1 || !strings.Contains(string(out.Watch[0].Place), "acme/api") || strings.Contains(string(out.Watch[0].Place), `"begun"`) {
		t.Fatalf("after a change it is given %+v; want it from the beginning", out)
	}
	h.save(strings.Replace(doc, "  pipelineIdentifier", "  enabled: false\n  pipelineIdentifier", 1))
	if out = h.given(d, out.Watch[0]); len(out.Watch) != 0 || len(out.Drop) != 1 {
		t.Errorf("a disabled trigger gives %+v; want to drop it", out)
	}
	if _, err := h.Store.Poll(t.Context(), store.EntityKey{Scope: project, Kind: ref.Trigger, Env: "deploy", ID: "on_image"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("what a disabled trigger has seen is kept: %v", err)
	}
}

func TestWhoPolls(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(strings.Replace(awsConnectors, "{credential: {type: InheritFromDelegate}}", "{credential: {type: InheritFromDelegate}, delegateSelectors: [eu]}", 1) +
		"\n---\n" + polled(onImage("on_image", "aws", "")) + "\n---\n" + onImage("by_events", "aws", ""))
	without := h.delegate("d1", "us")
	other := h.delegate("d2", "eu")
	other.Scope = ref.Scope{Account: "default", Org: "default", Project: "other"}
	old := h.delegate("d3", "eu")
	old.Kinds = []task.Kind{task.KindArtifact}
	leaving := h.delegate("d4", "eu")
	leaving.Draining = true
	for _, d := range []store.Delegate{without, other, old, leaving} {
		if out := h.given(d); len(out.Watch) != 0 {
			t.Errorf("%s is given %+v", d.ID, out)
		}
	}
	h.takes(h.delegate("d5", "eu"))
}

// More new versions than a look may tell of are said in the history, and so is
// once why nothing can be asked.
func TestTheHistoryOfAPoll(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(awsConnectors + "\n---\n" + polled(onImage("on_image", "aws", `, eventConditions: [{key: build, operator: StartsWith, value: v}]`)))
	d := h.delegate("d1")
	w, _ := h.takes(d)
	h.ok(h.news(d, w, poll.News{Looked: true, New: []poll.Version{tag("1.0")}, Passed: 7}))
	for range 2 {
		h.ok(h.Triggers.News(t.Context(), d, task.Observed{Watched: task.Watched{ID: w.ID, Fence: w.Fence}, Trouble: "AWS doesn't let the connector in"}))
	}
	want := []string{
		"Failed nothing can be asked: AWS doesn't let the connector in",
		"Skipped 8 versions were new at once; the oldest 7 of them start nothing",
		`Skipped <+trigger.artifact.build> is "1.0", not StartsWith "v"`,
	}
	if diff := cmp.Diff(want, h.outcomes("on_image")); diff != "" {
		t.Errorf("fires (-want +got):\n%s", diff)
	}
	if err := h.news(d, w, poll.News{Looked: true, Seen: make([]string, poll.MaxSeen+1)}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a delegate remembers too much: %v", err)
	}
	if err := h.news(d, w, poll.News{Looked: true, Seen: []string{"latest"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a delegate remembers what is no hash: %v", err)
	}
}

// An event has a machine image's id alone: a delegate is asked for the rest, and
// what it finds starts one execution, or says why it starts none.
func TestAMachineImageIsLookedAt(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(awsConnectors + "\n---\n" + onAMI("ami", `, tags: [{name: team, value: web}], versionRegex: "web-.*", eventConditions: [{key: <+trigger.artifact.metadata.tags.team>, operator: Equals, value: web}]`) +
		"\n---\n" + strings.Replace(onAMI("elsewhere", ""), "eu-west-1", "eu-central-1", 1) + "\n---\n" + strings.Replace(onAMI("foreign", ""), "connectorRef: aws", "connectorRef: other", 1))
	d := h.delegate("d1")
	polls := h.given(d)
	if len(polls.Watch) != 3 {
		t.Fatalf("the delegate is given %+v; want three", polls)
	}
	for _, e := range [][]byte{
		amiEvent("ami-1", "available"), amiEvent("ami-2", "failed"), amiEvent("ami-3", "deregistered"), amiEvent("ami-4", "available"),
		amiEvent("ami-5", "available"), amiEvent("ami-1", "available"), // at least once
	} {
		r, err := h.Triggers.Artifact(t.Context(), e)
		if err != nil || len(r.Fires) != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	out := h.given(d, polls.Watch...)
	if len(out.Watch) != 1 || len(out.Drop) != 0 {
		t.Fatalf("after the events it is given %+v; want the one that they concern", out)
	}
	w := out.Watch[0]
	var p poll.Place
	h.ok(json.Unmarshal(w.Place, &p))
	if want := []string{"ami-1", "ami-4", "ami-5"}; !slices.Equal(p.Asked, want) || p.Every != 0 || p.Artifact.AMI.Filters["tag:team"] != "web" {
		t.Fatalf("it asks %+v; want %q", p, want)
	}
	found := func(id, name, unfit string) poll.Version {
		return poll.Version{ID: id, Unfit: unfit, Results: lookup.Results{
			Version: name, Image: id, Metadata: map[string]string{"ownerId": "123456789012", "tags.team": "web", "creationDate": "2026-11-23T08:21:05.000Z"},
		}}
	}
	n := poll.News{New: []poll.Version{found("ami-1", "web-1", ""), found("ami-4", "web-4", `its tag team is "db", not "web"`), found("ami-5", "db-5", "")}}
	h.ok(h.news(d, w, n))
	h.ok(h.news(d, w, n))
	list := h.executions()
	if len(list) != 1 {
		t.Fatalf("started are %+v; want one", list)
	}
	given, err := launch.GivenTo(list[0])
	if err != nil || !strings.Contains(given.YAML, "web-1") {
		t.Errorf("inputs are %q, %v; want the image's name", given.YAML, err)
	}
	got := slices.Compact(h.outcomes("ami"))
	want := []string{`Skipped its tag team is "db", not "web"`, `Skipped the name "db-5" isn't "web-.*"`, "Started "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fires (-want +got):\n%s", diff)
	}
	if left, err := h.Store.Poll(t.Context(), store.EntityKey{Scope: project, Kind: ref.Trigger, Env: "deploy", ID: "ami"}); err != nil || len(left.Asked) != 0 {
		t.Errorf("still asked are %q, %v", left.Asked, err)
	}
}
