package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// Target is the cluster, the namespace and the manifests of a stage.
func (n *Namespace) Target(r swimlane.Reach) (swimlane.Target, error) {
	t := &Target{Namespace: n.Namespace.Value, ReleaseName: n.ReleaseName.Value}
	var err error
	if t.Cluster, t.Selectors, err = n.Cluster(r); err != nil {
		return swimlane.Target{}, err
	}
	if err := deployed(r, t); err != nil {
		return swimlane.Target{}, err
	}
	image, _, err := r.Artifact()
	if err != nil {
		image = "" // it is only for the ledger; values files name what they need
	}
	// Values files may ask for a pull secret, when the delegate is chosen already.
	if chosen, err := r.PullSelectors(); err == nil {
		t.Selectors = append(t.Selectors, chosen...)
	}
	return swimlane.Target{Spec: t, Image: image, Release: t.ReleaseName, Namespace: t.Namespace}, nil
}

// describe is the spec of the work that reads a chart: as that of every task of
// KindHelm, nativehelm.Spec.
type describe struct {
	Op     string `json:"op"`
	Target Target `json:"target"`
}

// Described is the work that reads the chart whose metadata are asked for.
func (n *Namespace) Described(r swimlane.Reach) (swimlane.Described, error) {
	// Layers of values may speak of what is yet to be read.
	all, err := r.Manifests(func(k swimlane.ManifestKind) bool { return k.Main || k.Type == repository })
	if err != nil {
		return swimlane.Described{}, err
	}
	main, err := mainManifest(r, all)
	if err != nil || main == nil || !main.described() {
		return swimlane.Described{}, err
	}
	m, err := main.resolve(r, all)
	if err != nil {
		return swimlane.Described{}, err
	}
	c, err := r.Connector(n.ConnectorRef.Value)
	if err != nil {
		return swimlane.Described{}, err
	}
	return swimlane.Described{Kind: KindHelm, Spec: describe{Op: "Describe", Target: Target{Manifest: m}}, Selectors: c.Selectors}, nil
}

// decodedManifest is a manifest with what its kind has decoded.
type decodedManifest struct {
	*manifestSpec
	ID   string
	Kind swimlane.ManifestKind
}

func (s decodedManifest) described() bool {
	return s.Kind.Type == origin.HelmChart && s.Chart.Describe.Value
}

func sources(all []swimlane.Manifest) ([]decodedManifest, error) {
	var out []decodedManifest
	for _, m := range all {
		spec, ok := m.Spec.(*manifestSpec)
		if !ok {
			return nil, fault.New(fault.Unsupported, "manifest %s has the type %s, which can't be deployed to a cluster", m.ID, m.Kind.Type)
		}
		out = append(out, decodedManifest{spec, m.ID, m.Kind})
	}
	return out, nil
}

// selectors are those of the delegates that can run the script which brings the
// files: it runs where the step's task does.
func (s decodedManifest) selectors(r swimlane.Reach) ([]string, error) {
	if s.Store == nil {
		return nil, nil
	}
	return r.Selectors(s.Store.Extraction.Selectors.Value)
}

// layer is a manifest that stands above another.
func (s decodedManifest) layer(r swimlane.Reach) (origin.ValuesFile, error) {
	files, err := r.Store(s.Store, "")
	if err != nil {
		return origin.ValuesFile{}, fault.Wrap(err, "manifest %s", s.ID)
	}
	return origin.ValuesFile{ID: s.ID, Store: files, Optional: s.OptionalValuesYAML.Value}, nil
}

// Values are the layers of values of a stage, low to high, and the selectors of the
// delegates that can bring them.
func Values(r swimlane.Reach) (layers []origin.ValuesFile, selectors []string, err error) {
	decoded, err := r.Manifests(func(k swimlane.ManifestKind) bool { return k.Type == values })
	if err != nil {
		return nil, nil, err
	}
	all, err := sources(decoded)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range all {
		more, err := m.selectors(r)
		if err != nil {
			return nil, nil, err
		}
		one, err := m.layer(r)
		if err != nil {
			return nil, nil, err
		}
		layers, selectors = append(layers, one), append(selectors, more...)
	}
	return layers, selectors, nil
}

// deployed fills in the service's main manifest and the layers above it, one
// after the other (semantics/entities §8).
func deployed(r swimlane.Reach, t *Target) error {
	decoded, err := r.Manifests(func(swimlane.ManifestKind) bool { return true })
	if err != nil {
		return err
	}
	main, err := mainManifest(r, decoded)
	if err != nil {
		return err
	}
	all, err := sources(decoded)
	if err != nil {
		return err
	}
	layers := map[string]*[]origin.ValuesFile{values: &t.Values, patches: &t.Patches, params: &t.Params}
	for _, m := range all {
		if m.Kind.Main && (main == nil || m.ID != main.ID) {
			continue
		}
		more, err := m.selectors(r)
		if err != nil {
			return err
		}
		t.Selectors = append(t.Selectors, more...)
		if to := layers[m.Kind.Type]; to != nil {
			one, err := m.layer(r)
			if err != nil {
				return err
			}
			*to = append(*to, one)
		}
	}
	if main == nil {
		return nil
	}
	if len(t.Patches) > 0 && main.Kind.Type != origin.Kustomization {
		return fault.New(fault.Invalid, "the service has patches of the type KustomizePatches, but no Kustomize manifest")
	}
	if len(t.Params) > 0 && main.Kind.Type != origin.OpenshiftTemplate {
		return fault.New(fault.Invalid, "the service has parameters of the type OpenshiftParam, but no OpenshiftTemplate")
	}
	if t.Manifest, err = main.resolve(r, decoded); err != nil || !main.described() {
		return err
	}
	return pin(r, t.Manifest)
}

// mainManifest chooses what is deployed. Of several charts it is the one that
// the service names (semantics/entities §2.3); nil if there is none at all.
func mainManifest(r swimlane.Reach, decoded []swimlane.Manifest) (*decodedManifest, error) {
	all, err := sources(decoded)
	if err != nil {
		return nil, err
	}
	main := slices.DeleteFunc(all, func(s decodedManifest) bool { return !s.Kind.Main })
	if len(main) == 0 {
		return nil, nil
	}
	if len(main) == 1 {
		return &main[0], nil
	}
	var ids []string
	for _, m := range main {
		ids = append(ids, m.ID)
	}
	of := r.Service()
	service, ok := of.(*Service)
	if !ok {
		return nil, fmt.Errorf("the service is a %T; want a %T", of, service)
	}
	named, err := r.Text(service.PrimaryRef)
	if err != nil {
		return nil, err
	}
	if named == "" {
		return nil, fault.New(fault.Invalid, "multiple primary manifests: %s; manifestConfigurations.primaryManifestRef says which", strings.Join(ids, ", "))
	}
	if i := slices.Index(ids, named); i >= 0 {
		return &main[i], nil
	}
	return nil, fault.New(fault.NotFound, "manifestConfigurations.primaryManifestRef is %q; want one of %s", named, strings.Join(ids, ", "))
}

// resolve makes a main manifest of a task.
func (s *decodedManifest) resolve(r swimlane.Reach, decoded []swimlane.Manifest) (*origin.Manifest, error) {
	connector, err := s.otherRepository(decoded)
	if err != nil {
		return nil, err
	}
	files, err := r.Store(s.Store, connector)
	if err != nil {
		return nil, fault.Wrap(err, "manifest %s", s.ID)
	}
	out := &origin.Manifest{
		ID: s.ID, Type: s.Kind.Type, Store: files, ValuesPaths: s.ValuesPaths.Value, SkipVersioning: s.SkipVersioning.Value,
		Declarative: s.Declarative.Value, OptionalValuesYAML: s.OptionalValuesYAML.Value, ParamsPaths: s.ParamsPaths.Value,
	}
	switch s.Kind.Type {
	case origin.HelmChart:
		out.Chart = &origin.Chart{
			Name: s.Chart.Name.Value, Version: s.Chart.Version.Value, HelmVersion: s.Chart.HelmVersion.Value,
			SubChartPath: s.Chart.SubChartPath.Value, CommandFlags: s.Chart.Flags,
		}
	case origin.Kustomization:
		out.Kustomize = &origin.Kustomize{Overlay: s.Kustomize.Folder.Value, PatchesPaths: s.Kustomize.PatchesPaths.Value, CommandFlags: s.Kustomize.Flags}
	}
	return out, nil
}

// otherRepository is the connector of the highest HelmRepoOverride, which takes
// the place of that of a repository of charts; empty if there is none.
func (s *decodedManifest) otherRepository(decoded []swimlane.Manifest) (string, error) {
	typ := s.Store.Type.Value
	if !slices.Contains(filesource.Charts(), typ) {
		return "", nil
	}
	all, err := sources(decoded)
	connector := ""
	for _, m := range all {
		if m.Kind.Type != repository {
			continue
		}
		if other := m.Repository.Type.Value; other != typ {
			return "", fault.New(fault.Invalid, "the HelmRepoOverride %s has the type %s, but the chart's store is %s", m.ID, other, typ)
		}
		connector = m.Repository.ConnectorRef.Value
	}
	return connector, err
}

// pin makes a stage deploy the very chart whose metadata it was told.
func pin(r swimlane.Reach, m *origin.Manifest) error {
	found, err := r.Chart(m.ID)
	if err != nil || found == nil {
		return err
	}
	switch {
	case m.Store.Charts != nil:
		m.Chart.Version = found.Version
	case m.Store.Git != nil && found.CommitID != "":
		m.Store.Git.Commit = found.CommitID
	}
	return nil
}
