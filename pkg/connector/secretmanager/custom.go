package secretmanager

import (
	"cmp"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Custom is a secret manager of which a template says how its secrets are
// fetched.
type Custom struct {
	Template yamldoc.Field[string]
	Label    yamldoc.Field[string]
	Inputs   []Input
	Host     Host               // wins over the template's
	Seconds  yamldoc.Field[int] // none: defaultTimeout
	scope    ref.Scope          // where the connector lives
}

// defaultTimeout is that of a manager that says none.
const defaultTimeout = time.Minute

func decodeCustom(d *connector.Decoder, v yamldoc.Value) *Custom {
	c := &Custom{scope: d.Scope}
	d.Fields(v, document.Merge(d.Common, c.Host.keys(d), document.Keys{
		"template": d.Link(&c.Template, &c.Label, document.Keys{"templateInputs": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"environmentVariables": inputs(d, &c.Inputs)})
		}}),
		"onDelegate": d.Decided(&c.Host.OnDelegate),
		"timeout":    d.Count(&c.Seconds),
		"default":    d.Idle(everyManager, d.Flag(nil)),
		"isDefault":  d.Idle(everyManager, d.Flag(nil)),
	}))
	d.Need(v, "template")
	return c
}

// Values is the value type of its secrets.
func (c *Custom) Values() string { return connector.ValueCustom }

// Fetch is how a secret is fetched: by the script of the template.
func (c *Custom) Fetch(r connector.Reach, s connector.Secret) (connector.Fetch, error) {
	name, err := ref.Parse(c.Template.Value, c.scope)
	if err != nil {
		return connector.Fetch{}, fault.New(fault.Invalid, "its template: %w", err)
	}
	found, err := r.Template(name, c.Label.Value)
	if err != nil {
		return connector.Fetch{}, err
	}
	t := decodeTemplate(connector.Open(found.Scope), yamldoc.Sub(found.Spec, "spec"))
	env, err := c.environment(r, s, t, found.Scope)
	if err != nil {
		return connector.Fetch{}, err
	}
	script, err := t.script(r, found.Scope)
	if err == nil {
		names := map[string]expr.Value{"spec": expr.Map(map[string]expr.Value{"environmentVariables": expr.Map(env)})}
		var resolved expr.Value
		resolved, err = r.Resolve(script, found.Scope, names)
		script = resolved.Text()
	}
	if err != nil {
		return connector.Fetch{}, fault.Wrap(err, "the script of template %s", found.Name)
	}
	shell := task.Shell{
		Shell: t.Shell.Value, Script: script, Env: map[string]string{},
		Outputs:          []task.ShellOutput{{Name: "secret", Variable: "secret", Secret: true}},
		WorkingDirectory: cmp.Or(c.Host.Directory.Value, written(t.Host.Directory)),
	}
	for key, v := range env {
		shell.Env[key] = v.Text()
	}
	out := connector.Fetch{Task: task.FetchedSecret{Script: &shell, Timeout: defaultTimeout}, Selectors: t.Selectors.Value}
	if c.Seconds.Set {
		if c.Seconds.Value < 1 {
			return connector.Fetch{}, fault.New(fault.Invalid, "its timeout is %d; want seconds, 1 or more", c.Seconds.Value)
		}
		out.Task.Timeout = time.Duration(c.Seconds.Value) * time.Second
	}
	shell.Remote, err = c.remote(r, t)
	return out, err
}

// written is a text as it stands in its document.
func written(f yamldoc.Field[string]) string { return f.Value + f.Expr } // it has one of them

// script is what the template says, or the file of the file store that it names
// in its scope.
func (t *Template) script(r connector.Reach, of ref.Scope) (string, error) {
	if !t.File.Set {
		return written(t.Script), nil
	}
	f, err := ref.ParseFile(t.File.Value, of)
	if err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}
	content, err := r.File(f)
	if err == nil && !utf8.ValidString(content) {
		return "", fault.New(fault.Invalid, "file %s isn't text", f)
	}
	return content, err
}

// remote is which other host than the delegate's the script runs on; nil: none.
func (c *Custom) remote(r connector.Reach, t *Template) (*task.SSH, error) {
	if on := cmp.Or(c.Host.OnDelegate, t.Host.OnDelegate); !on.Set || on.Value {
		return nil, nil //nolint:nilnil // the usual case
	}
	key := cmp.Or(c.Host.KeyRef.Value, written(t.Host.KeyRef))
	if key == "" {
		return nil, fault.New(fault.Invalid, "its script runs on another host, and no connectorRef names the key of who logs in there")
	}
	login, err := r.SSHKey(key)
	if err != nil {
		return nil, err
	}
	if login.Host = strings.TrimSpace(cmp.Or(c.Host.Name.Value, written(t.Host.Name))); login.Host == "" {
		return nil, fault.New(fault.Invalid, "its script runs on another host, and none is named")
	}
	return &login, nil
}

// errNoInput is that only a secret says a template's input, and it doesn't.
var errNoInput = errors.New("there is no value for the input")

// environment are the values of the template's inputs: what the secret says of
// one, else the connector, else the template. One that the connector says for
// good can't be changed by its secrets.
func (c *Custom) environment(r connector.Reach, s connector.Secret, t *Template, of ref.Scope) (map[string]expr.Value, error) {
	own, err := connector.CustomValues(s.Value)
	if err != nil {
		return nil, err
	}
	out := map[string]expr.Value{}
	for _, in := range t.Inputs {
		name, value, scope := in.Name.Value, written(in.Value), of
		fixed := false
		if set := c.value(name); set != nil {
			value, scope, fixed = written(set.Value), c.scope, !set.Default.Value
		}
		if mine, ok := own[name]; ok && mine != value {
			if fixed {
				return nil, fault.New(fault.Invalid, "the connector fixes the input %q; the secret can't change it", name)
			}
			value, scope = mine, s.Scope
		}
		delete(own, name)
		if expr.IsRuntimeInput(value) {
			return nil, fault.New(fault.Invalid, "%w %q", errNoInput, name)
		}
		if out[name], err = r.Resolve(value, scope, nil); err != nil {
			return nil, fault.Wrap(err, "the input %q", name)
		}
	}
	for name := range own {
		return nil, fault.New(fault.Invalid, "its template has no input %q", name)
	}
	return out, nil
}

// value is what the connector says of an input; nil if it leaves it open.
func (c *Custom) value(name string) *Input {
	for i, in := range c.Inputs {
		if in.Name.Value == name && !expr.IsRuntimeInput(written(in.Value)) {
			return &c.Inputs[i]
		}
	}
	return nil
}

// Probe runs the script, if its inputs don't come from the secrets.
func (c *Custom) Probe(r connector.Reach) (connector.Probe, error) {
	f, err := c.Fetch(r, connector.Secret{Scope: c.scope})
	if errors.Is(err, errNoInput) {
		return connector.Probe{Task: probe.Spec{
			Untested: err.Error() + " of its template but in its secrets, and which of them to ask for isn't known; a step that uses one tests the connector",
		}}, nil
	}
	return connector.Probe{Task: probe.Spec{Script: f.Task.Script}, Selectors: f.Selectors}, err
}
