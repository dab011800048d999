package workspace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	sessions "github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/session"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestMain(m *testing.M) {
	session.Answer()
	os.Exit(m.Run())
}

// machine has one open session, s1.
type machine struct {
	t        *testing.T
	sessions *sessions.Sessions
	cfg      workspace.Config
}

func open(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, sessions: sessions.New(sessions.Config{Dir: t.TempDir(), Orphan: time.Minute, Environ: []string{"PATH=" + os.Getenv("PATH")}})}
	if _, err := m.sessions.Start(t.Context(), task.Session{ID: "s1", Execution: "e1", Node: "pipeline.stages.s"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.sessions.Close(context.Background(), "s1"); err != nil {
			t.Error(err)
		}
	})
	m.cfg = workspace.Config{Sessions: m.sessions, Git: gitfetch.New(t.TempDir(), gitfetch.HostKeys{})}
	return m
}

// bring runs one task; its error is the message.
func (m *machine) bring(d lane.Download) (outputs map[string]any, failed string) {
	m.t.Helper()
	d.Session = "s1"
	spec, err := json.Marshal(d)
	if err != nil {
		m.t.Fatal(err)
	}
	payload, err := json.Marshal(task.Work{Execution: "e1", Stage: "pipeline.stages.s", Step: "n1", Spec: spec})
	if err != nil {
		m.t.Fatal(err)
	}
	r, err := workspace.NewDownload(m.cfg)(m.t.Context(), task.Assignment{ID: "t", Fence: 1, Kind: lane.Kind, Payload: payload, Execution: "e1", Node: "n1", Attempt: 1}, executortest.New(m.t, nil).Env)
	if err != nil {
		return nil, err.Error()
	}
	var all struct {
		Output map[string]any `json:"output"`
	}
	if err := json.Unmarshal(r.Outputs, &all); err != nil {
		m.t.Fatal(err)
	}
	return all.Output, r.Message
}

func (m *machine) file(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.sessions.Workspace("s1"), name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

// A clone is a repository in the workspace, at its commit.
func TestClone(t *testing.T) {
	t.Parallel()
	m, dir := open(t), filepath.Join(t.TempDir(), "web.git")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	git := func(in string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", in, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...).Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git(dir, "init", "--quiet", "--initial-branch=main")
	for name, text := range map[string]string{"version.txt": "1.2", "large.txt": strings.Repeat("x", 200<<10)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(dir, "add", ".")
	git(dir, "commit", "--quiet", "-m", "One")
	commit := git(dir, "rev-parse", "HEAD")
	clone := &lane.Clone{Git: task.Git{URL: testservers.Git(t, dir), Branch: "main"}, Into: "src/web", Depth: 50}
	got, failed := m.bring(lane.Download{Clone: clone, Told: []string{"src/web/version.txt"}})
	want := map[string]any{"commitId": commit, "folder": "src/web", "outputVariables": map[string]any{"version.txt": "1.2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", failed, diff)
	}
	if head := m.file("src/web/.git/HEAD"); strings.TrimSpace(head) != commit {
		t.Errorf("its HEAD is %s; want %s", head, commit)
	}
	if changed := git(filepath.Join(m.sessions.Workspace("s1"), "src/web"), "status", "--porcelain"); changed != "" {
		t.Errorf("changed in the clone:\n%s", changed)
	}
	for name, want := range map[string]string{
		"src/web/none.txt":  "the workspace has no file src/web/none.txt",
		"src/web":           "src/web of the workspace is no file",
		"src/web/large.txt": "the files of outputFilePathsContent have more than 131072 bytes together",
	} {
		if _, failed := m.bring(lane.Download{Clone: clone, Told: []string{name}}); failed != want {
			t.Errorf("%s: %s; want %s", name, failed, want)
		}
	}
	clone.Git.Branch = "none"
	if _, failed := m.bring(lane.Download{Clone: clone}); !strings.Contains(failed, `has no branch or tag "none"`) {
		t.Errorf("a branch that isn't there: %s", failed)
	}
}

// Objects are brought by their keys.
func TestObjects(t *testing.T) {
	t.Parallel()
	w, m := testaws.NewWorld(t), open(t)
	client := s3.NewFromConfig(w.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	bucket := "settings"
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region}}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"web/version.txt", "web/flags/a.json", "other.txt"} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte("text of " + key))}); err != nil {
			t.Fatal(err)
		}
	}
	m.cfg.Accesses = &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}}
	from := func(paths ...string) lane.Download {
		objects := &task.S3Objects{AWS: task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: testaws.Region}, Bucket: bucket, Paths: paths}
		return lane.Download{Manifests: []lane.Manifest{{ID: "config", Store: task.Store{S3: objects}}}}
	}
	d := from("web/")
	d.Told = []string{"config/web/version.txt"}
	got, failed := m.bring(d)
	want := map[string]any{"files": []any{"config/web/flags/a.json", "config/web/version.txt"}, "outputVariables": map[string]any{"version.txt": "text of web/version.txt"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", failed, diff)
	}
	if text := m.file("config/web/flags/a.json"); text != "text of web/flags/a.json" {
		t.Errorf("the file has %s", text)
	}
	if _, failed := m.bring(from("none/")); failed != "config: its store has no files there" {
		t.Errorf("a folder that isn't there: %s", failed)
	}
	if _, failed := m.bring(from("none.txt")); !strings.Contains(failed, "s3://settings/none.txt") {
		t.Errorf("an object that isn't there: %s", failed)
	}
}

// Values come as they are written: from the document, or as a script makes them; those
// that are optional may be absent.
func TestValues(t *testing.T) {
	t.Parallel()
	m := open(t)
	m.cfg.Script = shell.New(nil, t.TempDir())
	script := func(path string) task.Store {
		return task.Store{Script: &task.Extraction{Script: "mkdir -p out; echo 'a: <+env.name>' > out/a.yaml; ln -s / out/all", Path: path}}
	}
	got, failed := m.bring(lane.Download{Manifests: []lane.Manifest{
		{ID: "own", Store: task.Store{Inline: "b: 1"}}, {ID: "made", Store: script("out/a.yaml")}, {ID: "none", Store: script("b.yaml"), Optional: true},
	}})
	if diff := cmp.Diff(map[string]any{"files": []any{"own/values.yaml", "made/a.yaml"}}, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", failed, diff)
	}
	if text := m.file("own/values.yaml") + m.file("made/a.yaml"); text != "b: 1a: <+env.name>\n" {
		t.Errorf("the files have %s", text)
	}
	for path, want := range map[string]string{"b.yaml": "none: there is no such file or folder", "../x": "leads out", "out/all/etc": "a link that leads out"} {
		if _, failed := m.bring(lane.Download{Manifests: []lane.Manifest{{ID: "none", Store: script(path)}}}); !strings.Contains(failed, want) {
			t.Errorf("%s: %s; want %s", path, failed, want)
		}
	}
}
