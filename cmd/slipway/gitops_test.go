package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/applying/applyingtest"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/internal/gitserver/gittest"
	"github.com/slipway-cd/slipway/internal/testport"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// TestGitOps runs the scripts of testdata/gitops on a real cluster, with a
// repository on loopback. "commit FOLDER" commits files, of which an empty one goes;
// "ready" waits for the server; REPOSITORY and NAMESPACE in apps.yaml and steps.yaml are the script's own. "live KIND NAME" shows
// an object, "edit KIND NAME KEY VALUE" changes its data as somebody else,
// "pod FILE" runs what installs an agent, "until-live KIND NAME PATTERN", "until-logged FILE PATTERN", "until-gone KIND NAME" and "until-says PATTERN COMMAND..." wait.
func TestGitOps(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join("testdata", "gitops", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("found no scripts: %v", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			t.Parallel()
			gitOpsScript(t, script)
		})
	}
}

// gitOpsScript runs one in a namespace, and with a repository, of its own.
func gitOpsScript(t *testing.T, script string) {
	t.Helper()
	c, kubeconfig, namespace := applyingtest.Connect(t)
	w := &watched{cluster: c, namespace: namespace, git: gittest.New(t)}
	free, err := testport.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: []string{script},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("SLIPWAY_CONFIG", filepath.Join(e.WorkDir, "config.yaml"))
			e.Setenv("KUBECONFIG", kubeconfig)
			e.Setenv("NAMESPACE", namespace)
			e.Setenv("ADDR", free[0])
			for _, name := range []string{"apps.yaml", "steps.yaml"} {
				file := filepath.Join(e.WorkDir, name)
				text, err := os.ReadFile(file)
				if errors.Is(err, fs.ErrNotExist) && name != "apps.yaml" {
					continue
				}
				if err != nil {
					return err
				}
				text = regexp.MustCompile("REPOSITORY").ReplaceAllLiteral(text, []byte(w.git.URL))
				if err := os.WriteFile(file, regexp.MustCompile("NAMESPACE").ReplaceAllLiteral(text, []byte(namespace)), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready": ready, "commit": w.commit, "live": w.live, "edit": w.edit, "until-seen": untilSeen, "until-says": untilSays, "until-live": w.untilLive, "until-gone": w.untilGone, "pod": w.pod, "until-logged": untilLogged,
		},
		RequireExplicitExec: true,
	})
}

// pod makes the objects of a file, and runs the container of the Deployment among them,
// as its account, as often as it ends.
func (w *watched) pod(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	objects, err := manifest.Objects(args[0], ts.ReadFile(args[0]), manifest.Decode)
	ts.Check(err)
	var run appsv1.Deployment
	secrets := map[string]string{}
	for _, o := range objects {
		switch o.GetKind() {
		case "Deployment":
			ts.Check(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &run))
			continue
		case "Secret":
			secrets[o.GetName()], _, err = unstructured.NestedString(o.Object, "stringData", "token")
			ts.Check(err)
		}
		_, err := w.cluster.Apply(ctx, o, applying.Way{Manager: "kubectl"}, io.Discard)
		ts.Check(err)
	}
	clients, err := kubernetes.NewForConfigAndClient(w.cluster.Config, w.cluster.HTTP)
	ts.Check(err)
	account, err := clients.CoreV1().ServiceAccounts(run.Namespace).CreateToken(ctx, run.Spec.Template.Spec.ServiceAccountName, &authv1.TokenRequest{}, metav1.CreateOptions{})
	ts.Check(err)
	config, err := clientcmd.LoadFromFile(ts.Getenv("KUBECONFIG"))
	ts.Check(err)
	for _, user := range config.AuthInfos {
		*user = api.AuthInfo{Token: account.Status.Token}
	}
	kubeconfig := ts.MkAbs("pod.kubeconfig")
	ts.Check(clientcmd.WriteToFile(*config, kubeconfig))
	env := []string{"KUBECONFIG=" + kubeconfig, "HOME=" + ts.MkAbs("pod"), "PATH=" + ts.Getenv("PATH")}
	c := run.Spec.Template.Spec.Containers[0]
	for _, e := range c.Env {
		if from := e.ValueFrom; from != nil {
			e.Value = secrets[from.SecretKeyRef.Name]
		}
		env = append(env, e.Name+"="+e.Value)
	}
	log, err := os.Create(ts.MkAbs("pod.log"))
	ts.Check(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			p := exec.CommandContext(ctx, "slipway", append([]string{"delegate"}, c.Args...)...)
			p.Env, p.Stdout, p.Stderr = env, log, log
			_ = p.Run() // it is run again
		}
	}()
	ts.Defer(func() {
		cancel()
		<-done
		_ = log.Close()
		ts.Logf("the pod says:\n%s", ts.ReadFile("pod.log"))
	})
}

// ready waits until a server answers: it listens before it has a token.
func ready(ts *testscript.TestScript, _ bool, _ []string) {
	wait(ts, "a server that answers", func() bool {
		r, err := http.Get("http://" + ts.Getenv("ADDR") + "/healthz") //nolint:noctx // it is loopback
		return err == nil && r.Body.Close() == nil
	})
}

// untilSeen waits until the agent has told of an application that isn't synced.
func untilSeen(ts *testscript.TestScript, _ bool, args []string) {
	wait(ts, "what the agent says of "+args[0], func() bool {
		return ts.Exec("slipway", "gitops", "app", "get", args[0]) == nil && strings.Contains(ts.ReadFile("stdout"), "OutOfSync")
	})
}

// untilLogged waits until a file has something.
func untilLogged(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[1])
	wait(ts, args[1], func() bool { return pattern.MatchString(ts.ReadFile(args[0])) })
}

// untilSays waits until a command says something.
func untilSays(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	wait(ts, args[0], func() bool {
		return ts.Exec("slipway", args[1:]...) == nil && pattern.MatchString(ts.ReadFile("stdout"))
	})
}

// wait looks until what is waited for is there: nothing tells of it.
func wait(ts *testscript.TestScript, what string, there func() bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !there() {
		select {
		case <-ctx.Done():
			ts.Fatalf("%s hasn't come", what)
		case <-again.C:
		}
	}
}

// watched is what the scripts look at.
type watched struct {
	cluster   *applying.Cluster
	namespace string
	git       *gittest.Repository
}

func (w *watched) commit(ts *testscript.TestScript, _ bool, args []string) {
	root, files := ts.MkAbs(args[0]), map[string]string{}
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path) // it is below
		files[filepath.ToSlash(name)] = string(text)
		return err
	}))
	w.git.Commit(files)
}

func (w *watched) get(ts *testscript.TestScript, kind, name string) *unstructured.Unstructured {
	bare := applying.Named(schema.GroupVersionKind{Version: "v1", Kind: kind}, object.Key{Kind: kind, Namespace: w.namespace, Name: name})
	o, err := w.cluster.Get(context.Background(), bare)
	ts.Check(err)
	return o
}

func (w *watched) live(ts *testscript.TestScript, neg bool, args []string) {
	o := w.get(ts, args[0], args[1])
	if (o == nil) != neg {
		ts.Fatalf("%s %s is there: %v", args[0], args[1], o != nil)
	}
	if o != nil {
		text, err := json.Marshal(o.Object["data"])
		ts.Check(err)
		_, err = fmt.Fprintf(ts.Stdout(), "%s\n", text)
		ts.Check(err)
	}
}

func (w *watched) edit(ts *testscript.TestScript, _ bool, args []string) {
	o := w.get(ts, args[0], args[1])
	if o == nil {
		ts.Fatalf("%s %s isn't there", args[0], args[1])
	}
	body, err := json.Marshal(map[string]any{"data": map[string]string{args[2]: args[3]}})
	ts.Check(err)
	_, err = w.cluster.Patch(context.Background(), o, types.MergePatchType, body, "somebody")
	ts.Check(err)
}

func (w *watched) untilLive(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[2])
	wait(ts, args[2], func() bool {
		text, err := json.Marshal(w.get(ts, args[0], args[1]))
		ts.Check(err)
		return pattern.Match(text)
	})
}

func (w *watched) untilGone(ts *testscript.TestScript, _ bool, args []string) {
	wait(ts, "the end of "+args[1], func() bool { return w.get(ts, args[0], args[1]) == nil })
}
