// Package install writes what installs a GitOps agent in its cluster: the objects of
// delegate/chart, or the values with which Helm makes them (docs/gitops.md).
//
// It asks nobody: who is to have an agent, and by which token, its caller has settled.
package install

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	delegatechart "github.com/slipway-cd/slipway/delegate/chart"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Installation is how an agent is installed.
type Installation struct {
	Agent     ref.Ref
	Namespace string
	Server    string   // where its pods find the control plane
	Token     string   // empty: the Secret is there
	Image     string   // empty: the one of Version
	Version   string   // of the program
	Within    []string // the only namespaces that it may look into; none: the whole cluster
	Rules     []Rule   // what it may do there; none: make, change and delete everything
	Replicas  int
	// Impersonate lets it act as service accounts there, as projects name them.
	Impersonate bool
}

// Rule is one of a Kubernetes role.
type Rule struct {
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
}

// MaxReplicas bounds the pods of an agent, of which one works.
const MaxReplicas = 10

var (
	namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	notName       = regexp.MustCompile(`[^a-z0-9]+`)
	released      = regexp.MustCompile(`^v?[0-9]+\.`)
)

// CheckNamespace refuses what is no name of a namespace.
func CheckNamespace(name string) error {
	if len(name) > 63 || !namespaceName.MatchString(name) {
		return fault.New(fault.Invalid, "%q is no name of a namespace", name)
	}
	return nil
}

// Rules are for an agent that is to change no kinds but those that are in some files and
// folders of manifests. It may look at what people look at beside them.
func Rules(from ...string) ([]Rule, error) {
	kinds := map[string]map[string]bool{}
	for _, at := range from {
		if err := read(at, func(name, text string) error {
			objects, err := manifest.Objects(name, text, manifest.Decode)
			for _, o := range objects {
				resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
				if kinds[resource.Group] == nil {
					kinds[resource.Group] = map[string]bool{}
				}
				kinds[resource.Group][resource.Resource] = true
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	if len(kinds) == 0 {
		return nil, fault.New(fault.Invalid, "found no objects in %s", strings.Join(from, ", "))
	}
	change, look := []string{"get", "list", "watch", "create", "update", "patch", "delete"}, []string{"get", "list", "watch"}
	var rules []Rule
	for _, group := range slices.Sorted(maps.Keys(kinds)) {
		rules = append(rules, Rule{[]string{group}, slices.Sorted(maps.Keys(kinds[group])), change})
	}
	return append(rules, Rule{[]string{""}, []string{"events", "pods", "pods/log"}, look}, Rule{[]string{"apps"}, []string{"controllerrevisions", "replicasets"}, look}), nil
}

// read shows a file, or all manifests of a folder and those below it.
func read(at string, show func(name, text string) error) error {
	info, err := os.Stat(at)
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	if !info.IsDir() {
		text, err := os.ReadFile(at)
		if err != nil {
			return fmt.Errorf("read manifests: %w", err)
		}
		return show(at, string(text))
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			return err
		}
		text, err := fs.ReadFile(root.FS(), name)
		if err != nil {
			return err
		}
		return show(path.Join(at, name), string(text))
	})
}

// Release is the name of the release, which is that of its objects, too.
func (i *Installation) Release() string {
	return strings.Trim("slipway-gitops-"+notName.ReplaceAllString(strings.ToLower(i.Agent.ID), "-"), "-")
}

// values are those of the chart.
func (i *Installation) values() map[string]any {
	of := map[string]any{"agent": i.Agent.ID}
	switch s := i.Agent.Scope; {
	case s.Org == "":
		of["agent"] = "account." + i.Agent.ID
	case s.Project == "":
		of["agent"], of["org"] = "org."+i.Agent.ID, s.Org
	default:
		of["org"], of["project"] = s.Org, s.Project
	}
	if len(i.Within) > 0 {
		of["namespaces"] = i.Within
	}
	if len(i.Rules) > 0 {
		of["rules"] = i.Rules
	}
	if i.Impersonate {
		of["impersonate"] = true
	}
	out := map[string]any{
		"server": i.Server, "name": i.Agent.ID, "tokenSecret": i.Release(), "capacity": 0, "replicas": i.Replicas, "gitops": of,
	}
	if strings.HasPrefix(i.Server, "http://") {
		out["insecure"] = true
	}
	image := map[string]any{}
	if released.MatchString(i.Version) {
		image["tag"] = strings.TrimPrefix(i.Version, "v")
	}
	if at := strings.LastIndex(i.Image, ":"); at > strings.LastIndex(i.Image, "/") {
		image["repository"], image["tag"] = i.Image[:at], i.Image[at+1:]
	} else if i.Image != "" {
		image["repository"] = i.Image
	}
	if len(image) > 0 {
		out["image"] = image
	}
	return out
}

// Values are the chart's, in YAML.
func (i *Installation) Values() ([]byte, error) {
	text, err := yaml.Marshal(i.values())
	if err != nil {
		return nil, fmt.Errorf("encode the values: %w", err)
	}
	return text, nil
}

// Manifests are the objects, in YAML: the namespace first, and the token's Secret if
// there is a token.
func (i *Installation) Manifests(ctx context.Context) ([]byte, error) {
	text, err := i.Values()
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("decode the values: %w", err)
	}
	files, err := chart.RenderFiles(ctx, delegatechart.Files, chart.Scene{
		Values: values, Release: map[string]any{"Name": i.Release(), "Namespace": i.Namespace, "Service": "Helm", "IsInstall": true, "Revision": int64(1)},
	})
	if err != nil {
		return nil, err
	}
	all := []map[string]any{{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": i.Namespace}}}
	if i.Token != "" {
		all = append(all, map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": i.Release(), "namespace": i.Namespace}, "stringData": map[string]any{"token": i.Token},
		})
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		objects, err := manifest.Objects(name, files[name], manifest.Decode)
		if err != nil {
			return nil, fmt.Errorf("read what the chart makes: %w", err)
		}
		for _, o := range objects {
			if o.GetNamespace() == "" && !strings.HasPrefix(o.GetKind(), "Cluster") {
				o.SetNamespace(i.Namespace) // Helm would do so
			}
			all = append(all, o.Object)
		}
	}
	var out bytes.Buffer
	for _, o := range all {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("encode what installs the agent: %w", err)
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.Bytes(), nil
}
