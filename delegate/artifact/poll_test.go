package artifact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/poll"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// bucket is S3 in memory: keys, and when they were put. It waits for nobody, so
// that a test's clock can run.
type bucket struct {
	mu    sync.Mutex
	keys  map[string]time.Time
	fails bool
	asked int // lists
}

func (b *bucket) put(at time.Time, keys ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range keys {
		b.keys[k] = at
	}
}

func (b *bucket) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	answer := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	if b.fails {
		return answer(http.StatusForbidden, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
	}
	if r.Method == http.MethodHead {
		return answer(http.StatusOK, "")
	}
	b.asked++
	var items strings.Builder
	for _, k := range slices.Sorted(maps.Keys(b.keys)) {
		if strings.HasPrefix(k, r.URL.Query().Get("prefix")) {
			fmt.Fprintf(&items, "<Contents><Key>%s</Key><LastModified>%s</LastModified></Contents>", k, b.keys[k].UTC().Format(time.RFC3339))
		}
	}
	return answer(http.StatusOK, "<ListBucketResult>"+items.String()+"</ListBucketResult>")
}

func (b *bucket) watch(p poll.Place) task.Watch {
	p.Artifact = lookup.Artifact{Type: "AmazonS3", Name: "s3://builds", Choice: lookup.Choice{Pattern: "web/.*"}, S3: &task.S3Objects{AWS: keys("eu-central-1"), Bucket: "builds"}}
	doc, err := json.Marshal(p)
	if err != nil {
		panic(err) // it is the test's own
	}
	return task.Watch{Kind: poll.Kind, Place: doc}
}

// reported is what a watch has told.
type reported struct {
	t     *testing.T
	news  []poll.News
	text  []string
	fails error
}

func (r *reported) take(_ context.Context, o task.Observed) error {
	r.t.Helper()
	if err := r.fails; err != nil {
		r.fails = nil
		return err
	}
	var n poll.News
	if len(o.News) > 0 {
		if err := json.Unmarshal(o.News, &n); err != nil {
			r.t.Error(err)
		}
		r.news = append(r.news, n)
	}
	text := o.Trouble
	for _, v := range n.New {
		text += v.ID + " "
	}
	r.text = append(r.text, strings.TrimSpace(text))
	return nil
}

// polls runs a watch for a while after each of the steps of a test.
func polls(t *testing.T, over http.RoundTripper, w task.Watch, r *reported, steps ...func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- artifact.Watch(over)(ctx, w, r.take) }()
	for _, s := range steps {
		synctest.Wait()
		s()
		<-time.After(6 * time.Minute) // of the test's clock: an interval and what it is spread by
	}
	synctest.Wait()
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
}

func hashes(ids ...string) []string {
	var out []string
	for _, id := range ids {
		out = append(out, poll.Hash(id))
	}
	return out
}

// The first look tells what is there, and later ones what is new, the oldest
// first. What couldn't be told is told again.
func TestAWatchTellsNewVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{keys: map[string]time.Time{}}
		for i := range 300 {
			b.put(time.Now(), fmt.Sprintf("web/%03d", i))
		}
		r := &reported{t: t}
		polls(t, b, b.watch(poll.Place{Every: 5 * time.Minute}), r,
			func() {},
			func() { b.put(time.Now(), "doc/1") },
			func() { b.put(time.Now().Add(time.Second), "web/new2"); b.put(time.Now(), "web/new1") },
			func() { b.put(time.Now(), "web/000") }, // put again
			func() { b.put(time.Now(), "web/new3"); r.fails = errors.New("out of reach") },
			func() {},
		)
		if diff := cmp.Diff([]string{"", "web/new1 web/new2", "web/new3"}, r.text); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if n := r.news[0]; !n.Looked || len(n.Seen) != 300 || !n.Since.IsZero() {
			t.Errorf("of the first look it remembers %d versions, %v", len(n.Seen), n.Since)
		}
		if v := r.news[1].New[0]; v.Metadata["url"] != "s3://builds/web/new1" || !slices.Equal(r.news[1].Seen[:2], hashes("web/new2", "web/new1")) {
			t.Errorf("told %+v", r.news[1])
		}
	})
}

// Nothing new costs one request in an hour.
func TestAWatchIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{keys: map[string]time.Time{"web/1": time.Now()}}
		r := &reported{t: t}
		w := b.watch(poll.Place{Every: 2 * time.Minute, Begun: true, Seen: hashes("web/1")})
		polls(t, b, w, r, func() { <-time.After(54 * time.Minute) })
		if len(r.text) > 1 || b.asked < 25 || b.asked > 35 {
			t.Errorf("in an hour it told %q, and asked %d times", r.text, b.asked)
		}
	})
}

// Who takes a poll over knows what was seen, and of more than that how old it is.
func TestAWatchThatIsTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := &bucket{keys: map[string]time.Time{}}
		for i := range poll.MaxSeen + 100 {
			b.put(began.Add(time.Duration(i)*time.Second), fmt.Sprintf("web/%04d", i))
		}
		first := &reported{t: t}
		polls(t, b, b.watch(poll.Place{Every: 5 * time.Minute}), first, func() {})
		n := first.news[0]
		if len(n.Seen) != poll.MaxSeen || !n.Since.Equal(began.Add(100*time.Second)) {
			t.Fatalf("it remembers %d since %v; want %d since the hundredth", len(n.Seen), n.Since, poll.MaxSeen)
		}
		b.put(time.Now(), "web/x1")
		b.put(time.Now().Add(time.Second), "web/x2")
		second := &reported{t: t}
		polls(t, b, b.watch(poll.Place{Every: 5 * time.Minute, Begun: true, Seen: n.Seen, Since: n.Since}), second, func() {})
		if diff := cmp.Diff([]string{"web/x1 web/x2"}, second.text); diff != "" {
			t.Errorf("the successor told (-want +got):\n%s", diff)
		}
	})
}

func TestAWatchWithTooMuchOrNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{keys: map[string]time.Time{}}
		r := &reported{t: t}
		polls(t, b, b.watch(poll.Place{Every: 5 * time.Minute, Begun: true}), r,
			func() {
				for i := range 25 {
					b.put(time.Now().Add(time.Duration(i)*time.Second), fmt.Sprintf("web/%02d", i))
				}
			},
			func() { b.fails = true },
			func() {},
			func() { b.fails = false },
			func() {},
		)
		if n := r.news[0]; len(n.New) != poll.MaxNews || n.Passed != 5 || n.New[0].ID != "web/05" || n.New[19].ID != "web/24" {
			t.Errorf("of 25 new ones it told %d and passed %d", len(n.New), n.Passed)
		}
		if len(r.text) != 3 || !strings.Contains(r.text[1], "s3://builds: AccessDenied") || r.text[2] != "" {
			t.Errorf("told %q; want a trouble once, and its end", r.text[1:])
		}
	})
}

// A watch that is somebody else's ends.
func TestAWatchEndsThatIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{keys: map[string]time.Time{}}
		err := artifact.Watch(b)(t.Context(), b.watch(poll.Place{Every: 5 * time.Minute}), func(context.Context, task.Observed) error {
			return fault.New(fault.LeaseLost, "it is somebody else's")
		})
		if !fault.Is(err, fault.LeaseLost) {
			t.Errorf("the watch ended with %v", err)
		}
	})
}

// machines is EC2 in memory, with the filters that these tests have.
type machines map[string]map[string]string // id -> tags, and "name"

func (m machines) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	var items strings.Builder
	for _, id := range slices.Sorted(maps.Keys(m)) {
		fits := true
		for i := 1; form.Get(fmt.Sprintf("Filter.%d.Name", i)) != ""; i++ {
			name, value := form.Get(fmt.Sprintf("Filter.%d.Name", i)), form.Get(fmt.Sprintf("Filter.%d.Value.1", i))
			switch {
			case name == "image-id":
				fits = fits && id == value
			case strings.HasPrefix(name, "tag:"):
				fits = fits && m[id][strings.TrimPrefix(name, "tag:")] == value
			case name == "architecture":
				fits = fits && value == "arm64"
			}
		}
		if !fits {
			continue
		}
		fmt.Fprintf(&items, "<item><imageId>%s</imageId><name>%s</name><imageOwnerId>1</imageOwnerId><creationDate>2026-11-0%s:00.000Z</creationDate><tagSet>", id, m[id]["name"], id[len(id)-1:]+"T00:00")
		for k, v := range m[id] {
			fmt.Fprintf(&items, "<item><key>%s</key><value>%s</value></item>", k, v)
		}
		items.WriteString("</tagSet></item>")
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader("<DescribeImagesResponse><imagesSet>" + items.String() + "</imagesSet></DescribeImagesResponse>")),
	}, nil
}

// What events have asked for is looked at once, and nothing else.
func TestAWatchLooksAtMachineImages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := machines{
			"ami-1": {"name": "web-1", "team": "web"}, "ami-2": {"name": "web-2", "team": "db"}, "ami-3": {"name": "web-3"}, "ami-4": {"name": "web-4", "team": "web"},
		}
		w := func(p poll.Place, filters map[string]string) task.Watch {
			p.Artifact = lookup.Artifact{Type: "AmazonMachineImage", AMI: &lookup.MachineImages{AWS: keys("eu-central-1"), Filters: filters}}
			doc, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			return task.Watch{Kind: poll.Kind, Place: doc}
		}
		r := &reported{t: t}
		polls(t, m, w(poll.Place{Asked: []string{"ami-1", "ami-2", "ami-3", "ami-9"}}, map[string]string{"tag:team": "web"}), r, func() {}, func() {})
		if len(r.news) != 1 || r.news[0].Looked {
			t.Fatalf("told %+v; want what was asked for, once", r.news)
		}
		var got []string
		for _, v := range r.news[0].New {
			got = append(got, strings.TrimSpace(v.ID+" "+v.Version+" "+v.Metadata["tags.team"]+" "+v.Unfit))
		}
		want := []string{
			"ami-1 web-1 web", `ami-2 web-2 db its tag team is "db", not "web"`, `ami-3 web-3  it has no tag team; want "web"`,
			"ami-9 ami-9  the connector's account has no such version that is available",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		r = &reported{t: t}
		polls(t, m, w(poll.Place{Asked: []string{"ami-1"}}, map[string]string{"tag:team": "w*", "architecture": "x86_64"}), r, func() {})
		if v := r.news[0].New[0]; v.Unfit != `it isn't one whose architecture is "x86_64"` {
			t.Errorf("told %+v", v)
		}
		r = &reported{t: t} // by interval, versions are ids
		polls(t, m, w(poll.Place{Every: 5 * time.Minute, Begun: true, Seen: hashes("ami-1")}, map[string]string{"tag:team": "web"}), r, func() {})
		if diff := cmp.Diff([]string{"ami-4"}, r.text); diff != "" || r.news[0].New[0].Version != "web-4" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}
