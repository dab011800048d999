package arch

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wayOut is how something leaves a process: a connection that is made, taken
// or taken over, a program that is started. Files are the data folder's.
var wayOut = regexp.MustCompile(`http\.(ListenAndServe|DefaultClient|Get|Post|PostForm)\b|http\.(Client|Server|Transport)\{|\.RoundTripper\(|` +
	`net\.(Dial|Listen)\b|net\.(Dialer|ListenConfig)\{|smtp\.(NewClient|Dial|SendMail)|websocket\.(Accept|Dial)|otlp\w+\.New\(|exec\.Command`)

// doors are the ways out of the control plane on one machine, and where each
// waits until the disk has what leaves through it (docs/decisions/0005).
func doors() map[string]string {
	const answers, messages = "pkg/wire/serve.go: m.settled.handler(m.server)", "pkg/notify/prepare.go: n.Settle()"
	return map[string]string{
		"pkg/wire/serve.go":           answers, // the server, and the embedded delegate's requests
		"pkg/wire/listen.go":          answers,
		"pkg/api/hub.go":              "pkg/wire/serve.go: m.settled.waker(m.hub)",
		"pkg/feed/webhook/webhook.go": "pkg/wire/serve.go: m.settled.subscriber(s)",
		"pkg/egress/egress.go":        messages, // an identity provider is told nothing that is kept
		"pkg/mail/mail.go":            messages,
		"pkg/login/oidc/terminal.go":  "cmd/slipway/login_sso.go: asker.Loopback(", // the command's, which keeps nothing
		"pkg/trace/otlp/otlp.go":      "pkg/trace/otlp/otlp.go: s.settle()",
	}
}

// TestNoDoorIsUnsettled: what commits first and brings to the disk later lets
// nothing out before, through no door that there is.
func TestNoDoorIsUnsettled(t *testing.T) {
	t.Parallel()
	var served goPackage
	all := packages(t)
	for _, p := range all {
		if p.path() == "pkg/wire" {
			served = p
		}
	}
	found := map[string]bool{}
	for _, p := range all {
		if !strings.HasPrefix(p.path(), "pkg/") || p.path() != "pkg/wire" && !slices.Contains(served.Deps, p.ImportPath) {
			continue
		}
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(root(), p.path(), name))
			if err != nil {
				t.Fatal(err)
			}
			if name = p.path() + "/" + name; wayOut.Match(text) {
				found[name] = true
				if doors()[name] == "" {
					t.Errorf("%s has a way out, %s; where does it settle?", name, wayOut.Find(text))
				}
			}
		}
	}
	for name, settles := range doors() {
		file, call, _ := strings.Cut(settles, ": ")
		text, err := os.ReadFile(filepath.Join(root(), file))
		if err != nil || !found[name] || !strings.Contains(string(text), call) {
			t.Errorf("%s (a way out: %v) should settle by %s in %s: %v", name, found[name], call, file, err)
		}
	}
	if wire, err := os.ReadFile(filepath.Join(root(), "pkg/wire/serve.go")); err != nil || strings.Count(string(wire), "api.New(") != 1 {
		t.Errorf("the API is served by more than what settles its answers, or by nothing: %v", err)
	}
	if len(found) != len(slices.Collect(maps.Keys(doors()))) {
		t.Errorf("found %d ways out", len(found))
	}
}
