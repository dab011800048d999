package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// A delegate is given the files of the file store that its task names, and none
// besides.
func TestFilesThatATaskNames(t *testing.T) {
	t.Parallel()
	const git = "store: {type: Git, spec: {connectorRef: repo, gitFetchType: Branch, branch: main, paths: [k8s]}}"
	docs := strings.NewReplacer(
		git, "store: {type: Harness, spec: {files: [/k8s, 'org:/shared/quota.yaml', '/of/<+secrets.getValue(\"team\")>']}}, valuesPaths: [/values/<+env.name>.yaml]",
		"STEP", "K8sRollingDeploy", "SPEC", "",
	).Replace(deployDocs)
	c, a := applying(t, secretDocs("of_variable", "of_text", "of_stage", "team")+docs)
	for _, path := range []string{"/k8s/web.yaml", "/k8s/deep/more.yaml", "org:/shared/quota.yaml", "/values/dev.yaml", "/of/maet/x.yaml", "/k8s2/web.yaml", "/shared/quota.yaml", "/values/prod.yaml", "/offside"} {
		f, err := ref.ParseFile(path, project())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.PutFile(t.Context(), f, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int{
		"/k8s": http.StatusOK, "/k8s/": http.StatusOK, "/k8s/deep/more.yaml": http.StatusOK, "org:/shared/quota.yaml": http.StatusOK,
		"/values/dev.yaml": http.StatusOK, "/of/maet/x.yaml": http.StatusOK,
		"/": http.StatusForbidden, "/k8s2/web.yaml": http.StatusForbidden, "/shared/quota.yaml": http.StatusForbidden, "account:/k8s": http.StatusForbidden,
		"/values": http.StatusForbidden, "/values/prod.yaml": http.StatusForbidden, "/offside": http.StatusForbidden, "org:/": http.StatusForbidden,
	} {
		if status, body := c.say(taskPath("d1", a, "files"), protocol.ReadFiles{Fence: a.Fence, Path: path}); status != want {
			t.Errorf("%s: %d %s; want %d", path, status, body, want)
		}
	}
}

// A task that reads no manifests has no files to ask for.
func TestOtherTasksReadNoFiles(t *testing.T) {
	t.Parallel()
	c, a := deploying(t, "K8sRollingDeploy", "", "of_variable", "of_text", "of_stage")
	f, err := ref.ParseFile("/k8s/web.yaml", project())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutFile(t.Context(), f, []byte("x")); err != nil {
		t.Fatal(err)
	}
	status, body := c.say(taskPath("d1", a, "files"), protocol.ReadFiles{Fence: a.Fence, Path: "/k8s/web.yaml"})
	if status != http.StatusForbidden || !strings.Contains(body, "doesn't name") {
		t.Errorf("%d %s", status, body)
	}
}
