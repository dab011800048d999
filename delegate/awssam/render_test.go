package awssam_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// layered has the application's template rendered by a file of the file store and by
// a layer above it.
func layered(p *lane.Spec) {
	p.Target.Application.Values = []origin.ValuesFile{
		{ID: "base", Store: task.Store{Files: &task.FileStore{Paths: []string{"/values/base.yaml"}}}},
		{ID: "prod", Store: task.Store{Inline: "seconds: 60"}},
	}
}

func (s *stage) template() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Sessions.Workspace("s1"), "app/app/template.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

const template = `Description: {{ .Values.token }} {{ "{{resolve:ssm:/a}}" }}
Resources:
  {{ .Values.name }}:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: {{ .Values.seconds }}
`

const rendered = `Description: hush-token {{resolve:ssm:/a}}
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 60
`

func templated() map[string]string {
	return map[string]string{"template.yaml": template, "/values/base.yaml": "name: Queue\nseconds: 30\ntoken: " + secret + "\n"}
}

// A template is rendered by the values before sam sees it, once in a session,
// whichever step comes first; what is brought again is rendered again.
func TestValues(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	s := begin(t, w, templated())
	s.sam(lane.OpBuild, task.Succeeded, layered)
	if got := s.template(); got != rendered {
		t.Errorf("sam has built\n%s", got)
	}
	for _, want := range []string{rendered, "Warning: the template holds a secret"} {
		if !strings.Contains(s.Log(), want) {
			t.Errorf("%q isn't in the log:\n%s", want, s.Log())
		}
	}
	if !slices.Contains(s.Masked(), hidden) {
		t.Error("the secret isn't masked")
	}
	s.sam(lane.OpDeploy, task.Succeeded, layered)
	if _, got := s.Stack("app"); got != rendered {
		t.Errorf("the stack has\n%s", got)
	}
	if log := s.Text("Deploy", "INFO"); !strings.Contains(log, "was rendered in this workspace before") || strings.Contains(log, "VisibilityTimeout") {
		t.Errorf("the step after it says\n%s", log)
	}
	s.download()
	if s.template() != template {
		t.Error("what is brought again is as it was")
	}
	s.sam(lane.OpBuild, task.Succeeded, layered)
	if got := s.template(); got != rendered {
		t.Errorf("brought again, sam has built\n%s", got)
	}

	other := begin(t, w, templated())
	other.sam(lane.OpDeploy, task.Succeeded, layered)
	if _, got := other.Stack("app"); got != rendered {
		t.Errorf("without a build, the stack has\n%s", got)
	}
}

// Without values nothing is rendered: {{ may stand in a template.
func TestNoValues(t *testing.T) {
	t.Parallel()
	s := begin(t, testaws.NewWorld(t), templated())
	s.sam(lane.OpBuild, task.Succeeded)
	if got := s.template(); got != template {
		t.Errorf("the template is\n%s", got)
	}
}

// A step's script finds the values as they are merged, in a file that goes with the
// session; without values there is none.
func TestScriptsFindTheValues(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	const script = `echo "values: ${PLUGIN_VALUES_YAML_FILE_PATH:-none}"; echo "template: $PLUGIN_SAM_TEMPLATE_FILE_PATH"
if [ -n "$PLUGIN_VALUES_YAML_FILE_PATH" ]; then cp "$PLUGIN_VALUES_YAML_FILE_PATH" copy.yaml; fi`
	for _, op := range []lane.Op{lane.OpBuild, lane.OpDeploy} {
		s := begin(t, w, templated())
		s.sam(op, task.Succeeded, layered, func(p *lane.Spec) { p.Run.Before = script })
		work := s.Sessions.Workspace("s1")
		got, err := os.ReadFile(filepath.Join(work, "app/app/copy.yaml"))
		if want := "name: Queue\nseconds: 60\ntoken: hush-token\n"; err != nil || string(got) != want {
			t.Errorf("%s: the script finds %q, %v; want %q", op, got, err, want)
		}
		for _, want := range []string{"values: " + filepath.Join(work, ".slipway/values.yaml"), "template: template.yaml"} {
			if !strings.Contains(s.Log(), want) {
				t.Errorf("%s: %q isn't in the log:\n%s", op, want, s.Log())
			}
		}
		info, err := os.Stat(filepath.Join(work, ".slipway/values.yaml"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file is %v, %v; want it for its owner alone", op, info, err)
		}
	}
	s := begin(t, w, map[string]string{"template.json": queue("Queue", "30")})
	s.sam(lane.OpBuild, task.Succeeded, func(p *lane.Spec) { p.Run.Before = script })
	if !strings.Contains(s.Log(), "values: none") {
		t.Errorf("without values the log has\n%s", s.Log())
	}
}

// A template or values that are wrong are told with their file and line, before sam
// runs.
func TestWrongTemplates(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	for name, c := range map[string]struct{ template, values, want string }{
		"a function that isn't there": {"a: 1\nb: {{ env \"HOME\" }}\n", "a: 1", `the template can't be rendered with the service's values: template: app/app/template.yaml:2: function "env" not defined`},
		"values that aren't there":    {"a: 1\n", "", "values base: file store, /values/base.yaml: there is no file or folder /values/base.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"template.yaml": c.template, "/values/base.yaml": c.values}
			if c.values == "" {
				delete(files, "/values/base.yaml")
			}
			s := begin(t, w, files)
			for _, op := range []lane.Op{lane.OpBuild, lane.OpDeploy} {
				r := s.sam(op, task.Failed, layered)
				if !strings.Contains(r.Message, c.want) || !slices.Contains(r.FailureTypes, "ConfigurationFailure") {
					t.Errorf("%s: %s, %s; want %s", op, r.Message, r.FailureTypes, c.want)
				}
			}
			if strings.Contains(s.Log(), "$ sam") || s.template() != c.template {
				t.Errorf("the template is\n%s\n%s", s.template(), s.Log())
			}
		})
	}
}
