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
// above it, one after the other (semantics/entities §8).
func (s *Scope) manifests(d *plan.Deployment, t *task.KubernetesTarget) error {
	all, err := s.allManifests(d, func(*yamldoc.Node) bool { return true })
	if err != nil {
		return err
	}
	main, err := s.mainManifest(d.Service.At("serviceDefinition", "spec"), all)
	if err != nil {
		return err
	}
	if t.Selectors, err = s.extractors(t.Selectors, main, all); err != nil {
		return err
	}
	for _, m := range all {
		if !isLayer(m) {
			continue
		}
		layers := map[string]*[]task.ValuesFile{"Values": &t.Values, "KustomizePatches": &t.Patches, "OpenshiftParam": &t.Params}[text(m.Get("type"))]
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
	if len(t.Params) > 0 && text(main.Get("type")) != "OpenshiftTemplate" {
		return fault.New(fault.Invalid, "the service has parameters of the type OpenshiftParam, but no OpenshiftTemplate")
	}
	if t.Manifest, err = s.manifest(main, all); err != nil || !described(main) {
		return err
	}
	return s.pin(t.Manifest)
}

// allManifests are those of the service and of the layers above it that are
// wanted.
func (s *Scope) allManifests(d *plan.Deployment, wanted func(*yamldoc.Node) bool) ([]*yamldoc.Node, error) {
	var all []*yamldoc.Node
	for _, layer := range d.Layers() {
		for _, m := range items(layer.Manifests) {
			if !wanted(m) {
				continue
			}
			resolved, err := s.tree(m, "manifests of "+layer.What)
			if err != nil {
				return nil, err
			}
			all = append(all, resolved)
		}
	}
	return all, nil
}

// extractors adds the delegate selectors of the scripts that bring the files of
// the main manifest and the layers above it: they run where the step's task
// does.
func (s *Scope) extractors(selectors []string, main *yamldoc.Node, all []*yamldoc.Node) ([]string, error) {
	for _, m := range all {
		if isMain(m) && m != main {
			continue
		}
		more, err := s.Selectors(words(m.At("spec", "store", "spec", "delegateSelectors")))
		if err != nil {
			return nil, err
		}
		selectors = append(selectors, more...)
	}
	return selectors, nil
}

// isMain says whether a manifest is one that is deployed itself.
func isMain(m *yamldoc.Node) bool {
	return slices.Contains([]string{"K8sManifest", "HelmChart", "Kustomize", "OpenshiftTemplate"}, text(m.Get("type")))
}

// isLayer says whether a manifest is values, patches or parameters for another.
func isLayer(m *yamldoc.Node) bool {
	return slices.Contains([]string{"Values", "KustomizePatches", "OpenshiftParam"}, text(m.Get("type")))
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
// the service names (semantics/entities §2.3); nil if there is none at all.
func (s *Scope) mainManifest(spec *yamldoc.Node, all []*yamldoc.Node) (*yamldoc.Node, error) {
	var main []*yamldoc.Node
	var ids []string
	for _, m := range all {
		switch typ := text(m.Get("type")); {
		case isMain(m):
			main, ids = append(main, m), append(ids, text(m.Get("identifier")))
		case !isLayer(m) && typ != "HelmRepoOverride":
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
		OptionalValuesYAML: isTrue(spec.Get("optionalValuesYaml")), ParamsPaths: words(spec.Get("paramsPaths")),
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
	if !slices.Contains([]string{"Http", "OciHelmChart", "S3", "Gcs"}, typ) {
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
	if typ == "S3" || typ == "Gcs" {
		repo, err := s.chartBucket(connector, doc)
		return task.Store{Charts: repo}, err
	}
	if kind := text(doc.At("spec", "config", "type")); kind == "ECR" || kind == "GAR" {
		repo, err := s.cloudRegistry(connector, doc.Get("spec"), kind)
		return task.Store{Charts: repo}, err
	}
	repo, err := s.chartRepo(connector, typ)
	if err == nil && typ == "OciHelmChart" {
		repo.URL = strings.TrimSuffix(repo.URL+"/"+strings.Trim(text(doc.At("spec", "basePath")), "/"), "/")
	}
	return task.Store{Charts: repo}, err
}

// chartRepo is how a repository of charts is reached (semantics/entities §9).
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

// chartBucket is a folder of a bucket with charts in it.
func (s *Scope) chartBucket(connector, store *yamldoc.Node) (*task.ChartRepo, error) {
	doc, err := s.connector(connector, s.Execution.Scope)
	if err != nil {
		return nil, err
	}
	spec := store.Get("spec")
	name, folder := text(spec.Get("bucketName")), strings.Trim(text(spec.Get("folderPath")), "/")
	if name == "" {
		return nil, fault.New(fault.Invalid, "bucketName is empty")
	}
	repo, scheme := &task.ChartRepo{Folder: folder}, "s3://"
	if text(store.Get("type")) == "S3" {
		repo.S3 = &task.S3Objects{Bucket: name}
		repo.S3.AWS, err = s.awsAccess(doc, text(spec.Get("region")))
	} else {
		scheme = "gs://"
		repo.GCS = &task.GoogleBucket{Bucket: name}
		var access *task.Google
		if access, err = s.google(doc); err == nil {
			repo.GCS.Google = *access
		}
	}
	repo.URL = strings.TrimSuffix(scheme+name+"/"+folder, "/")
	return repo, err
}

// cloudRegistry is a registry of AWS or Google Cloud with charts in it.
func (s *Scope) cloudRegistry(connector, spec *yamldoc.Node, kind string) (*task.ChartRepo, error) {
	doc, err := s.connector(connector, s.Execution.Scope)
	if err != nil {
		return nil, err
	}
	of := spec.At("config", "spec")
	region, base := text(of.Get("region")), strings.Trim(text(spec.Get("basePath")), "/")
	repo, host := &task.ChartRepo{OCI: true, Folder: base}, ""
	if kind == "ECR" {
		access, err := s.awsAccess(doc, region)
		if err != nil {
			return nil, err
		}
		repo.AWS = &access
		if account := text(of.Get("registryId")); account != "" {
			host = ecrHost(task.ECRImages{AWS: access, Account: account})
		}
	} else {
		if repo.Google, err = s.google(doc); err != nil {
			return nil, err
		}
		host = region + "-docker.pkg.dev/" + text(of.Get("project")) + "/" + text(of.Get("repositoryName"))
	}
	if host != "" {
		repo.URL = strings.TrimSuffix("oci://"+host+"/"+base, "/")
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

// store is where a manifest's files are (semantics/entities §2.4).
func (s *Scope) store(doc *yamldoc.Node) (task.Store, error) {
	spec := doc.Get("spec")
	switch typ := text(doc.Get("type")); typ {
	case "Inline":
		return task.Store{Inline: text(spec.Get("content"))}, nil
	case "CustomRemote":
		return task.Store{Script: &task.Extraction{Script: text(spec.Get("extractionScript")), Path: text(spec.Get("filePath"))}}, nil
	case "InheritFromManifest":
		return task.Store{Inherited: words(spec.Get("paths"))}, nil
	case "Git", "Github", "GitLab", "Bitbucket", "AzureRepo":
		g, err := s.git(spec)
		return task.Store{Git: g}, err
	case "Harness":
		f, err := s.fileStore(spec)
		return task.Store{Files: f}, err
	default:
		return task.Store{}, fault.New(fault.Unsupported, "store type %s can't be used yet", typ)
	}
}
