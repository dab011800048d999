package artifact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// imageTask asks a registry for an image.
func imageTask(r *testservers.Images, repo string, c lookup.Choice) lookup.Artifact {
	return lookup.Artifact{
		Type: "DockerRegistry", Name: "example.com/" + repo, Choice: c,
		Registry: &lookup.Registry{Server: task.Server{URL: r.URL, Auth: task.AuthNone}, Repository: repo, Image: "example.com/" + repo},
	}
}

// look runs a task and gives what it puts out.
func look(t *testing.T, p lookup.Artifact) (task.Result, lookup.Results) {
	t.Helper()
	env := executortest.New(t, nil)
	r, err := artifact.New(nil, nil)(t.Context(), executortest.Assignment(t, task.KindArtifact, p), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Output struct {
			Results struct{ Primary lookup.Results } `json:"artifactResults"`
		}
	}
	if r.Status == task.Succeeded {
		if err := json.Unmarshal(r.Outputs, &out); err != nil {
			t.Fatal(err)
		}
	} else if log := env.Text(artifact.Unit, executor.Error); !strings.Contains(log, r.Message) {
		t.Errorf("the log %q doesn't say %q", log, r.Message)
	}
	return r, out.Output.Results.Primary
}

func TestImagesAreChosen(t *testing.T) {
	t.Parallel()
	r := testservers.NewImages(t, false)
	older := r.Push(t, "team/web", "1.9", "1.10", "1.2")
	newer := r.Push(t, "team/web", "latest", "1.30")
	tests := []struct {
		name   string
		choice lookup.Choice
		tag    string
		digest string
		image  string
	}{
		{"a fixed tag", lookup.Choice{Version: "1.10"}, "1.10", older, ""},
		{"with its digest", lookup.Choice{Version: "1.30", Digest: newer}, "1.30", newer, "example.com/team/web:1.30@" + newer},
		{"with its digest alone", lookup.Choice{Version: "1.30", Digest: newer[7:]}, "1.30", newer, "example.com/team/web:1.30@" + newer},
		{"the last in lexical order", lookup.Choice{Pattern: ".*"}, "latest", newer, ""},
		{"the last that matches", lookup.Choice{Pattern: `1\.\d`}, "1.9", older, ""},
		{"of the whole tag", lookup.Choice{Pattern: `1\.3|1\.2`}, "1.2", older, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, got := look(t, imageTask(r, "team/web", tt.choice))
			image := "example.com/team/web:" + tt.tag
			want := lookup.Results{
				Version: tt.tag, Digest: tt.digest, Image: image, Label: map[string]string{"commit": "abc"},
				Metadata: map[string]string{"SHA": tt.digest, "SHAV2": tt.digest, "image": image, "url": image, "tag": tt.tag},
			}
			if tt.image != "" {
				want.Image = tt.image
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: results (-want +got):\n%s", r.Message, diff)
			}
		})
	}
}

func TestVersionsAreListed(t *testing.T) {
	t.Parallel()
	r := testservers.NewImages(t, false)
	r.Push(t, "team/web", "a", "b", "c")
	_, got := look(t, imageTask(r, "team/web", lookup.Choice{List: 2}))
	want := []lookup.ArtifactVersion{{Version: "c"}, {Version: "b"}}
	if diff := cmp.Diff(want, got.Versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestWhatIsWrongWithAnImage(t *testing.T) {
	t.Parallel()
	r := testservers.NewImages(t, false)
	digest := r.Push(t, "team/web", "1", "2", "3", "4", "5", "6")
	tests := []struct {
		name   string
		repo   string
		choice lookup.Choice
		want   string
		typ    fault.FailureType
	}{
		{"no such tag", "team/web", lookup.Choice{Version: "7"}, "example.com/team/web has no version 7: it has 6, the newest of which are 6, 5, 4, 3, 2", fault.Unknown},
		{"no tag matches", "team/web", lookup.Choice{Pattern: "v.*"}, "no version of example.com/team/web matches v.*: it has 6, the newest of which are", fault.Unknown},
		{"another digest", "team/web", lookup.Choice{Version: "1", Digest: strings.Repeat("0", 64)}, "1 of example.com/team/web has the digest " + digest + "; want sha256:000", fault.Verification},
		{"no such image", "team/none", lookup.Choice{Pattern: ".*"}, "example.com/team/none: ", fault.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := look(t, imageTask(r, tt.repo, tt.choice))
			if r.Status != task.Failed || !strings.Contains(r.Message, tt.want) {
				t.Errorf("%s: %s\nwant Failed: %s", r.Status, r.Message, tt.want)
			}
			if len(r.FailureTypes) == 0 || r.FailureTypes[0] != tt.typ {
				t.Errorf("failure types %v; want %s", r.FailureTypes, tt.typ)
			}
		})
	}
}

func TestUncheckedVersionsAreTaken(t *testing.T) {
	t.Parallel()
	r := testservers.NewImages(t, false)
	r.Push(t, "team/web", "1")
	_, got := look(t, imageTask(r, "team/web", lookup.Choice{Version: "7", Unchecked: true}))
	if got.Version != "7" || got.Image != "example.com/team/web:7" {
		t.Errorf("got %+v", got)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	r := testservers.NewImages(t, true)
	r.Push(t, "team/web", "1")
	p := imageTask(r, "team/web", lookup.Choice{Version: "1"})
	p.Registry.Server.Auth, p.Registry.Server.Username, p.Registry.Server.Password = task.AuthBasic, testservers.Username, testservers.Password
	if _, got := look(t, p); got.Version != "1" {
		t.Errorf("got %+v", got)
	}
	p.Registry.Server.Password = "wrong"
	if r, _ := look(t, p); len(r.FailureTypes) != 1 || r.FailureTypes[0] != fault.Authentication || strings.Contains(r.Message, "wrong") {
		t.Errorf("%v: %s; want %s", r.FailureTypes, r.Message, fault.Authentication)
	}
}

// A registry is a web server's, whatever an expression says.
func TestRegistriesAreOnServers(t *testing.T) {
	t.Parallel()
	images := testservers.NewImages(t, false)
	for _, url := range []string{"file:///etc", "unix:///run/docker.sock", "oci://host"} {
		p := imageTask(images, "team/web", lookup.Choice{Version: "1"})
		p.Registry.Server.URL = url
		if r, _ := look(t, p); r.Status == task.Succeeded || !strings.Contains(r.Message, `the registry's URL is "`+url+`"; want https:// or http://`) {
			t.Errorf("%s: %s %s", url, r.Status, r.Message)
		}
	}
}
