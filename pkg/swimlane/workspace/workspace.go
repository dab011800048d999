// Package workspace is what deployment types share whose steps run a tool in the
// workspace of a session, and the step that brings manifests there.
//
// It is no deployment type itself: each has a folder beside this one. Tools are
// run by delegate/workspace, in sessions of delegate/session.
package workspace

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Tool is what the steps have in common that run a tool: what runs before it, its
// environment, and the container in which it would run.
type Tool struct {
	PreExecution yamldoc.Field[string]
	Env          yamldoc.Field[map[string]string]
	image        yamldoc.Field[string]
	connector    yamldoc.Field[string]
	pull         yamldoc.Field[string]
	privileged   yamldoc.Field[bool]
	user         yamldoc.Field[string]
	resources    bool
}

// Keys are its keys in a spec.
func (t *Tool) Keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"preExecution":      d.Text(&t.PreExecution),
		"envVariables":      func(v yamldoc.Value) { t.environment(d, v) },
		"image":             d.Text(&t.image),
		"connectorRef":      d.Reference(ref.Connector, &t.connector),
		"imagePullPolicy":   d.Word(&t.pull, "Always", "Never", "IfNotPresent"),
		"privileged":        d.Flag(&t.privileged),
		"runAsUser":         d.Text(&t.user),
		"resources":         func(v yamldoc.Value) { t.resources = true; resources(d, v) },
		"delegateSelectors": d.Words(nil), // the plan's
	}
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (t *Tool) environment(d *document.Decoder, v yamldoc.Value) {
	t.Env = d.StringMap(v)
	for name := range t.Env.Value {
		if !variable.MatchString(name) {
			d.Errorf(document.Child(v, name), document.WrongValue, "%q can't be the name of a variable", name)
		}
	}
}

var quantity = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(m|[kMGT]i?)?$`)

func resources(d *document.Decoder, v yamldoc.Value) {
	amount := func(v yamldoc.Value) {
		if f := d.String(v); f.Expr == "" && f.Value != "" && !quantity.MatchString(f.Value) {
			d.Errorf(v, document.WrongValue, "found %q; want an amount such as 400m, 0.5, 500Mi or 1G", f.Value)
		}
	}
	both := func(v yamldoc.Value) { d.Fields(v, document.Keys{"cpu": amount, "memory": amount}) }
	d.Fields(v, document.Keys{"limits": both, "requests": both})
}

// Run is how a delegate runs a tool, besides its arguments.
type Run struct {
	Session string            `json:"session"`
	Before  string            `json:"before,omitempty"` // a script
	Env     map[string]string `json:"env,omitempty"`
	// Idle are the fields of the step that say something about a container.
	Idle []string `json:"idle,omitempty"`
}

// Run is how a step's tool is run in its session.
func (t *Tool) Run(in step.In) (Run, error) {
	s, err := Session(in)
	if err != nil {
		return Run{}, err
	}
	idle := map[string]bool{
		"image": t.image.Set && t.image.Value != "", "connectorRef": t.connector.Set && t.connector.Value != "", "imagePullPolicy": t.pull.Set && t.pull.Value != "",
		"privileged": t.privileged.Set, "runAsUser": t.user.Set && t.user.Value != "", "resources": t.resources,
	}
	maps.DeleteFunc(idle, func(_ string, set bool) bool { return !set })
	return Run{Session: s.ID, Before: t.PreExecution.Value, Env: t.Env.Value, Idle: slices.Sorted(maps.Keys(idle))}, nil
}

// Session is the open session of a step.
func Session(in step.In) (*step.Session, error) {
	if in.Session == nil || in.Session.Machine == "" {
		return nil, fault.New(fault.Conflict, "the session in which the step would run isn't open")
	}
	return in.Session, nil
}

var version = regexp.MustCompile(`^~?v?[0-9]+(\.[0-9]+){0,2}$`)

// Version reads which version of a tool is wanted: all of it or its beginning, or
// with ~ what comes after it, too.
func Version(d *document.Decoder, f *yamldoc.Field[string]) document.Rule {
	return func(v yamldoc.Value) {
		if *f = d.String(v); f.Expr == "" && f.Value != "" && !version.MatchString(f.Value) {
			d.Errorf(v, document.WrongValue, "found %q; want a version such as 1.120.0, 1.120 or ~1.120", f.Value)
		}
	}
}

// Wanted is a tool as a step's task names it, see dispatch.Has.
func Wanted(tool, version string) string {
	if version == "" {
		return tool
	}
	return tool + "=" + strings.TrimPrefix(version, "v")
}

// Manifest is a manifest whose files are brought into a workspace.
type Manifest struct {
	ID    string     `json:"id"`
	Store task.Store `json:"store"`
}

// Brought is what a Target has whose manifests can be brought into a workspace.
type Brought interface {
	// Brought are the manifests, and the selectors of the delegates that reach them.
	Brought() ([]Manifest, []string)
}

// Kind is the kind of tasks that bring manifests.
const Kind task.Kind = "download"

// Download is the spec of such a task.
type Download struct {
	Session   string     `json:"session"`
	Manifests []Manifest `json:"manifests"`
}

// Downloads is the kind as the deployment types have it that use it.
func Downloads() swimlane.Kind {
	return swimlane.Kind{Name: Kind, Fetched: swimlane.Fetching(func(d *Download) swimlane.Fetched {
		var out swimlane.Fetched
		for _, m := range d.Manifests {
			out.Files = out.Files || m.Store.Fetched()
			out.Stored = append(out.Stored, m.Store.Stored()...)
		}
		return out
	})}
}
