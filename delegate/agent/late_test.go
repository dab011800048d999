package agent_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// repository makes a Git repository with files.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	git("init", "--quiet", "--initial-branch=main")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("add", ".")
	git("commit", "--quiet", "-m", "files")
	return testservers.Git(t, dir)
}

// Config files of Git repositories and encoded secrets are put where the
// task's texts have their placeholders; secrets of either form are masked.
func TestTextsThatOnlyADelegateCanMake(t *testing.T) {
	t.Parallel()
	url := repository(t, map[string]string{"app.conf": "name=<+pipeline.name>", "plain": "plain"})
	p := newPlane(t)
	p.resolved = func(in protocol.Resolve) protocol.Resolved {
		if in.Texts["text"] == "name=<+pipeline.name>" {
			return protocol.Resolved{Texts: map[string]string{"text": "name=⟦s-2⟧"}, Secrets: map[string]string{"⟦s-2⟧": "0ther"}}
		}
		return protocol.Resolved{Texts: map[string]string{"v": "<⟦t-9⟧>"}, LateTexts: map[string]task.LateText{
			"⟦t-9⟧": {Name: "plain", Git: &task.Git{URL: url, Branch: "main", Paths: []string{"plain"}}},
		}}
	}
	a := assignment("t1")
	a.Payload = json.RawMessage(`{"text":"⟦t-1⟧ ⟦t-2⟧ ⟦t-3⟧"}`)
	a.Secrets = map[string]string{"⟦s-1⟧": "hunter2"}
	a.LateTexts = map[string]task.LateText{
		"⟦t-1⟧": {Name: "app", Git: &task.Git{URL: url, Branch: "main", Paths: []string{"/app.conf"}}},
		"⟦t-2⟧": {Name: "app", Git: &task.Git{URL: url, Branch: "main", Paths: []string{"app.conf"}}, Base64: true},
		"⟦t-3⟧": {Name: "key", Text: "key=⟦s-1⟧", Base64: true},
	}
	p.offer(a)
	got := make(chan string, 2)
	s := p.start(func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		texts, err := env.Resolve(ctx, map[string]string{"v": `<+configFile.getAsString("plain")>`})
		got <- string(a.Payload)
		got <- texts["v"]
		fmt.Fprintln(env.Log("Fetch"), texts["v"], string(a.Payload))
		return task.Result{Status: task.Succeeded}, err
	}, func(c *agent.Config) { c.Git = gitfetch.New(t.TempDir(), gitfetch.HostKeys{}) })
	<-p.done
	s.finish()
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	want := []string{fmt.Sprintf(`{"text":"name=0ther %s %s"}`, encode("name=0ther"), encode("key=hunter2")), "<plain>"}
	if diff := cmp.Diff(want, []string{<-got, <-got}); diff != "" {
		t.Errorf("the executor got (-want +got):\n%s", diff)
	}
	if log := strings.Join(p.lines("t1"), "\n"); !strings.Contains(log, "<plain>") || strings.Contains(log, "0ther") || strings.Contains(log, encode("key=hunter2")) || strings.Contains(log, encode("name=0ther")) {
		t.Errorf("the log is\n%s", log)
	}
}

// Files of the file store come in as many answers as they need, with the
// task's fence; a refusal is the executor's to tell.
func TestFilesOfTheFileStore(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.stored = func(in protocol.ReadFiles) (protocol.FilesRead, error) {
		switch in {
		case protocol.ReadFiles{Fence: 1, Path: "/k8s"}:
			return protocol.FilesRead{Files: []task.StoredFile{{Path: "/k8s/a", Name: "a", Content: []byte{0, 255}}}, Next: "/k8s/a"}, nil
		case protocol.ReadFiles{Fence: 1, Path: "/k8s", After: "/k8s/a"}:
			return protocol.FilesRead{Files: []task.StoredFile{{Path: "/k8s/b", Name: "b", Content: []byte("b")}}}, nil
		}
		return protocol.FilesRead{}, fault.New(fault.NotFound, "no %s", in.Path)
	}
	p.offer(assignment("t1"))
	type answer struct {
		Files []task.StoredFile
		Err   fault.Code
	}
	got := make(chan answer, 2)
	s := p.start(func(ctx context.Context, _ task.Assignment, env executor.Env) (task.Result, error) {
		for _, path := range []string{"/k8s", "/none"} {
			files, err := env.Files(ctx, path)
			got <- answer{files, fault.CodeOf(err)}
		}
		return task.Result{Status: task.Succeeded}, nil
	}, nil)
	<-p.done
	s.finish()
	want := []answer{
		{Files: []task.StoredFile{{Path: "/k8s/a", Name: "a", Content: []byte{0, 255}}, {Path: "/k8s/b", Name: "b", Content: []byte("b")}}, Err: fault.CodeOf(nil)},
		{Err: fault.NotFound},
	}
	if diff := cmp.Diff(want, []answer{<-got, <-got}); diff != "" {
		t.Errorf("the executor got (-want +got):\n%s", diff)
	}
}
