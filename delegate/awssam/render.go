package awssam

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/delegate/gotemplate"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

const (
	// maxTemplate is how large a template may be before it is rendered, in bytes.
	maxTemplate = 4 << 20
	// marks is the folder of the workspace that says which templates were rendered: no
	// manifest has its name.
	marks = ".slipway/rendered"
	// merged is a file of the workspace with the values by which the template is
	// rendered, for the step's script.
	merged = ".slipway/values.yaml"
)

// render renders the template by the service's values in its place, once in a
// session: what was rendered may hold what looks like a template. The values are
// read by each step, so that its log hides what is secret in them.
func (j *job) render(ctx context.Context, t *workspace.Tool, app application) error {
	layers := j.spec.Target.Application.Values
	if len(layers) == 0 {
		return nil
	}
	values, err := j.values(ctx, layers)
	if err != nil {
		return err
	}
	if err := j.tell(ctx, t, values); err != nil {
		return err
	}
	name, session := path.Join(app.dir, app.template), j.spec.Run.Session
	text, err := workspace.Read(ctx, j.cfg.Sessions, session, name, maxTemplate)
	if err != nil {
		return err
	}
	// The mark is there before the rendered template is: a template that is still as it
	// was marked was brought again, or the delegate was killed in between.
	mark := path.Join(marks, sum([]byte(name)))
	marked, err := workspace.Read(ctx, j.cfg.Sessions, session, mark, sha256.Size*2)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err == nil && string(marked) != sum(text) {
		j.Say("The template %s was rendered in this workspace before.", name)
		return nil
	}
	rendered, err := gotemplate.Render(ctx, j.cfg.Sandbox, manifest.File{Name: name, Text: string(text)}, values)
	if err != nil {
		return unrendered(err)
	}
	if err := workspace.Put(ctx, j.cfg.Sessions, session, mark, []byte(sum(text))); err != nil {
		return err
	}
	if err := workspace.Put(ctx, j.cfg.Sessions, session, name, []byte(rendered)); err != nil {
		return err
	}
	j.Say("The template %s, rendered with the service's values:\n%s", name, strings.TrimSuffix(rendered, "\n"))
	if j.Env.Hidden(rendered) {
		j.Warn("the template holds a secret. Who may read the stack's template sees it; a parameter with NoEcho hides it")
	}
	return nil
}

// tell puts the values where scripts look for them that were written for other
// runners.
func (j *job) tell(ctx context.Context, t *workspace.Tool, values map[string]any) error {
	doc, err := yaml.Marshal(values)
	if err != nil {
		return fmt.Errorf("encode the values: %w", err)
	}
	session := j.spec.Run.Session
	t.Legacy["PLUGIN_VALUES_YAML_FILE_PATH"] = filepath.Join(j.cfg.Sessions.Workspace(session), merged)
	return workspace.Put(ctx, j.cfg.Sessions, session, merged, doc)
}

// values are the layers of values, merged.
func (j *job) values(ctx context.Context, layers []origin.ValuesFile) (map[string]any, error) {
	from := manifest.Source{
		Git: j.cfg.Git, Places: manifest.Places(nil, layers), Stage: j.work.Execution + "/" + j.work.Stage,
		Extract: manifest.NewExtractor(j.cfg.Script, j.task, j.Env, j.Unit),
		Resolve: j.Env.Resolve, Files: j.Env.Files, Dir: j.Env.Dir, Log: j.Env.Log(j.Unit),
	}
	return from.Values(ctx, &origin.Manifest{}, manifest.Files{}, layers)
}

// unrendered is the error of a template that is wrong, which names its file and its
// line.
func unrendered(err error) error {
	if !fault.Is(err, fault.Invalid) {
		return err
	}
	const why = "the template can't be rendered with the service's values: %w"
	if strings.Contains(err.Error(), `function "resolve" not defined`) {
		return fault.New(fault.Invalid, why+"; write a dynamic reference of CloudFormation as {{`{{resolve:...}}`}}", err).Causing(fault.ConfigurationFailure)
	}
	return fault.New(fault.Invalid, why, err).Causing(fault.ConfigurationFailure)
}

func sum(text []byte) string {
	all := sha256.Sum256(text)
	return hex.EncodeToString(all[:])
}
