// Command argocd says what Argo CD's own code makes of ApplicationSets: for each
// file a line of JSON with the file's name and the applications, or the error. What
// it said of the examples of its own release is kept in
// delegate/gitops/generate/testdata/argocd.jsonl, and made anew by
//
//	cd tools/argocd && go run . > ../../delegate/gitops/generate/testdata/argocd.jsonl
//
// It is a module of its own, so that nothing of Argo CD comes into the product.
// Archives (txtar) as in delegate/gitops/generate/testdata can be given as arguments,
// to see what it makes of those.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	log "github.com/sirupsen/logrus"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argov1 "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// namespace is where the sets and the clusters' Secrets are.
const namespace = "argocd"

// cluster is a cluster that is known, as in the archives' answers.yaml.
type cluster struct {
	Name        string            `json:"name"`
	Server      string            `json:"server"`
	Project     string            `json:"project"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Verdict is a line of the output.
type verdict struct {
	File         string `json:"file"`
	Applications []any  `json:"applications,omitempty"`
	Error        string `json:"error,omitempty"`
}

func main() {
	log.SetLevel(log.PanicLevel)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(archives []string) error {
	out := json.NewEncoder(os.Stdout)
	if len(archives) > 0 {
		for _, file := range archives {
			a, err := txtar.ParseFile(file)
			if err != nil {
				return err
			}
			set, clusters, files, err := of(a)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if err := out.Encode(judge(filepath.Base(file), set, clusters, files)); err != nil {
				return err
			}
		}
		return nil
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3").Output()
	if err != nil {
		return err
	}
	root := os.DirFS(strings.TrimSpace(string(dir)))
	clusters := []cluster{ // which the examples' selectors look for
		{Name: "eng-dev", Server: "https://1.2.3.4", Labels: map[string]string{"env": "dev", "environment": "dev", "staging": "true", "type": "production"}, Annotations: map[string]string{"note": "of eng-dev"}},
		{Name: "eng_Prod", Server: "https://5.6.7.8", Labels: map[string]string{"env": "prod", "environment": "prod", "type": "production"}},
	}
	return fs.WalkDir(root, "applicationset/examples", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil || !strings.Contains(string(text), "kind: ApplicationSet") {
			return err
		}
		var set argov1.ApplicationSet
		if err := yaml.Unmarshal(text, &set); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return out.Encode(judge(name, set, clusters, root))
	})
}

// of is what an archive holds.
func of(a *txtar.Archive) (set argov1.ApplicationSet, clusters []cluster, files fs.FS, err error) {
	files, err = txtar.FS(a)
	if err != nil {
		return set, nil, nil, err
	}
	if sub, err := fs.Sub(files, "repository"); err == nil {
		files = sub
	}
	var known struct {
		Clusters []cluster `json:"clusters"`
	}
	for _, f := range a.Files {
		switch f.Name {
		case "set.yaml":
			err = errors.Join(err, yaml.Unmarshal(f.Data, &set))
		case "answers.yaml":
			err = errors.Join(err, yaml.Unmarshal(f.Data, &known))
		}
	}
	return set, known.Clusters, files, err
}

func judge(file string, set argov1.ApplicationSet, clusters []cluster, files fs.FS) (v verdict) {
	v.File = file
	defer func() {
		if r := recover(); r != nil { // of generators that need a host
			v.Error = fmt.Sprint("panic: ", r)
		}
	}()
	set.Namespace = namespace
	if set.Spec.Template.Spec.Project == "" {
		set.Spec.Template.Spec.Project = "default"
	}
	c := inCluster(set.Spec.Template.Spec.Project, clusters)
	plain := map[string]generators.Generator{
		"List": generators.NewListGenerator(), "Clusters": generators.NewClusterGenerator(c, namespace), "Git": generators.NewGitGenerator(repository{files}, namespace),
	}
	apps, _, err := template.GenerateApplications(log.NewEntry(log.StandardLogger()), set, with(with(plain)), &utils.Render{}, c)
	if err != nil {
		v.Error = err.Error()
		return v
	}
	slices.SortFunc(apps, func(a, b argov1.Application) int { return strings.Compare(a.Name, b.Name) })
	for _, a := range apps {
		v.Applications = append(v.Applications, map[string]any{
			"metadata": map[string]any{"name": a.Name, "namespace": a.Namespace, "labels": a.Labels, "annotations": a.Annotations, "finalizers": a.Finalizers},
			"spec":     a.Spec,
		})
	}
	return v
}

// with are generators and those that are made of them.
func with(all map[string]generators.Generator) map[string]generators.Generator {
	return map[string]generators.Generator{
		"List": all["List"], "Clusters": all["Clusters"], "Git": all["Git"],
		"Matrix": generators.NewMatrixGenerator(all), "Merge": generators.NewMergeGenerator(all),
	}
}

func inCluster(project string, clusters []cluster) client.Client {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), argov1.AddToScheme(scheme)); err != nil {
		panic(err)
	}
	objects := []client.Object{&argov1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: project, Namespace: namespace}}}
	for i, k := range clusters {
		labels := map[string]string{"argocd.argoproj.io/secret-type": "cluster"}
		for name, value := range k.Labels {
			labels[name] = value
		}
		objects = append(objects, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("cluster-", i), Namespace: namespace, Labels: labels, Annotations: k.Annotations},
			Data:       map[string][]byte{"name": []byte(k.Name), "server": []byte(k.Server), "project": []byte(k.Project)},
		})
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// repository answers for every repository with the same files.
type repository struct{ files fs.FS }

func (r repository) GetFiles(_ context.Context, _, _, _, pattern string, _ bool, _ *argov1.SourceIntegrity) (map[string][]byte, error) {
	names, err := doublestar.Glob(r.files, pattern, doublestar.WithFilesOnly())
	out := map[string][]byte{}
	for _, name := range names {
		text, failed := fs.ReadFile(r.files, name)
		out[name], err = text, errors.Join(err, failed)
	}
	return out, err
}

func (r repository) GetDirectories(context.Context, string, string, string, bool, *argov1.SourceIntegrity) ([]string, error) {
	var out []string
	err := fs.WalkDir(r.files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() || name == ".":
			return err
		case strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		out = append(out, name)
		return nil
	})
	return out, err
}
