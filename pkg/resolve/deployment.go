package resolve

import (
	"crypto/sha1" //nolint:gosec // INFRA_KEY is defined as a SHA-1 (semantics/entities §4); nothing is protected by it
	"encoding/hex"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// field resolves names of a stage's service, environment and
// infrastructure. In the stage's own condition they have no value yet
// (semantics/pipeline §3.1).
func (dep deployments) field(stage *plan.Node, path []string) (expr.Value, int, error) {
	if dep.scope.Node.Kind == plan.KindStage && dep.scope.Node == stage {
		return expr.Null(), len(path), nil
	}
	d, err := dep.of(stage)
	if err != nil {
		return expr.Null(), 0, unknown("%s has no value: %w", path[0], err)
	}
	if v, used, ok, err := dep.scope.artifacts().output(stage, d, path); ok {
		return v, used, err
	}
	switch path[0] {
	case "service":
		return dep.service(d, path)
	case "serviceVariables":
		return dep.serviceVariable(d, path)
	case "serviceVariableOverrides":
		return dep.overriddenVariable(d, path)
	case "serviceConfig":
		return dep.legacyService(d, path)
	case "env", "environment":
		return dep.environment(d, path)
	case "infra":
		if lane, _ := dep.scope.Lanes.Of(d.Type); lane.Pulled {
			return expr.Null(), len(path), nil
		}
		return dep.infrastructure(d, path)
	case "infrastructure":
		return dep.legacyInfrastructure(d, path)
	case "artifact":
		return dep.scope.artifacts().field(stage, d, path, path[1:])
	case "artifacts":
		if len(path) > 1 && path[1] == "primary" {
			return dep.scope.artifacts().field(stage, d, path, path[2:])
		}
		if len(path) > 1 && path[1] == "sidecars" {
			return dep.scope.artifacts().sidecar(stage, d, path)
		}
		return expr.Null(), 0, unknown("artifacts has primary and sidecars; found %s", dotted(path))
	case "primary": // as older documents name it
		if len(path) > 1 && path[1] == "artifact" {
			return dep.scope.artifacts().field(stage, d, path, path[2:])
		}
		return expr.Null(), 0, unknown("primary has artifact; found %s", dotted(path))
	case "rollbackArtifact":
		return dep.rollback(stage, d, path)
	case "manifests", "manifest":
		return dep.manifest(stage, d, path)
	case "manifestConfig":
		return dep.primaryManifest(d, path)
	case "INFRA_KEY", "INFRA_KEY_SHORT_ID":
		key, err := dep.key(d)
		if err == nil && path[0] == "INFRA_KEY_SHORT_ID" {
			key = key[:6]
		}
		return expr.String(key), 1, err
	}
	return expr.Null(), 0, expr.ErrUnknown
}

// below resolves a path below a document, given how much of it led there.
func (dep deployments) below(doc *yamldoc.Node, path []string, used int) (expr.Value, int, error) {
	v, n, err := dep.scope.paths().field(doc, path[used:])
	return v, n + used, err
}

func (dep deployments) service(d *deployed, path []string) (expr.Value, int, error) {
	if len(path) > 1 && path[1] == "type" {
		return dep.word(d.service.Type, 2)
	}
	return dep.below(d.Service, path, 1)
}

func (dep deployments) constant(n *yamldoc.Node, used int) (expr.Value, int, error) {
	v, err := dep.scope.scalar(n)
	return v, used, err
}

func (dep deployments) word(f yamldoc.Field[string], used int) (expr.Value, int, error) {
	v, err := field(dep.scope, f)
	return v, used, err
}

// serviceVariable resolves a service's variable as the last layer has it
// (semantics/entities §8).
func (dep deployments) serviceVariable(d *deployed, path []string) (expr.Value, int, error) {
	if len(path) < 2 {
		return dep.serviceVariables(d)
	}
	for _, layer := range slices.Backward(d.layers) {
		if one := variableOf(layer.variables, path[1]); one != nil {
			v, err := dep.scope.variable(one.Doc)
			return v, 2, err
		}
	}
	return expr.Null(), 0, unknown("the service has no variable %q", path[1])
}

// overriddenVariable resolves a service's variable that step groups override,
// the inner ones first (semantics/pipeline §3.6).
func (dep deployments) overriddenVariable(d *deployed, path []string) (expr.Value, int, error) {
	if len(path) > 1 {
		for g := group(dep.scope.Node); g != nil; g = group(g.Parent()) {
			list := g.Doc.Get("variables")
			if list == nil {
				continue
			}
			if item := named(list, path[1]); item != nil {
				v, err := dep.scope.variable(item)
				return v, 2, err
			}
		}
	}
	return dep.serviceVariable(d, path)
}

// primaryManifest resolves manifestConfig.primaryManifestId: the manifest that
// the service names, or its only main one.
func (dep deployments) primaryManifest(d *deployed, path []string) (expr.Value, int, error) {
	if len(path) < 2 || path[1] != "primaryManifestId" {
		return expr.Null(), 0, unknown("manifestConfig has primaryManifestId alone; found %s", dotted(path))
	}
	if named := d.service.SpecDoc.At("manifestConfigurations", "primaryManifestRef"); named != nil {
		return dep.constant(named, 2)
	}
	for _, m := range d.service.Manifests {
		if kind, _ := dep.scope.Lanes.Manifest(m.Type.Text); kind.Main {
			return dep.word(m.Identifier, 2)
		}
	}
	return expr.Null(), 2, nil
}

// serviceVariables is all of them as a map, for .get("name").
func (dep deployments) serviceVariables(d *deployed) (expr.Value, int, error) {
	all := map[string]expr.Value{}
	for _, layer := range d.layers {
		for _, one := range layer.variables {
			v, err := dep.scope.variable(one.Doc)
			if err != nil {
				return expr.Null(), 0, err
			}
			all[one.Name.Text] = v
		}
	}
	return expr.Map(all), 1, nil
}

// legacyService resolves serviceConfig.serviceDefinition.spec.variables.X
// (semantics/entities §2.1).
func (dep deployments) legacyService(d *deployed, path []string) (expr.Value, int, error) {
	prefix := []string{"serviceConfig", "serviceDefinition", "spec", "variables"}
	if len(path) > len(prefix) && slices.Equal(path[:len(prefix)], prefix) {
		v, n, err := dep.serviceVariable(d, path[len(prefix)-1:])
		return v, n + len(prefix) - 1, err
	}
	if len(path) > 1 && path[1] == "service" {
		v, n, err := dep.service(d, path[1:])
		return v, n + 1, err
	}
	return dep.below(d.Service, path, 1)
}

func (dep deployments) environment(d *deployed, path []string) (expr.Value, int, error) {
	if len(path) > 1 && (path[1] == "envGroupName" || path[1] == "envGroupRef") {
		switch {
		case d.Group == nil:
			return expr.Null(), 2, nil
		case path[1] == "envGroupName":
			return expr.String(d.Group.Name), 2, nil
		}
		return expr.String(d.Group.Ref), 2, nil
	}
	if len(path) > 1 && path[1] == "provisioner" {
		return expr.Null(), 0, unknown("the stage has no %s", dotted(path))
	}
	if len(path) > 2 && path[1] == "variables" {
		for _, layer := range slices.Backward(d.layers) {
			if one := variableOf(layer.variables, path[2]); one != nil && layer.what == entity.EnvGlobal {
				v, err := dep.scope.variable(one.Doc)
				return v, 3, err
			}
		}
	}
	return dep.below(d.Environment, path, 1)
}

func (dep deployments) infrastructure(d *deployed, path []string) (expr.Value, int, error) {
	if len(path) < 2 {
		return expr.Null(), 0, expr.ErrUnknown
	}
	spec := d.infrastructure.Infrastructure.SpecDoc
	switch path[1] {
	case "name", "tags", "description":
		return dep.below(d.Infrastructure, path, 1)
	case "infraIdentifier", "identifier":
		return dep.word(d.infrastructure.Identifier, 2)
	case "variables":
		if d.Template != nil {
			return dep.infraVariable(d, path)
		}
	case "connector":
		return dep.infraConnector(d, path)
	case "kubernetes":
		if len(path) > 2 {
			return dep.constant(spec.Get(path[2]), 3)
		}
	}
	if spec.Get(path[1]) == nil {
		return expr.Null(), 0, unknown("the infrastructure has no %q", path[1])
	}
	return dep.below(spec, path, 1)
}

// infraConnector resolves infra.connector, which is its reference, and what
// its document says of it, such as infra.connector.name.
func (dep deployments) infraConnector(d *deployed, path []string) (expr.Value, int, error) {
	at := d.infrastructure.Infrastructure.SpecDoc.Get("connectorRef")
	if len(path) < 3 || at == nil {
		return dep.constant(at, 2)
	}
	name, err := dep.scope.scalar(at)
	if err != nil {
		return expr.Null(), 0, err
	}
	doc, err := dep.scope.access().connectorDocument(name.Text())
	if err != nil {
		return expr.Null(), 0, err
	}
	switch path[2] {
	case "identifier", "name", "description", "type":
		return dep.constant(doc.Get(path[2]), 3)
	case "tags":
		return dep.below(doc, path, 2)
	}
	return expr.Null(), 0, unknown("a connector has identifier, name, description, type and tags here; found %s", dotted(path))
}

// legacyInfrastructure resolves infrastructure.infrastructureKey and the
// output form of a stage's environment.
func (dep deployments) legacyInfrastructure(d *deployed, path []string) (expr.Value, int, error) {
	if len(path) > 1 && path[1] == "infrastructureKey" {
		key, err := dep.key(d)
		return expr.String(key), 2, err
	}
	if len(path) > 2 && path[1] == "infrastructureDefinition" && path[2] == "provisioner" {
		full := join(strings.Split(string(dep.scope.Node.Stage().ID), "."), join([]string{"spec", "environment"}, path[2:]))
		return dep.scope.paths().absolute(full, len(full)-len(path))
	}
	if len(path) > 3 && path[1] == "output" && path[2] == "environment" {
		v, n, err := dep.environment(d, path[2:])
		return v, n + 2, err
	}
	if len(path) > 2 && path[1] == "output" && path[2] == "variables" {
		v, n, err := dep.infrastructure(d, path[1:])
		return v, n + 1, err
	}
	return dep.infrastructure(d, path)
}

// InfrastructureKey is the key of what the node's stage deploys where, which
// expressions know as INFRA_KEY inside the stage.
func (s *Scope) InfrastructureKey() (string, error) {
	d, err := s.deployments().of(s.Node.Stage())
	if err != nil {
		return "", err
	}
	return s.deployments().key(d)
}

// key is the key of a service on an infrastructure
// (semantics/entities §4).
func (dep deployments) key(d *deployed) (string, error) {
	parts := []string{d.ServiceRef, d.EnvironmentRef}
	lane, _ := dep.scope.Lanes.Of(d.Type)
	typ, spec := d.infrastructure.Infrastructure.Type.Text, d.infrastructure.Infrastructure.SpecDoc
	infrastructure, ok := lane.Infrastructure(typ)
	if !ok {
		return "", fault.New(fault.Unsupported, "the infrastructure has the type %s, which the deployment type %s hasn't", typ, d.Type)
	}
	for _, key := range infrastructure.Key {
		if spec.Get(key) == nil {
			continue // it may be left out
		}
		v, err := dep.scope.scalar(spec.Get(key))
		if err != nil {
			return "", err
		}
		parts = append(parts, v.Text())
	}
	if len(infrastructure.Key) == 0 {
		parts = append(parts, d.infrastructure.Identifier.Text)
	}
	sum := sha1.Sum([]byte(strings.Join(parts, "-"))) //nolint:gosec // see above
	return hex.EncodeToString(sum[:]), nil
}

// manifest resolves manifests.ID.{identifier,type,store,valuesPaths,helm}.
func (dep deployments) manifest(stage *plan.Node, d *deployed, path []string) (expr.Value, int, error) {
	if len(path) < 3 {
		return expr.Null(), 0, expr.ErrUnknown
	}
	if len(d.service.Manifests) == 0 {
		return expr.Null(), 0, unknown("the service has no manifests")
	}
	i := slices.IndexFunc(d.service.Manifests, func(m entity.Manifest) bool { return m.Identifier.Text == path[1] })
	if i < 0 {
		return expr.Null(), 0, unknown("the service has no manifest %q", path[1])
	}
	switch m := d.service.Manifests[i]; path[2] {
	case "identifier":
		return dep.word(m.Identifier, 3)
	case "type":
		return dep.word(m.Type, 3)
	case "store":
		return dep.word(storeOf(m).Type, 3)
	case "helm", "commitId":
		return dep.chart(stage, m, path)
	default:
		return dep.below(m.SpecDoc, path, 2)
	}
}

// storeOf is the store of a manifest, of which only a repository of charts has
// more than its type here.
func storeOf(m entity.Manifest) *filesource.Store {
	return filesource.Decode(document.New(yamldoc.NewReport("")), yamldoc.Sub(m.SpecDoc.Get("store"), ""), filesource.Form{Stores: filesource.Charts()})
}
