package trigger_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/trigger"
)

var update = flag.Bool("update", false, "write the events of testdata anew")

// source says who sends a delivery, by the first word of its file's name.
func source(name string) string {
	word, _, _ := strings.Cut(name, "-")
	return strings.ToUpper(word[:1]) + word[1:]
}

// delivery reads a sample.
func delivery(tb testing.TB, name string) trigger.Delivery {
	tb.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		tb.Fatal(err)
	}
	d := trigger.Delivery{Source: source(name), Header: trigger.Header{}}
	for _, f := range a.Files {
		switch f.Name {
		case "header":
			for line := range strings.Lines(string(f.Data)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				d.Header[strings.ToLower(key)] = value
			}
		case "body":
			d.Body = f.Data
		}
	}
	return d
}

// read reads a sample of one event.
func read(tb testing.TB, name string) trigger.Event {
	tb.Helper()
	events, err := trigger.Read(delivery(tb, name))
	if err != nil || len(events) == 0 {
		tb.Fatalf("read %s: %v, %d events", name, err, len(events))
	}
	return events[0]
}

// TestDeliveries compares what is read of each sample with what stands in it
// under "events".
func TestDeliveries(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := trigger.Read(delivery(t, name))
			if err != nil {
				t.Fatal(err)
			}
			for i := range events {
				events[i].Body, events[i].Header = "", nil
			}
			got, err := json.MarshalIndent(events, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, path, string(got)+"\n")
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := &a.Files[len(a.Files)-1]
	if *update {
		if last.Name != "events" {
			a.Files = append(a.Files, txtar.File{Name: "events"})
			last = &a.Files[len(a.Files)-1]
		}
		last.Data = []byte(got)
		if err := os.WriteFile(path, txtar.Format(a), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(last.Data), got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoDelivery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		d    trigger.Delivery
		code fault.Code
	}{
		{"not JSON", trigger.Delivery{Source: trigger.Github, Body: []byte("hello")}, fault.Invalid},
		{"another type", trigger.Delivery{Source: trigger.Gitlab, Body: []byte(`{"ref": 7}`)}, fault.Invalid},
		{"not text", trigger.Delivery{Source: trigger.Custom, Body: []byte{0xff, 0xfe}}, fault.Invalid},
		{"too large", trigger.Delivery{Source: trigger.Custom, Body: make([]byte, trigger.MaxBytes+1)}, fault.TooLarge},
		{"a form without a payload", trigger.Delivery{
			Source: trigger.Github, Body: []byte("a=b"), Header: trigger.Header{"content-type": "application/x-www-form-urlencoded"},
		}, fault.Invalid},
	} {
		if _, err := trigger.Read(c.d); fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
	}
}

func TestGithubSendsForms(t *testing.T) {
	t.Parallel()
	events, err := trigger.Read(trigger.Delivery{
		Source: trigger.Github, Body: []byte("payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%2C%22after%22%3A%22b2%22%7D"),
		Header: trigger.Header{"content-type": "application/x-www-form-urlencoded", "x-github-event": "push"},
	})
	if err != nil || len(events) != 1 || events[0].TargetBranch != "main" || events[0].CommitSHA != "b2" {
		t.Errorf("got %+v, %v", events, err)
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	const want = "github.com/acme/web"
	for _, url := range []string{
		"https://github.com/acme/web", "https://github.com/acme/web.git", "https://ann@GitHub.com/Acme/web/", "http://github.com:80/acme/web",
		"git@github.com:acme/web.git", "ssh://git@github.com/acme/web.git", "ssh://git@github.com:22/acme/web",
	} {
		if got := trigger.Location(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	if got := trigger.Location("https://github.com/acme/website"); got == want {
		t.Error("another repository has the same location")
	}
}

// FuzzRead: whatever is delivered, reading it ends, and what it gives can be
// kept and read again.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		d := delivery(f, strings.TrimSuffix(filepath.Base(path), ".txtar"))
		f.Add(d.Source, d.Header.Get("X-GitHub-Event")+d.Header.Get("X-Gitlab-Event")+d.Header.Get("X-Event-Key"), d.Body)
	}
	f.Fuzz(func(t *testing.T, source, kind string, body []byte) {
		events, err := trigger.Read(trigger.Delivery{
			Source: source, Body: body, Header: trigger.Header{"x-github-event": kind, "x-gitlab-event": kind, "x-event-key": kind},
		})
		if err != nil {
			return
		}
		for _, e := range events {
			doc, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := trigger.Decode(doc)
			if err != nil || again.Subject() != e.Subject() {
				t.Fatalf("kept as %s: %v", doc, err)
			}
			if _, _, err := e.Names().Lookup([]string{"trigger", "payload", "a"}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
