package resolve

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// manifests fills in the service's main manifest and the layers of values
// above it, one after the other (entities spec §8).
func (s *Scope) manifests(d *plan.Deployment, t *task.KubernetesTarget) error {
	spec := d.Service.At("serviceDefinition", "spec")
	var all []*yamldoc.Node
	for _, layer := range d.Layers() {
		list, err := s.tree(layer.Manifests, "manifests of "+layer.What)
		if err != nil {
			return err
		}
		all = append(all, items(list)...)
	}
	main, err := s.mainManifest(spec, all)
	if err != nil {
		return err
	}
	for _, m := range all {
		layers := map[string]*[]task.ValuesFile{"Values": &t.Values, "KustomizePatches": &t.Patches}[text(m.Get("type"))]
		if layers == nil {
			continue
		}
		if err := s.layer(m, layers); err != nil {
			return err
		}
	}
	if main == nil {
		return nil
	}
	if len(t.Patches) > 0 && text(main.Get("type")) != "Kustomize" {
		return fault.New(fault.Invalid, "the service has patches of the type KustomizePatches, but no Kustomize manifest")
	}
	t.Manifest, err = s.manifest(main, all)
	return err
}

func items(list *yamldoc.Node) []*yamldoc.Node {
	var out []*yamldoc.Node
	if list != nil {
		for _, item := range list.Items {
			out = append(out, item.Get("manifest"))
		}
	}
	return out
}

// mainManifest chooses what is deployed. Of several charts it is the one that
// the service names (entities spec §2.3); nil if there is none at all.
func (s *Scope) mainManifest(spec *yamldoc.Node, all []*yamldoc.Node) (*yamldoc.Node, error) {
	var main []*yamldoc.Node
	var ids []string
	for _, m := range all {
		switch typ := text(m.Get("type")); typ {
		case "Values", "HelmRepoOverride", "KustomizePatches":
		case "K8sManifest", "HelmChart", "Kustomize":
			main, ids = append(main, m), append(ids, text(m.Get("identifier")))
		default:
			return nil, fault.New(fault.Unsupported, "manifest %s has the type %s, which can't be deployed yet", text(m.Get("identifier")), typ)
		}
	}
	if len(main) == 0 {
		return nil, nil
	}
	if len(main) == 1 {
		return main[0], nil
	}
	named := spec.At("manifestConfigurations", "primaryManifestRef")
	if text(named) == "" {
		return nil, fault.New(fault.Invalid, "multiple primary manifests: %s; manifestConfigurations.primaryManifestRef says which", strings.Join(ids, ", "))
	}
	ref, err := s.scalar(named)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(ids, ref.Text()); i >= 0 {
		return main[i], nil
	}
	return nil, fault.New(fault.NotFound, "manifestConfigurations.primaryManifestRef is %q; want one of %s", ref.Text(), strings.Join(ids, ", "))
}

func (s *Scope) layer(m *yamldoc.Node, to *[]task.ValuesFile) error {
	id, spec := text(m.Get("identifier")), m.Get("spec")
	files, err := s.store(spec.Get("store"))
	if err != nil {
		return fault.New(fault.CodeOf(err), "manifest %s: %w", id, err)
	}
	*to = append(*to, task.ValuesFile{ID: id, Store: files, Optional: isTrue(spec.Get("optionalValuesYaml"))})
	return nil
}

func (s *Scope) manifest(m *yamldoc.Node, all []*yamldoc.Node) (*task.Manifest, error) {
	id, typ, spec := text(m.Get("identifier")), text(m.Get("type")), m.Get("spec")
	files, err := s.mainStore(spec.Get("store"), all)
	if err != nil {
		return nil, fault.New(fault.CodeOf(err), "manifest %s: %w", id, err)
	}
	out := &task.Manifest{
		ID: id, Type: typ, Store: files, ValuesPaths: words(spec.Get("valuesPaths")),
		SkipVersioning:     isTrue(spec.Get("skipResourceVersioning")) || isTrue(spec.At("store", "skipResourceVersioning")),
		Declarative:        isTrue(spec.Get("enableDeclarativeRollback")) || isTrue(spec.At("store", "enableDeclarativeRollback")),
		OptionalValuesYAML: isTrue(spec.Get("optionalValuesYaml")),
	}
	switch typ {
	case "HelmChart":
		out.Chart = helmChart(spec)
	case "Kustomize":
		out.Kustomize = &task.Kustomize{
			Overlay: text(spec.At("overlayConfiguration", "kustomizeYamlFolderPath")), PatchesPaths: words(spec.Get("patchesPaths")), CommandFlags: commandFlags(spec),
		}
	}
	return out, nil
}

// mainStore resolves the store of the main manifest. A HelmRepoOverride, of
// which the highest wins, swaps the connector of a repository of charts.
func (s *Scope) mainStore(doc *yamldoc.Node, all []*yamldoc.Node) (task.Store, error) {
	typ := text(doc.Get("type"))
	if typ != "Http" && typ != "OciHelmChart" {
		return s.store(doc)
	}
	connector := doc.At("spec", "connectorRef")
	if typ == "OciHelmChart" {
		connector = doc.At("spec", "config", "spec", "connectorRef")
	}
	for _, m := range all {
		if text(m.Get("type")) != "HelmRepoOverride" {
			continue
		}
		if other := text(m.At("spec", "type")); other != typ {
			return task.Store{}, fault.New(fault.Invalid, "the HelmRepoOverride %s has the type %s, but the chart's store is %s", text(m.Get("identifier")), other, typ)
		}
		connector = m.At("spec", "connectorRef")
	}
	repo, err := s.chartRepo(connector, typ)
	if err == nil && typ == "OciHelmChart" {
		repo.URL = strings.TrimSuffix(repo.URL+"/"+strings.Trim(text(doc.At("spec", "basePath")), "/"), "/")
	}
	return task.Store{Charts: repo}, err
}

// chartRepo is how a repository of charts is reached (entities spec §9).
func (s *Scope) chartRepo(connector *yamldoc.Node, store string) (*task.ChartRepo, error) {
	doc, err := s.connector(connector, s.Execution.Scope)
	if err != nil {
		return nil, err
	}
	want := map[string]string{"Http": "HttpHelmRepo", "OciHelmChart": "OciHelmRepo"}[store]
	if typ := text(doc.Get("type")); typ != want {
		return nil, fault.New(fault.Invalid, "connector %s is a %s; a store of the type %s wants an %s", text(doc.Get("identifier")), typ, store, want)
	}
	var server task.Server
	if err := s.credentials(text(doc.At("spec", "auth", "type")), doc.At("spec", "auth", "spec"), &server); err != nil {
		return nil, err
	}
	repo := &task.ChartRepo{URL: strings.TrimSuffix(text(doc.At("spec", "helmRepoUrl")), "/"), Username: server.Username, Password: server.Password}
	if store == "OciHelmChart" {
		repo.OCI = true
		repo.URL = "oci://" + strings.TrimPrefix(strings.TrimPrefix(repo.URL, "https://"), "oci://")
	}
	return repo, nil
}

func helmChart(spec *yamldoc.Node) *task.Chart {
	return &task.Chart{
		Name: text(spec.Get("chartName")), Version: text(spec.Get("chartVersion")),
		HelmVersion: text(spec.Get("helmVersion")), SubChartPath: text(spec.Get("subChartPath")), CommandFlags: commandFlags(spec),
	}
}

func commandFlags(spec *yamldoc.Node) []task.CommandFlag {
	var out []task.CommandFlag
	if list := spec.Get("commandFlags"); list != nil {
		for _, item := range list.Items {
			out = append(out, task.CommandFlag{Command: text(item.Get("commandType")), Flag: text(item.Get("flag"))})
		}
	}
	return out
}

func isTrue(n *yamldoc.Node) bool { return n != nil && strings.EqualFold(n.Value, "true") }

// Store resolves a store of a step's own files, such as K8sPatch's source.
func (s *Scope) Store(doc *yamldoc.Node) (task.Store, error) { return s.store(doc) }

// store is where a manifest's files are (entities spec §2.4).
func (s *Scope) store(doc *yamldoc.Node) (task.Store, error) {
	spec := doc.Get("spec")
	switch typ := text(doc.Get("type")); typ {
	case "Inline":
		return task.Store{Inline: text(spec.Get("content"))}, nil
	case "Git", "Github", "GitLab", "Bitbucket":
		g, err := s.git(spec)
		return task.Store{Git: g}, err
	default:
		return task.Store{}, fault.New(fault.Unsupported, "store type %s can't be used yet", typ)
	}
}
