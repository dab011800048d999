package awslambda_test

import (
	"archive/zip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// repositories are servers of Artifactory and of Nexus with zips of a few versions;
// "large.zip" is larger than Lambda takes.
func repositories(t *testing.T) task.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "hush-password" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; name {
		case "search":
			version := r.URL.Query().Get("version")
			fmt.Fprintf(w, `{"items":[{"name":"web","version":%q,"assets":[{"path":"com/acme/web/%[1]s/web-%[1]s.zip"}]}]}`, version)
		case "large.zip":
			_, _ = w.Write(make([]byte, 50<<20+1)) // its reader stops before
		case "gone.zip":
			w.WriteHeader(http.StatusNotFound)
		default:
			z := zip.NewWriter(w)
			f, err := z.Create("index.js")
			if err == nil {
				_, err = fmt.Fprintf(f, "exports.handler = () => %q", name)
			}
			if err == nil {
				err = z.Close()
			}
			if err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(s.Close)
	return task.Server{URL: s.URL, Auth: task.AuthBasic, Username: "ada", Password: "hush-password"}
}

// A zip of Artifactory or Nexus is sent by the delegate, deployed and rolled back as
// one of S3 is.
func TestZipsOfRepositories(t *testing.T) {
	t.Parallel()
	server := repositories(t)
	for name, of := range map[string]func(version string) *lookup.Artifact{
		"ArtifactoryRegistry": func(version string) *lookup.Artifact {
			return &lookup.Artifact{Choice: lookup.Choice{Version: version + ".zip"}, Artifactory: &lookup.Artifactory{Server: server, Repository: "code", Path: "web"}}
		},
		"Nexus3Registry": func(version string) *lookup.Artifact {
			return &lookup.Artifact{Choice: lookup.Choice{Version: version}, Nexus: &lookup.Nexus{Server: server, Repository: "code", Format: "maven", Group: "com.acme", Artifact: "web"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t)
			stage := func(execution, version string) *stage {
				s := a.stage(execution, "unused.zip")
				s.spec.Target.Artifact, s.image = of(version), version
				s.spec.Target.Artifact.Type, s.spec.Target.Artifact.Name = name, "code/web"
				return s
			}
			stage("e1", "1").good(lane.OpDeploy, 0)
			first := *a.function("1").CodeSha256
			s := stage("e2", "2")
			s.good(lane.OpDeploy, 0)
			a.want("1 2", "2")
			if second := *a.function("2").CodeSha256; second == first {
				t.Error("both versions have the same code")
			}
			s.good(lane.OpDeploy, 0) // delivered again
			a.want("1 2", "2")
			s.good(lane.OpRollback, 0)
			if now := *a.function("").CodeSha256; now != first || a.alias("live") != "1" {
				t.Errorf("rolled back, the code is %s and the alias on %s; want %s", now, a.alias("live"), first)
			}
			if log := s.env.Text("Deploy", "INFO") + s.env.Text("Fetch Manifests", "INFO") + s.env.Text("Prepare Rollback Data", "INFO"); !strings.Contains(log, "of code/web, which the delegate sends") || strings.Contains(log, "hush") {
				t.Errorf("the log is %s", log)
			}
		})
	}
}

// A file that can't be sent fails the step before it changes anything.
func TestZipsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	server := repositories(t)
	wrong := server
	wrong.Password = "hush-other"
	a := newAccount(t)
	for version, c := range map[string]struct {
		server task.Server
		want   string
		typ    fault.FailureType
	}{
		"large.zip": {server, "large.zip of code/web has more than 50 MB", fault.ConfigurationFailure},
		"gone.zip":  {server, "/code/web/gone.zip: status 404", fault.Unknown},
		"1.zip":     {wrong, "status 401", fault.Authentication},
	} {
		s := a.stage("e1", "unused.zip")
		s.spec.Target.Artifact = &lookup.Artifact{
			Type: "ArtifactoryRegistry", Name: "code/web", Choice: lookup.Choice{Version: version}, Artifactory: &lookup.Artifactory{Server: c.server, Repository: "code", Path: "web"},
		}
		r := s.bad(lane.OpDeploy, 0)
		if !strings.Contains(r.Message, c.want) || !slices.Contains(r.FailureTypes, c.typ) || strings.Contains(r.Message, "hush") {
			t.Errorf("%s: %s, %s; want %s, %s", version, r.Message, r.FailureTypes, c.want, c.typ)
		}
	}
	if got := a.changes(); len(got) != 0 {
		t.Errorf("there were the calls %v", got)
	}
}
