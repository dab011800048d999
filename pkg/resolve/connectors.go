package resolve

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// text is a resolved scalar's text; empty for none.
func text(n *yamldoc.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}

// Connector reads a connector by its name, which has been resolved.
func (s *Scope) Connector(name string) (connector.Connector, error) {
	r, doc, err := s.documents().savedConnector(name)
	if err != nil {
		return connector.Connector{}, err
	}
	return s.access().connector(r, doc)
}

// savedConnector reads the document of a connector below its root key.
func (d documents) savedConnector(name string) (ref.Ref, *yamldoc.Node, error) {
	if name == "" {
		return ref.Ref{}, nil, fault.New(fault.Invalid, "a connectorRef is missing")
	}
	r, err := ref.Parse(name, d.scope)
	if err != nil {
		return r, nil, fault.New(fault.Invalid, "connector %q: %w", name, err)
	}
	doc, err := d.raw(ref.Connector, r)
	if fault.Is(err, fault.NotFound) {
		return r, nil, fault.New(fault.NotFound, "connector %q isn't in %s", r.ID, r.Scope)
	}
	return r, doc, err
}

// connectorDocument is what expressions know of the connector that a key names.
func (acc access) connectorDocument(name *yamldoc.Node) (*yamldoc.Node, error) {
	v, err := acc.scope.scalar(name)
	if err != nil {
		return nil, err
	}
	r, doc, err := acc.scope.documents().savedConnector(v.Text())
	if err != nil {
		return nil, err
	}
	return acc.scope.tree(doc, "connector "+r.ID)
}

// connector resolves a connector's document below its root key.
func (acc access) connector(r ref.Ref, doc *yamldoc.Node) (connector.Connector, error) {
	typ := text(doc.Get("type"))
	of, _ := acc.scope.Connectors.Of(typ)
	spec, err := acc.scope.Tree(doc.Get("spec"), of.Late)
	if err != nil {
		return connector.Connector{}, err
	}
	return acc.scope.Connectors.Use(r.ID, typ, r.Scope, spec, connecting{acc.scope, r}), nil
}

// raw reads an entity's document below its root key, as it was saved. What a
// connector names is the same wherever it is used.
func (d documents) raw(kind ref.Kind, r ref.Ref) (*yamldoc.Node, error) {
	e, err := d.entities.Entity(d.ctx, store.EntityKey{Scope: r.Scope, Kind: kind, ID: r.ID})
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
	if kind == ref.Connector {
		entity.Qualify(docs[0], r.Scope, *d.types)
	}
	return docs[0].Get(string(kind)), nil
}

// Server finds the system with an HTTP API that a connector of a type stands
// for, and the selectors of the delegates that reach it.
func (s *Scope) Server(name, typ string) (task.Server, []string, error) {
	c, err := s.Connector(name)
	if err != nil {
		return task.Server{}, nil, err
	}
	server, err := c.Server(typ)
	return server, c.Selectors, err
}

// git is how a place in a Git repository is reached.
func (acc access) git(at filesource.Repository) (*task.Git, error) {
	c, err := acc.scope.Connector(at.ConnectorRef.Value)
	if err != nil {
		return nil, err
	}
	g, err := c.Git(at.RepoName.Value)
	if err != nil {
		return nil, err
	}
	g.Paths = slices.Clone(at.Paths.Value)
	if at.FolderPath.Value != "" {
		g.Paths = append(g.Paths, at.FolderPath.Value)
	}
	if at.FetchType.Value == "Commit" {
		g.Commit = at.Commit.Value
	} else {
		g.Branch = at.Branch.Value
	}
	return &g, nil
}

// Probe resolves how a connector is tested (semantics/entities §9): one by its
// reference, or one that isn't saved by its document.
func (s *Scope) Probe(name, document string) (step.Probe, error) {
	var c connector.Connector
	r, err := ref.Parse(name, s.Execution.Scope)
	if document != "" {
		c, r, err = s.access().unsaved(document)
	} else if err == nil {
		c, err = s.Connector(name)
	} else {
		err = fault.New(fault.Invalid, "connector %q: %w", name, err)
	}
	if err != nil {
		return step.Probe{}, err
	}
	p, err := c.Probe()
	if err != nil {
		return step.Probe{}, err
	}
	p.Task.Connector = c.Type + " " + r.Text(s.Execution.Scope)
	return step.Probe{Task: p.Task, Selectors: slices.Concat(c.Selectors, p.Selectors)}, nil
}

// unsaved takes a connector as it would be saved in the execution's scope.
func (acc access) unsaved(document string) (connector.Connector, ref.Ref, error) {
	docs, report := yamldoc.Parse("connector", []byte(document))
	if err := report.Err(); err != nil {
		return connector.Connector{}, ref.Ref{}, err
	}
	if len(docs) != 1 || docs[0].Get("connector") == nil {
		return connector.Connector{}, ref.Ref{}, fault.New(fault.Invalid, "found no connector; want one document whose root key is connector")
	}
	entity.Qualify(docs[0], acc.scope.Execution.Scope, acc.scope.Types)
	doc := docs[0].Get("connector")
	r := ref.Ref{Scope: acc.scope.Execution.Scope, ID: text(doc.Get("identifier"))}
	c, err := acc.connector(r, doc)
	return c, r, err
}

// connecting is how a connector reaches what else it is made of
// (connector.Reach).
type connecting struct {
	scope *Scope
	of    ref.Ref // the connector
}

// Secret is the placeholder of a secret that the connector names.
func (c connecting) Secret(name yamldoc.Field[string]) (string, error) {
	if name.Value == "" {
		return "", nil
	}
	v, err := c.scope.access().secret(name.Value, c.of.Scope)
	return v.Text(), err
}

// SSHKey is who logs in with a secret of type SSHKey.
func (c connecting) SSHKey(name string) (task.SSH, error) {
	r, err := ref.Parse(name, c.of.Scope)
	if err != nil {
		return task.SSH{}, fault.New(fault.Invalid, "secret %q: %w", name, err)
	}
	return c.scope.access().sshKey(r)
}

// Template reads a template of secret managers.
func (c connecting) Template(name ref.Ref, label string) (connector.Template, error) {
	if c.scope.Templates == nil {
		return connector.Template{}, fault.New(fault.Unsupported, "templates can't be read here")
	}
	version, err := c.scope.Templates(c.scope.Context, name, label)
	if err != nil {
		return connector.Template{}, err
	}
	shown := template.Name(name, version.Label)
	if kind := text(version.Doc.Get("type")); kind != string(template.SecretManager) {
		return connector.Template{}, fault.New(fault.Invalid, "template %s is of the type %s; want one of the type %s", shown, kind, template.SecretManager)
	}
	return connector.Template{Name: shown, Scope: name.Scope, Spec: version.Doc.Get("spec")}, nil
}

// File is the text of a file of the file store, as it was saved.
func (c connecting) File(f ref.File) (string, error) { return c.scope.documents().storedText(f) }

// Resolve resolves a text of a document in a scope.
func (c connecting) Resolve(text string, of ref.Scope, names map[string]expr.Value) (expr.Value, error) {
	text = entity.QualifySecrets(text, of)
	if names == nil {
		return c.scope.value(text)
	}
	return c.scope.InterpolateWith(text, names)
}

// elsewhereKept is how a delegate fetches a secret that another manager keeps;
// nil for one that Slipway keeps itself, and for one that doesn't exist: the
// claim of its task says so.
func (acc access) elsewhereKept(r ref.Ref) (*task.LateSecret, error) {
	doc, err := acc.scope.documents().raw(ref.Secret, r)
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, err
	}
	spec := doc.Get("spec")
	kind := text(spec.Get("valueType"))
	if kind == "" || kind == entity.ValueInline {
		return nil, nil //nolint:nilnil // see above
	}
	return acc.fetched(r, text(spec.Get("secretManagerIdentifier")), kind, text(spec.Get("value")))
}

// fetched is how a delegate fetches a secret by what its document says.
func (acc access) fetched(r ref.Ref, by, kind, value string) (*task.LateSecret, error) {
	manager, err := ref.Parse(by, r.Scope)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the manager of secret %q: %w", r.ID, err)
	}
	if acc.scope.secrets.inside {
		return nil, fault.New(fault.Invalid, "a secret manager is given the secret %q, which another manager keeps; only those of harnessSecretManager can be", r.ID)
	}
	acc.scope.secrets.inside = true
	defer func() { acc.scope.secrets.inside = false }()
	doc, err := acc.scope.documents().raw(ref.Connector, manager)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "the manager %q of secret %q isn't in %s", manager.ID, r.ID, manager.Scope)
	}
	if err != nil {
		return nil, err
	}
	c, err := acc.connector(manager, doc)
	var f connector.Fetch
	if err == nil {
		f, err = c.Fetch(connector.Secret{Scope: r.Scope, Value: value}, kind)
	}
	if err != nil {
		return nil, fault.Wrap(err, "secret %q of the manager %q", r.ID, manager.ID)
	}
	f.Task.Name = r.Text(acc.scope.Execution.Scope)
	return &task.LateSecret{Fetched: &f.Task, Selectors: slices.Concat(f.Selectors, c.Selectors)}, nil
}
