package resolve

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// elsewhereKept is how a delegate fetches a secret that another manager keeps;
// nil for one that Slipway keeps itself, and for one that doesn't exist: the
// claim of its task says so.
func (s *Scope) elsewhereKept(r ref.Ref) (*task.LateSecret, error) {
	doc, err := s.raw(ref.Secret, r)
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, err
	}
	spec := doc.Get("spec")
	if kind := text(spec.Get("valueType")); kind == "" || kind == entity.ValueInline {
		return nil, nil //nolint:nilnil // see above
	}
	return s.fetched(r, spec)
}

// fetched is how a delegate fetches a secret by what its document says.
func (s *Scope) fetched(r ref.Ref, spec *yamldoc.Node) (*task.LateSecret, error) {
	manager, err := ref.Parse(text(spec.Get("secretManagerIdentifier")), r.Scope)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the manager of secret %q: %w", r.ID, err)
	}
	if s.secrets.inside {
		return nil, fault.New(fault.Invalid, "a secret manager is given the secret %q, which another manager keeps; only those of harnessSecretManager can be", r.ID)
	}
	s.secrets.inside = true
	defer func() { s.secrets.inside = false }()
	connector, err := s.raw(ref.Connector, manager)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "the manager %q of secret %q isn't in %s", manager.ID, r.ID, manager.Scope)
	}
	if err != nil {
		return nil, err
	}
	f := fetching{Scope: s, secret: r, spec: spec, manager: manager, connector: connector.Get("spec")}
	if err := f.by(text(connector.Get("type"))); err != nil {
		return nil, fault.New(fault.CodeOf(err), "secret %q of the manager %q: %w", r.ID, manager.ID, err)
	}
	f.out.Name = r.Text(s.Execution.Scope)
	return &task.LateSecret{Fetched: &f.out, Selectors: append(f.selectors, words(connector.At("spec", "delegateSelectors"))...)}, nil
}

// by reads how a manager of a type is asked.
func (f *fetching) by(typ string) error {
	want, how := entity.ValueReference, f.reference
	switch typ {
	case entity.CustomSecretManager:
		want, how = entity.ValueCustom, func(string) error { return f.custom() }
	case entity.AWSSecretManager, entity.VaultManager:
	default:
		return fault.New(fault.Invalid, "connector %s is of type %s; want a secret manager", f.manager.ID, typ)
	}
	if is := text(f.spec.Get("valueType")); is != want {
		return fault.New(fault.Invalid, "it has the value type %s; secrets of a %s have %s", is, typ, want)
	}
	return how(typ)
}

// raw reads an entity's document below its root key, as it was saved.
func (s *Scope) raw(kind ref.Kind, r ref.Ref) (*yamldoc.Node, error) {
	e, err := s.Entities.Entity(s.Context, store.EntityKey{Scope: r.Scope, Kind: kind, ID: r.ID})
	if err != nil {
		return nil, err
	}
	docs, report := yamldoc.Parse(r.ID, e.YAML)
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, fault.New(fault.Invalid, "%s %q has no document", kind, r.ID)
	}
	return docs[0].Get(string(kind)), nil
}

// fetching is how one secret is fetched, in the making.
type fetching struct {
	*Scope

	secret    ref.Ref
	spec      *yamldoc.Node // the secret's
	manager   ref.Ref
	connector *yamldoc.Node // the manager's spec
	out       task.FetchedSecret
	selectors []string // of the template
}

// defaultFetchTimeout is that of a manager that says none.
const defaultFetchTimeout = time.Minute

// custom reads the script of a custom secret manager, with its inputs.
func (f *fetching) custom() error {
	link := f.connector.Get("template")
	name, err := ref.Parse(text(link.Get("templateRef")), f.manager.Scope)
	if err != nil {
		return fault.New(fault.Invalid, "its template: %w", err)
	}
	if f.Templates == nil {
		return fault.New(fault.Unsupported, "templates can't be read here")
	}
	version, err := f.Templates(f.Context, name, text(link.Get("versionLabel")))
	if err != nil {
		return err
	}
	if kind := text(version.Doc.Get("type")); kind != string(template.SecretManager) {
		return fault.New(fault.Invalid, "template %s is of the type %s; want one of the type %s", template.Name(name, version.Label), kind, template.SecretManager)
	}
	spec := version.Doc.Get("spec")
	env, err := f.inputs(spec.Get("environmentVariables"), name.Scope)
	if err != nil {
		return err
	}
	names := map[string]expr.Value{"spec": expr.Map(map[string]expr.Value{"environmentVariables": expr.Map(env)})}
	written, err := f.script(spec.Get("source"), name.Scope)
	if err != nil {
		return fault.New(fault.CodeOf(err), "the script of template %s: %w", template.Name(name, version.Label), err)
	}
	script, err := f.InterpolateWith(entity.QualifySecrets(written, name.Scope), names)
	if err != nil {
		return fault.New(fault.CodeOf(err), "the script of template %s: %w", template.Name(name, version.Label), err)
	}
	shell := task.Shell{
		Shell: text(spec.Get("shell")), Script: script.Text(), Env: map[string]string{},
		Outputs:          []task.ShellOutput{{Name: "secret", Variable: "secret", Secret: true}},
		WorkingDirectory: f.setting(spec, "workingDirectory"),
	}
	for key, v := range env {
		shell.Env[key] = v.Text()
	}
	f.out.Script, f.selectors = &shell, words(spec.Get("delegateSelectors"))
	if f.out.Timeout, err = seconds(f.connector.Get("timeout")); err != nil {
		return err
	}
	return f.host(spec, &shell)
}

// script is what a template in a scope says, or the file of the file store that
// it names there.
func (f *fetching) script(source *yamldoc.Node, from ref.Scope) (string, error) {
	if text(source.Get("type")) != "Harness" {
		return text(source.At("spec", "script")), nil
	}
	of, err := ref.ParseFile(text(source.At("spec", "file")), from)
	if err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}
	content, err := f.storedText(of)
	if err == nil && !utf8.ValidString(content) {
		return "", fault.New(fault.Invalid, "file %s isn't text", of)
	}
	return content, err
}

// setting is one of those that a connector says over its template's.
func (f *fetching) setting(template *yamldoc.Node, key string) string {
	if own := text(f.connector.Get(key)); own != "" {
		return own
	}
	return text(template.At("executionTarget", key))
}

// host fills in on which other host than the delegate's the script runs.
func (f *fetching) host(template *yamldoc.Node, shell *task.Shell) error {
	on := text(f.connector.Get("onDelegate"))
	if on == "" {
		on = text(template.Get("onDelegate"))
	}
	if !strings.EqualFold(on, "false") {
		return nil
	}
	key, err := ref.Parse(f.setting(template, "connectorRef"), f.manager.Scope)
	if err != nil {
		return fault.New(fault.Invalid, "its connectorRef: %w", err)
	}
	login, err := f.SSHKey(key.Text(f.Execution.Scope))
	if err != nil {
		return err
	}
	if login.Host = strings.TrimSpace(f.setting(template, "host")); login.Host == "" {
		return fault.New(fault.Invalid, "its script runs on another host, and none is named")
	}
	shell.Remote = &login
	return nil
}

func seconds(n *yamldoc.Node) (time.Duration, error) {
	if n == nil || n.Value == "" {
		return defaultFetchTimeout, nil
	}
	count, err := strconv.Atoi(n.Value)
	if err != nil || count < 1 {
		return 0, fault.New(fault.Invalid, "its timeout is %q; want seconds, 1 or more", n.Value)
	}
	return time.Duration(count) * time.Second, nil
}

// errNoInput is that only a secret says a template's input, and it doesn't.
var errNoInput = errors.New("there is no value for the input")

// inputs are the values of a template's variables: what the secret says of one,
// else the connector, else the template. One that the connector says for good
// can't be changed by its secrets.
func (f *fetching) inputs(variables *yamldoc.Node, from ref.Scope) (map[string]expr.Value, error) {
	own, err := entity.CustomValues(text(f.spec.Get("value")))
	if err != nil {
		return nil, err
	}
	out := map[string]expr.Value{}
	if variables == nil {
		variables = &yamldoc.Node{}
	}
	for _, item := range variables.Items {
		name, value, scope := text(item.Get("name")), text(item.Get("value")), from
		fixed := false
		if set := f.connector.At("template", "templateInputs", "environmentVariables"); set != nil {
			if one := named(set, name); one != nil && !expr.IsRuntimeInput(text(one.Get("value"))) {
				value, scope = text(one.Get("value")), f.manager.Scope
				fixed = !isTrue(one.Get("useAsDefault"))
			}
		}
		if mine, ok := own[name]; ok && mine != value {
			if fixed {
				return nil, fault.New(fault.Invalid, "the connector fixes the input %q; the secret can't change it", name)
			}
			value, scope = mine, f.secret.Scope
		}
		delete(own, name)
		if expr.IsRuntimeInput(value) {
			return nil, fault.New(fault.Invalid, "%w %q", errNoInput, name)
		}
		if out[name], err = f.value(entity.QualifySecrets(value, scope)); err != nil {
			return nil, fault.New(fault.CodeOf(err), "the input %q: %w", name, err)
		}
	}
	for name := range own {
		return nil, fault.New(fault.Invalid, "its template has no input %q", name)
	}
	return out, nil
}
