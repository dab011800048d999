package api_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filestore"
)

const fileContent = allFiles + scope

// allFiles is where the account's files are.
const allFiles = "/v1/files/content"

func at(path string) string { return fileContent + "&path=" + url.QueryEscape(path) }

func TestFiles(t *testing.T) {
	t.Parallel()
	s := setup(t)
	put := func(path, content string) api.SavedFile {
		t.Helper()
		var out api.SavedFile
		s.ask("PUT", at(path), content, "Content-Type", "application/octet-stream").want(200, &out)
		return out
	}
	if got := put("/k8s/web.yaml", "one"); got.Change != filestore.Created || got.Version != 1 || got.Size != 3 || got.UpdatedBy == "" {
		t.Errorf("first save: %+v", got)
	}
	if got := put("/k8s/web.yaml", "one"); got.Change != filestore.Unchanged || got.Version != 1 {
		t.Errorf("the same content: %+v", got)
	}
	if got := put("/k8s/web.yaml", "two"); got.Change != filestore.Configured || got.Version != 2 {
		t.Errorf("another content: %+v", got)
	}
	put("/k8s/empty", "")
	put("/values.yaml", "a: 1")
	var read api.FileContent
	s.ask("GET", at("/k8s/web.yaml"), "").want(200, &read)
	if string(read.Content) != "two" {
		t.Errorf("the content is %q", read.Content)
	}
	s.ask("DELETE", at("/k8s/web.yaml")+"&version=1", "").problem(409)
	s.ask("DELETE", at("/k8s/web.yaml")+"&version=2", "").want(204, nil)
	s.ask("DELETE", at("/k8s/web.yaml"), "").problem(404)
	var list api.FileList
	s.ask("GET", "/v1/files"+scope+"&folder=/", "").want(200, &list)
	var got []string
	for _, f := range list.Files {
		got = append(got, f.Path)
	}
	if diff := cmp.Diff([]string{"/k8s/empty", "/values.yaml"}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var trail api.AuditList
	s.ask("GET", "/v1/audit", "").want(200, &trail)
	var acts []audit.Action
	for _, r := range trail.Records {
		if r.Kind == "file" && r.ID == "/k8s/web.yaml" {
			acts = append(acts, r.Action)
		}
	}
	if diff := cmp.Diff([]audit.Action{audit.Create, audit.Update, audit.Delete}, acts); diff != "" {
		t.Errorf("the trail of the file (-want +got):\n%s", diff)
	}
}

func TestFilesAreRefused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("PUT", at("/dir/a"), "x").want(200, nil)
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"a", "x", 400, "doesn't begin with /"},
		{"/a/../b", "x", 400, "is no name"},
		{"/dir/", "x", 400, "no file's name"},
		{"/dir", "x", 409, "is a folder: it has the file /dir/a"},
		{"/dir/a/b", "x", 409, "/dir/a, which is a file and not a folder"},
		{"/large", string(bytes.Repeat([]byte("x"), filestore.MaxFile+1)), 413, "too large"},
	} {
		p := s.ask("PUT", at(c.path), c.body).problem(c.status)
		if !strings.Contains(p.Message, c.says) {
			t.Errorf("%s is refused with %q; want one with %q", c.path, p.Message, c.says)
		}
	}
	s.ask("PUT", at("/most"), string(bytes.Repeat([]byte("x"), filestore.MaxFile))).want(200, nil)
	s.ask("PUT", at("/dir/a")+"&version=7", "y").problem(409)
	s.ask("GET", "/v1/files"+scope+"&folder=account:/", "").problem(400)
}

// What a saved document names can't be deleted, nor can a folder be emptied.
func TestFilesThatAreNamed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, path := range []string{"/k8s/web.yaml", "/values.yaml", "/k8s2/other.yaml", "/ca.pem"} {
		s.ask("PUT", at(path), "x").want(200, nil)
	}
	const named = `service:
  name: web
  identifier: web
  orgIdentifier: default
  projectIdentifier: web
  serviceDefinition:
    type: Kubernetes
    spec:
      variables:
        - {name: ca, type: String, value: '<+fileStore.getAsString("/ca.pem")>'}
      manifests:
        - manifest:
            identifier: web
            type: K8sManifest
            spec:
              store: {type: Harness, spec: {files: [/k8s]}}
              valuesPaths: [/values.yaml]
`
	s.save(named)
	for path, as := range map[string]string{"/k8s/web.yaml": "/k8s", "/values.yaml": "/values.yaml", "/ca.pem": "/ca.pem"} {
		p := s.ask("DELETE", at(path), "").problem(409)
		want := []string{`service "web" in default/default/web names ` + as}
		var got []string
		for _, d := range p.Details {
			got = append(got, d.Message)
		}
		if diff := cmp.Diff(want, got); p.Code != fault.Referenced || diff != "" {
			t.Errorf("deleting %s: %s %s (-want +got):\n%s", path, p.Code, p.Message, diff)
		}
	}
	s.ask("DELETE", at("/k8s2/other.yaml"), "").want(204, nil)
	s.ask("DELETE", at("/ca.pem")+"&force=true", "").want(204, nil)
	s.save(strings.Replace(named, "/k8s]", "/values.yaml]", 1))
	s.ask("DELETE", at("/k8s/web.yaml"), "").want(204, nil)
	s.ask("DELETE", "/v1/entities/service/web"+scope, "").want(204, nil)
	s.ask("DELETE", at("/values.yaml"), "").want(204, nil)
}

// The template of a secret manager means the files of its own scope.
func TestFilesOfSecretManagersAreNamed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const file = allFiles + "?path=/vault.sh"
	s.ask("PUT", file, "secret=x").want(200, nil)
	var got api.SavedEntity
	s.ask("PUT", "/v1/entities", `template:
  name: vault
  identifier: vault
  versionLabel: v1
  type: SecretManager
  spec: {shell: Bash, source: {type: Harness, spec: {file: /vault.sh}}}
`, "Content-Type", "application/yaml").want(200, &got)
	if len(got.Warnings) > 0 {
		t.Errorf("warnings: %+v", got.Warnings)
	}
	p := s.ask("DELETE", file, "").problem(409)
	if p.Code != fault.Referenced || !strings.Contains(p.Details[0].Message, `template "vault@v1" in default names /vault.sh`) {
		t.Errorf("deleting what a template names: %+v", p)
	}
}

// A document may be saved before the files that it names: it is warned of.
func TestFilesThatAreMissing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("PUT", at("/k8s/web.yaml"), "x").want(200, nil)
	got := s.save(`service:
  name: web
  identifier: web
  orgIdentifier: default
  projectIdentifier: web
  serviceDefinition:
    type: Kubernetes
    spec:
      variables:
        - {name: ca, type: String, value: '<+fileStore.getAsString("/k8s/web.yaml")> <+fileStore.getAsBase64("org:/ca.pem")>'}
      manifests:
        - manifest:
            identifier: web
            type: K8sManifest
            spec:
              store: {type: Harness, spec: {files: [/k8s, /other, "/<+env.name>"]}}
              valuesPaths: [/values.yaml]
`)
	var found []string
	for _, w := range got.Warnings {
		found = append(found, w.Path+": "+w.Message)
	}
	want := []string{
		`serviceDefinition.spec.variables[0].value: there is no file or folder default/default:/ca.pem yet; a run would fail`,
		`serviceDefinition.spec.manifests[0].manifest.spec.valuesPaths[0]: there is no file or folder default/default/web:/values.yaml yet; a run would fail`,
		`serviceDefinition.spec.manifests[0].manifest.spec.store.spec.files[1]: there is no file or folder default/default/web:/other yet; a run would fail`,
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
