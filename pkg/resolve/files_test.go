package resolve_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// files serves files by their reference.
type files struct {
	store.Files
	contents map[string]string
}

func (f files) FileContent(_ context.Context, k ref.File) (store.File, []byte, error) {
	content, ok := f.contents[k.String()]
	if !ok {
		return store.File{}, nil, fault.New(fault.NotFound, "no %s", k)
	}
	return store.File{Key: k, Size: int64(len(content))}, []byte(content), nil
}

const configFilesYAML = `
identifier: shop
name: Shop
serviceDefinition:
  type: Kubernetes
  spec:
    configFiles:
      - configFile: {identifier: plain, spec: {store: {type: Harness, spec: {files: ["/<+pipeline.variables.env>.conf"]}}}}
      - configFile: {identifier: hidden, spec: {store: {type: Harness, spec: {files: [account:/hidden.conf]}}}}
      - configFile: {identifier: locked, spec: {store: {type: Harness, spec: {secretFiles: [org.pem]}}}}
      - configFile: {identifier: git, spec: {store: {type: Git, spec: {connectorRef: repo, gitFetchType: Branch, branch: main, paths: [app.conf]}}}}
      - configFile: {identifier: inline, spec: {store: {type: Inline, spec: {content: "<+secrets.getValue('a')>"}}}}
      - configFile: {identifier: circle, spec: {store: {type: Harness, spec: {files: [/circle]}}}}
      - configFile: {identifier: several, spec: {store: {type: Harness, spec: {files: [/a, /b]}}}}
`

const repoYAML = `
connector:
  identifier: repo
  name: repo
  type: Git
  spec: {url: "https://git.example.com/app", type: Http, connectionType: Repo, spec: {username: me, passwordRef: account.git}}
`

type repositories struct{ entities }

func (r repositories) Entity(ctx context.Context, k store.EntityKey) (store.Entity, error) {
	if k.Kind == ref.Connector && k.ID == "repo" {
		return store.Entity{Key: k, YAML: []byte(repoYAML)}, nil
	}
	return r.entities.Entity(ctx, k)
}

func withFiles(t *testing.T) *resolve.Scope {
	t.Helper()
	p, err := planning.Build(planning.Source{
		Pipeline: pipelineOf(t, pipelineYAML),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "Kubernetes", ServiceRef: "shop", EnvironmentRef: "dev",
			Service: parse(t, configFilesYAML), Environment: parse(t, environmentYAML), Infrastructure: parse(t, infrastructureYAML),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node("pipeline.stages.deploy.spec.execution.steps.roll"), Entities: repositories{},
		State:     func(plan.NodeID) plan.State { return plan.State{} },
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
		Files: files{contents: map[string]string{
			"acme/default/web:/dev.conf": "name=<+pipeline.name>", "acme:/hidden.conf": "key=<+secrets.getValue('account.k')>",
			"acme/default/web:/circle": "<+configFile.getAsString('circle')>", "acme/default:/bin": "\xff\x00",
			"acme/default/web:/large": strings.Repeat("x", task.MaxText+1),
		}},
	})
}

// semantics/entities §2.5 and §10.1: files that expressions read.
func TestFilesInExpressions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want, wrong string }{
		{text: `<+configFile.getAsString("plain")>`, want: "name=Web"},
		{text: `<+configFile.getAsBase64("plain")>`, want: base64.StdEncoding.EncodeToString([]byte("name=Web"))},
		{text: `<+fileStore.getAsString("/dev.conf")>!`, want: "name=Web!"},
		{text: `<+fileStore.getAsBase64("/dev.conf")>`, want: base64.StdEncoding.EncodeToString([]byte("name=Web"))},
		{text: `<+fileStore.getAsBase64("org:/bin")>`, want: "/wA="},
		{text: `<+fileStore.getAsString("org:/bin")>`, wrong: "isn't text; getAsBase64 gives it"},
		{text: `<+fileStore.getAsString("/large")>`, wrong: "has 1048577 bytes; the limit here is 1048576"},
		{text: `<+fileStore.getAsString("/none")>`, wrong: "the file store has no file acme/default/web:/none"},
		{text: `<+fileStore.getAsString("none")>`, wrong: "doesn't begin with /"},
		{text: `<+fileStore.getAsString()>`, wrong: "takes one argument"},
		{text: `<+configFile.getAsString("circle")>`, wrong: "circle"},
		{text: `<+configFile.getAsString("several")>`, wrong: "names several files"},
		{text: `<+configFile.getAsString("none")>`, wrong: `no config file "none"`},
	} {
		got, err := withFiles(t).Text(c.text)
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: error %v, want one with %q", c.text, err, c.wrong)
		case c.wrong == "" && (err != nil || got != c.want):
			t.Errorf("%s is %q, want %q: %v", c.text, got, c.want, err)
		}
	}
}

// What only a delegate can read is a placeholder, and how it is made comes
// beside it. Nothing secret is in either.
func TestFilesThatDelegatesRead(t *testing.T) {
	t.Parallel()
	s := withFiles(t)
	text, err := s.Text(`<+configFile.getAsString("hidden")>|<+configFile.getAsString("locked")>|<+configFile.getAsBase64("locked")>|` +
		`<+configFile.getAsString("git")>|<+configFile.getAsBase64("git")>|<+configFile.getAsBase64("inline")>`)
	if err != nil {
		t.Fatal(err)
	}
	// Placeholders are random: they are named by what they stand for.
	names := func(text string) string {
		for ph, name := range s.Secrets() {
			text = strings.ReplaceAll(text, ph, "{"+name+"}")
		}
		return text
	}
	texts := map[string]task.LateText{}
	for ph, l := range s.LateTexts() {
		name := l.Name
		if l.Base64 {
			name += " in base64"
		}
		text, l.Text = strings.ReplaceAll(text, ph, "{"+name+"}"), names(l.Text)
		if l.Git != nil {
			l.Git.Password = names(l.Git.Password)
		}
		texts[name] = l
	}
	want := "key={secret:acme:k}|{secret:acme/default:pem}|{config file locked in base64}|{config file git}|{config file git in base64}|{inline in base64}"
	if got := names(text); got != want {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
	git := &task.Git{URL: "https://git.example.com/app", Branch: "main", Paths: []string{"app.conf"}, Username: "me", Password: "{secret:acme:git}"}
	const stage = "x1pipeline.stages.deploy"
	if diff := cmp.Diff(map[string]task.LateText{
		"config file locked in base64": {Name: "config file locked", Text: "{secret:acme/default:pem}", Base64: true},
		"config file git":              {Name: "config file git", Git: git, Stage: stage},
		"config file git in base64":    {Name: "config file git", Git: git, Stage: stage, Base64: true},
		"inline in base64":             {Name: "inline", Text: "{secret:acme/default/web:a}", Base64: true},
	}, texts); diff != "" {
		t.Errorf("texts that delegates make (-want +got):\n%s", diff)
	}
	if _, err := s.Condition(`<+configFile.getAsString("git")> == "x"`); err == nil {
		t.Error("a condition looked into what only a delegate can read")
	}
}

func TestScriptsFromTheFileStore(t *testing.T) {
	t.Parallel()
	s := withFiles(t)
	if got, err := s.File("/dev.conf"); err != nil || got != "name=Web" {
		t.Errorf("the script is %q: %v", got, err)
	}
	if _, err := s.File("account:/none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a script that isn't there gave %v", err)
	}
}
