package resolve

import (
	"crypto/sha1" //nolint:gosec // INFRA_KEY is defined as a SHA-1 (semantics/entities §4); nothing is protected by it
	"encoding/hex"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
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
	d, err := dep.scope.record().deploys(stage)
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

// deploys is what a stage deploys where.
func (r record) deploys(stage *plan.Node) (*plan.Deployment, error) {
	if stage == nil {
		return nil, fault.New(fault.Invalid, "there is no stage here")
	}
	if stage.Deployment == nil {
		return nil, fault.New(fault.Invalid, "stage %s deploys nothing", stage.Identifier)
	}
	d := stage.Deployment
	if d.Late {
		d = stage.Deploys(r.state(stage.ID))
	}
	if d == nil {
		return nil, fault.New(fault.Invalid, "stage %s hasn't chosen yet what it deploys", stage.Identifier)
	}
	return d, nil
}

// below resolves a path below a document, given how much of it led there.
func (dep deployments) below(doc *yamldoc.Node, path []string, used int) (expr.Value, int, error) {
	v, n, err := dep.scope.paths().field(doc, path[used:])
	return v, n + used, err
}

func (dep deployments) service(d *plan.Deployment, path []string) (expr.Value, int, error) {
	if len(path) > 1 && path[1] == "type" {
		return dep.constant(d.Service.At("serviceDefinition", "type"), 2)
	}
	return dep.below(d.Service, path, 1)
}

func (dep deployments) constant(n *yamldoc.Node, used int) (expr.Value, int, error) {
	v, err := dep.scope.scalar(n)
	return v, used, err
}

// serviceVariable resolves a service's variable as the last layer has it
// (semantics/entities §8).
func (dep deployments) serviceVariable(d *plan.Deployment, path []string) (expr.Value, int, error) {
	if len(path) < 2 {
		return dep.serviceVariables(d)
	}
	for _, layer := range slices.Backward(d.Layers()) {
		if layer.Variables == nil {
			continue
		}
		if item := named(layer.Variables, path[1]); item != nil {
			v, err := dep.scope.variable(item)
			return v, 2, err
		}
	}
	return expr.Null(), 0, unknown("the service has no variable %q", path[1])
}

// overriddenVariable resolves a service's variable that step groups override,
// the inner ones first (semantics/pipeline §3.6).
func (dep deployments) overriddenVariable(d *plan.Deployment, path []string) (expr.Value, int, error) {
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
func (dep deployments) primaryManifest(d *plan.Deployment, path []string) (expr.Value, int, error) {
	if len(path) < 2 || path[1] != "primaryManifestId" {
		return expr.Null(), 0, unknown("manifestConfig has primaryManifestId alone; found %s", dotted(path))
	}
	spec := d.Service.At("serviceDefinition", "spec")
	if named := spec.At("manifestConfigurations", "primaryManifestRef"); named != nil {
		return dep.constant(named, 2)
	}
	if list := spec.Get("manifests"); list != nil {
		for _, item := range list.Items {
			m := item.Get("manifest")
			if kind, _ := dep.scope.Lanes.Manifest(text(m.Get("type"))); kind.Main {
				return dep.constant(m.Get("identifier"), 2)
			}
		}
	}
	return expr.Null(), 2, nil
}

// serviceVariables is all of them as a map, for .get("name").
func (dep deployments) serviceVariables(d *plan.Deployment) (expr.Value, int, error) {
	all := map[string]expr.Value{}
	for _, layer := range d.Layers() {
		if layer.Variables == nil {
			continue
		}
		for _, item := range layer.Variables.Items {
			name := item.Get("name")
			if name == nil {
				continue
			}
			v, err := dep.scope.variable(item)
			if err != nil {
				return expr.Null(), 0, err
			}
			all[name.Value] = v
		}
	}
	return expr.Map(all), 1, nil
}

// legacyService resolves serviceConfig.serviceDefinition.spec.variables.X
// (semantics/entities §2.1).
func (dep deployments) legacyService(d *plan.Deployment, path []string) (expr.Value, int, error) {
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

func (dep deployments) environment(d *plan.Deployment, path []string) (expr.Value, int, error) {
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
		for _, o := range slices.Backward(d.Overrides) {
			list := o.Doc.Get("variables")
			if o.Type != overrideOfAll || list == nil {
				continue
			}
			if item := named(list, path[2]); item != nil {
				v, err := dep.scope.variable(item)
				return v, 3, err
			}
		}
	}
	return dep.below(d.Environment, path, 1)
}

// overrideOfAll is the type of overrides of an environment for all services,
// whose variables are the environment's too.
const overrideOfAll = "ENV_GLOBAL_OVERRIDE"

func (dep deployments) infrastructure(d *plan.Deployment, path []string) (expr.Value, int, error) {
	if len(path) < 2 {
		return expr.Null(), 0, expr.ErrUnknown
	}
	switch path[1] {
	case "name", "tags", "description":
		return dep.below(d.Infrastructure, path, 1)
	case "infraIdentifier", "identifier":
		return dep.constant(d.Infrastructure.Get("identifier"), 2)
	case "variables":
		if d.Template != nil {
			return dep.infraVariable(d, path)
		}
	case "connector":
		return dep.infraConnector(d, path)
	case "kubernetes":
		if len(path) > 2 {
			return dep.constant(d.Infrastructure.At("spec", path[2]), 3)
		}
	}
	if d.Infrastructure.At("spec", path[1]) == nil {
		return expr.Null(), 0, unknown("the infrastructure has no %q", path[1])
	}
	return dep.below(d.Infrastructure.Get("spec"), path, 1)
}

// infraConnector resolves infra.connector, which is its reference, and what
// its document says of it, such as infra.connector.name.
func (dep deployments) infraConnector(d *plan.Deployment, path []string) (expr.Value, int, error) {
	at := d.Infrastructure.At("spec", "connectorRef")
	if len(path) < 3 || at == nil {
		return dep.constant(at, 2)
	}
	doc, err := dep.scope.access().connectorDocument(at)
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
func (dep deployments) legacyInfrastructure(d *plan.Deployment, path []string) (expr.Value, int, error) {
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
	d, err := s.record().deploys(s.Node.Stage())
	if err != nil {
		return "", err
	}
	return s.deployments().key(d)
}

// key is the key of a service on an infrastructure
// (semantics/entities §4).
func (dep deployments) key(d *plan.Deployment) (string, error) {
	parts := []string{d.ServiceRef, d.EnvironmentRef}
	lane, _ := dep.scope.Lanes.Of(d.Type)
	infrastructure, ok := lane.Infrastructure(text(d.Infrastructure.Get("type")))
	if !ok {
		return "", fault.New(fault.Unsupported, "the infrastructure has the type %s, which the deployment type %s hasn't", text(d.Infrastructure.Get("type")), d.Type)
	}
	for _, key := range infrastructure.Key {
		if d.Infrastructure.At("spec", key) == nil {
			continue // it may be left out
		}
		v, err := dep.scope.scalar(d.Infrastructure.At("spec", key))
		if err != nil {
			return "", err
		}
		parts = append(parts, v.Text())
	}
	if len(infrastructure.Key) == 0 {
		parts = append(parts, text(d.Infrastructure.Get("identifier")))
	}
	sum := sha1.Sum([]byte(strings.Join(parts, "-"))) //nolint:gosec // see above
	return hex.EncodeToString(sum[:]), nil
}

// manifest resolves manifests.ID.{identifier,type,store,valuesPaths,helm}.
func (dep deployments) manifest(stage *plan.Node, d *plan.Deployment, path []string) (expr.Value, int, error) {
	if len(path) < 3 {
		return expr.Null(), 0, expr.ErrUnknown
	}
	list := d.Service.At("serviceDefinition", "spec", "manifests")
	if list == nil {
		return expr.Null(), 0, unknown("the service has no manifests")
	}
	for _, item := range list.Items {
		m := item.Get("manifest")
		if id := m.Get("identifier"); id == nil || id.Value != path[1] {
			continue
		}
		switch path[2] {
		case "identifier", "type":
			return dep.constant(m.Get(path[2]), 3)
		case "store":
			return dep.constant(m.At("spec", "store", "type"), 3)
		case "helm", "commitId":
			return dep.chart(stage, m, path)
		}
		return dep.below(m.Get("spec"), path, 2)
	}
	return expr.Null(), 0, unknown("the service has no manifest %q", path[1])
}
