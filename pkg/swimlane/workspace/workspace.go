// Package workspace is what deployment types share whose steps run a tool in the
// workspace of a session, and the step that brings manifests there.
//
// It is no deployment type itself: each has a folder beside this one. Tools are
// run by delegate/workspace, in sessions of delegate/session.
package workspace

import (
	"maps"
	"path"
	"path/filepath"
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
	// Optional says that it may have no files.
	Optional bool `json:"optional,omitempty"`
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
	Manifests []Manifest `json:"manifests,omitempty"`
	Clone     *Clone     `json:"clone,omitempty"`
	// Told are files of the workspace whose texts are outputs.
	Told []string `json:"told,omitempty"`
}

// Clone is a repository that is brought with its history.
type Clone struct {
	Git   task.Git `json:"git"`
	Into  string   `json:"into"`            // a folder of the workspace
	Depth int      `json:"depth,omitempty"` // how many commits; 0: all
	Tags  bool     `json:"tags,omitempty"`
}

// Pod are the keys of steps that bring files which say what their container would
// be like.
func Pod(d *document.Decoder) document.Keys {
	const why = "files are brought by the delegate itself"
	return document.Keys{
		"privileged":        d.Idle(why, d.Flag(nil)),
		"runAsUser":         d.Idle(why, d.Text(nil)),
		"resources":         d.Idle(why, func(v yamldoc.Value) { resources(d, v) }),
		"delegateSelectors": d.Words(nil), // the plan's
	}
}

// container is where Harness has the workspace.
const container = "/harness/"

// Below is a path in the workspace, which may be written as it is in a container.
func Below(text string) (string, error) {
	name := strings.TrimPrefix(text+"/", container)
	name = path.Clean(strings.TrimSuffix(name, "/"))
	if !filepath.IsLocal(name) {
		return "", fault.New(fault.Invalid, "%q isn't in the workspace; want a path below it, without .., or one below %s", text, container).Causing(fault.ConfigurationFailure)
	}
	return name, nil
}

// Inside reads a path in the workspace.
func Inside(d *document.Decoder, f *yamldoc.Field[string]) document.Rule {
	return func(v yamldoc.Value) {
		if *f = d.String(v); f.Expr == "" && f.Value != "" {
			_, err := Below(f.Value)
			d.Failed(v, err)
		}
	}
}

// InsideAll reads paths in the workspace.
func InsideAll(d *document.Decoder, f *yamldoc.Field[[]string]) document.Rule {
	return func(v yamldoc.Value) {
		*f = d.Strings(v)
		for item := range document.Literals(v) {
			_, err := Below(item.Node.Value)
			d.Failed(item, err)
		}
	}
}

// AllBelow are the paths in the workspace of a step that starts.
func AllBelow(texts []string) ([]string, error) {
	var out []string
	for _, text := range texts {
		name, err := Below(text)
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}

// Bring has a delegate of the session's machine bring files. It needs the step's
// selectors, and more.
func Bring(in step.In, d Download, more ...string) (step.Action, error) {
	w, err := step.Work(in, d)
	if err != nil {
		return step.Action{}, err
	}
	return step.Action{Task: &step.Task{Kind: Kind, Payload: w, Selectors: slices.Concat(in.Selectors, more), Machine: in.Session.Machine}}, nil
}

// Kinds are those of the tasks that bring files, and of those that begin programs.
func Kinds() swimlane.Kinds {
	bring := swimlane.Fetching(func(d *Download) swimlane.Fetched {
		var out swimlane.Fetched
		for _, m := range d.Manifests {
			out.Files = out.Files || m.Store.Fetched()
			out.Stored = append(out.Stored, m.Store.Stored()...)
		}
		return out
	})
	return swimlane.Kinds{{Name: Kind, Fetched: bring}, {Name: KindBackground, Fetched: swimlane.FetchesNothing}}
}
