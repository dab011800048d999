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

// Connector reads a connector by its name, which has been resolved.
func (s *Scope) Connector(name string) (connector.Connector, error) {
	r, e, err := s.documents().savedConnector(name)
	if err != nil {
		return connector.Connector{}, err
	}
	return s.access().connector(r, e.Connector)
}

// savedConnector reads a connector by its name.
func (d documents) savedConnector(name string) (ref.Ref, *entity.Entity, error) {
	if name == "" {
		return ref.Ref{}, nil, fault.New(fault.Invalid, "a connectorRef is missing")
	}
	r, err := ref.Parse(name, d.scope)
	if err != nil {
		return r, nil, fault.New(fault.Invalid, "connector %q: %w", name, err)
	}
	e, err := d.saved(ref.Connector, r)
	if fault.Is(err, fault.NotFound) {
		return r, nil, fault.New(fault.NotFound, "connector %q isn't in %s", r.ID, r.Scope)
	}
	return r, e, err
}

// connectorDocument is what expressions know of a connector.
func (acc access) connectorDocument(name string) (*yamldoc.Node, error) {
	r, e, err := acc.scope.documents().savedConnector(name)
	if err != nil {
		return nil, err
	}
	return acc.scope.tree(e.Doc, "connector "+r.ID)
}

// connector resolves a connector.
func (acc access) connector(r ref.Ref, c *entity.Connector) (connector.Connector, error) {
	of, _ := acc.scope.Connectors.Of(c.Type.Text)
	spec, err := acc.scope.Tree(c.SpecDoc, of.Late)
	if err != nil {
		return connector.Connector{}, err
	}
	return acc.scope.Connectors.Use(r.ID, c.Type.Text, r.Scope, spec, connecting{acc.scope, r}), nil
}

// saved reads an entity as it was saved. What a connector names is the same
// wherever it is used.
func (d documents) saved(kind ref.Kind, r ref.Ref) (*entity.Entity, error) {
	kept, err := d.entities.Entity(d.ctx, store.EntityKey{Scope: r.Scope, Kind: kind, ID: r.ID})
	if err != nil {
		return nil, err
	}
	docs, report := yamldoc.Parse(r.ID, kept.YAML)
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(docs) == 1 {
		if e := d.decode(docs[0], r.Scope); e != nil && e.Kind == kind {
			return e, nil
		}
	}
	return nil, fault.New(fault.Invalid, "%s %q has no document", kind, r.ID)
}

// decode decodes a document as it stands in a scope; nil if it says no kind.
func (d documents) decode(doc *yamldoc.Node, of ref.Scope) *entity.Entity {
	entity.Qualify(doc, of, *d.types)
	return entity.Decode(doc, yamldoc.NewReport(""), entity.Options{Scope: of, Types: *d.types})
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
	of := acc.scope.Execution.Scope
	if len(docs) == 1 {
		if e := acc.scope.documents().decode(docs[0], of); e != nil && e.Connector != nil {
			r := ref.Ref{Scope: of, ID: e.Identifier.Text}
			c, err := acc.connector(r, e.Connector)
			return c, r, err
		}
	}
	return connector.Connector{}, ref.Ref{}, fault.New(fault.Invalid, "found no connector; want one document whose root key is connector")
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
	if kind := version.Doc.Text("type"); kind != string(template.SecretManager) {
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
	e, err := acc.scope.documents().saved(ref.Secret, r)
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, err
	}
	if e.Secret.Kept.Type == "" {
		return nil, nil //nolint:nilnil // see above
	}
	return acc.fetched(r, e.Secret.Kept.Manager.Text, e.Secret.Kept.Type, e.Secret.Kept.Value)
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
	e, err := acc.scope.documents().saved(ref.Connector, manager)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "the manager %q of secret %q isn't in %s", manager.ID, r.ID, manager.Scope)
	}
	if err != nil {
		return nil, err
	}
	c, err := acc.connector(manager, e.Connector)
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
