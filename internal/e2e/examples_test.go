package e2e_test

import (
	"context"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/internal/testmail"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/step/stepfiles"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// webFolder is what the Kubernetes examples deploy.
const webFolder = "../../examples/web"

// filesOf are the example and the cases of a step type.
func filesOf(t *testing.T, name string) stepfiles.Files {
	t.Helper()
	all, err := stepfiles.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, ok := all[strings.ToLower(name)]
	if !ok {
		t.Fatalf("the step type %s has no example", name)
	}
	return files
}

// TestExamples runs the example of every step type as users would. What those
// of each deployment type deploy is in the instance ledger afterwards.
func TestExamples(t *testing.T) {
	t.Parallel()
	var ran, placed sync.Map // the deployment types
	t.Cleanup(func() {
		ran.Range(func(deployment, _ any) bool {
			if _, ok := placed.Load(deployment); !ok && !t.Failed() {
				t.Errorf("no example of the deployment type %s has reached the instance ledger", deployment)
			}
			return true
		})
	})
	for _, name := range builtin.Steps().Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := read(t, filesOf(t, name).Example)
			s := serverFor(t, text)
			connect(t, s, text)
			s.Apply(t, text)
			inputs := map[string]string{}
			if strings.Contains(text, "name: url\n") {
				inputs["variables.url"] = s.URL + "/healthz"
			}
			id := s.Begin(t, firstGroup(text, `(?m)^  identifier: (\w+)$`, ""), inputs)
			if hook := firstGroup(text, `webhookIdentifier: (\w+)`, ""); hook != "" {
				reaches(t, s, id, "scanned", "WaitStepRunning")
				tell(t, s, hook, `{"image": "`+id+`", "verdict": "clean", "findings": 0}`, s.Token)
			}
			e := finish(t, s, id)
			want := firstGroup(text, `(?m)^# Ends as (\w+)`, "Success")
			if e.Status != want {
				t.Errorf("the example ended %s, want %s: %s", e.Status, want, e.Message)
			}
			allowed := map[string][]string{
				"Success": {"Success", "NotStarted"}, // of the rollback
				"Failed":  {"Success", "Failed"},     // every step has run, also of the rollback
			}[want]
			for _, n := range below(e.Root) {
				if n.Kind == "step" && !slices.Contains(allowed, n.Status) {
					t.Errorf("%s is %s: %s", n.Identifier, n.Status, n.Message)
				}
			}
			var l api.PlacementList
			if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
				t.Fatal(err)
			}
			if deployment := firstGroup(text, `deploymentType: (\w+)`, ""); deployment != "" && !strings.Contains(text, "gitOpsEnabled: true") {
				ran.Store(deployment, true)
				if len(l.Placements) > 0 && l.Placements[0].Deployed.Execution == id {
					placed.Store(deployment, true)
				}
			}
		})
	}
}

// serverFor starts a server; for an example that deploys, with a namespace and
// all that examples/web says.
func serverFor(t *testing.T, example string) *e2e.Server {
	t.Helper()
	if strings.Contains(example, "type: CreateStack\n") {
		s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
		delegateOf(t, s, w)
		s.Apply(t, read(t, stacksFolder+"/entities.yaml"))
		return s
	}
	if strings.Contains(example, "type: AwsCdk") {
		return appFor(t)
	}
	if strings.Contains(example, "type: GitClone\n") || strings.Contains(example, "type: DownloadAwsS3\n") {
		return filesFor(t)
	}
	if !strings.Contains(example, "type: Deployment\n") {
		cfg := wire.ServeConfig{EmbeddedDelegate: true}
		if strings.Contains(example, "type: Email\n") {
			cfg.Mail = mail.Setting{URL: "smtp+plain://" + testmail.Start(t, testmail.Config{}).Address, From: "slipway@example.com"}
		}
		return e2e.Start(t, cfg)
	}
	if strings.Contains(example, "gitOpsEnabled: true") {
		return pulledFor(t, example)
	}
	if strings.Contains(example, "deploymentType: CustomDeployment") {
		s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
		applyFleet(t, s)
		return s
	}
	if strings.Contains(example, "deploymentType: AwsLambda") {
		s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
		delegateOf(t, s, w)
		s.Apply(t, lambdaEntities(t, w))
		return s
	}
	if strings.Contains(example, "deploymentType: AWS_SAM") {
		s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
		machineOf(t, s, w, t.TempDir())
		applySAM(t, s)
		return s
	}
	if strings.Contains(example, "deploymentType: ServerlessAwsLambda") {
		s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
		machineWith(t, s, w, t.TempDir(), testservers.Osls(t, "serverless"), "serverless="+testservers.OslsVersion)
		applyServerless(t, s, read(t, serverlessFolder+"/app/index.js"))
		return s
	}
	if strings.Contains(example, "deploymentType: Asg") {
		s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
		delegateOf(t, s, w)
		imageOf(t, w, "web-1")
		s.Apply(t, asgEntities(t, w))
		if strings.Contains(example, "shopasg") {
			text, _ := colours(t, w, asgFolder+"/colours.yaml", elbtypes.TargetTypeEnumInstance)
			s.Apply(t, text)
		}
		return s
	}
	if strings.Contains(example, "deploymentType: Elastigroup") {
		s, w, spot := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t), testservers.NewSpot(t)
		delegateOf(t, s, w, spotEnv+"="+spot.URL)
		imageOf(t, w, "web-1")
		s.Apply(t, spotEntities(t))
		if strings.Contains(example, "shopspot") {
			text, _ := colours(t, w, "../../examples/spot/colours.yaml", elbtypes.TargetTypeEnumInstance)
			s.Apply(t, text)
		}
		return s
	}
	if strings.Contains(example, "deploymentType: ECS") {
		s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
		delegateOf(t, s, w)
		s.Apply(t, ecsEntities(t, w))
		if strings.Contains(example, "webcolours") {
			text, _ := colours(t, w, ecsFolder+"/colours.yaml", elbtypes.TargetTypeEnumIp)
			s.Apply(t, text)
		}
		return s
	}
	kubeconfig, namespace := testcluster.Namespace(t)
	if strings.Contains(example, "provider: istio\n") {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		testcluster.Define(t, config, schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"})
	}
	repository := serveGit(t, filepath.Join(webFolder, "repo"))
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
	docs := read(t, filepath.Join(webFolder, "entities.yaml"))
	s.Apply(t, strings.NewReplacer("http://127.0.0.1:7490/web.git", repository, "namespace: web\n", "namespace: "+namespace+"\n").Replace(docs))
	return s
}

// finish waits for the end of an execution, and approves what waits for it.
func finish(t *testing.T, s *e2e.Server, id string) e2e.Execution {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	waiting := func(e e2e.Execution) bool { return e.Status == "ApprovalWaiting" }
	e, err := s.Until(ctx, id, func(e e2e.Execution) bool { return waiting(e) || e2e.Ended(e) })
	if err != nil {
		t.Fatal(err)
	}
	if !waiting(e) {
		return e
	}
	for _, n := range below(e.Root) {
		if n.Kind == "step" && n.Status == "ApprovalWaiting" {
			answer := map[string]any{"action": "APPROVE", "inputs": map[string]string{"ticket": "OPS-7"}}
			if err := s.Call(ctx, "POST", "/v1/executions/"+id+"/nodes/"+n.ID+"/approval", answer, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if e, err = s.Until(ctx, id, e2e.Ended); err != nil {
		t.Fatal(err)
	}
	return e
}

// below lists a node and all below it.
func below(n *e2e.Node) []*e2e.Node {
	list := []*e2e.Node{n}
	for _, c := range n.Children {
		list = append(list, below(c)...)
	}
	return list
}

// serveGit serves a folder as the main branch of a repository over HTTP, and
// gives its address.
func serveGit(t *testing.T, folder string) string {
	t.Helper()
	address, _ := serveChanging(t, folder)
	return address
}

// serveChanging is serveGit for a folder that changes: what is in it is committed
// once more by commit.
func serveChanging(t *testing.T, folder string) (address string, commit func()) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "web.git")
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, said.String())
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--bare", "--initial-branch=main", dir)
	git("--git-dir", dir, "config", "uploadpack.allowAnySHA1InWant", "true")
	commit = func() {
		git("--git-dir", dir, "--work-tree", folder, "add", ".")
		git("--git-dir", dir, "--work-tree", folder, "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "-m", "Manifests")
	}
	commit()
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(git("--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
	})
	t.Cleanup(server.Close)
	return server.URL + "/web.git", commit
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// firstGroup is what a pattern's group matches first, or another text.
func firstGroup(text, pattern, otherwise string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return otherwise
}
