package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// discard is where what tools say goes: what matters of it is in their errors.
var discard = io.Discard

// maxChart is how many bytes the files of a chart may have, with the charts that are
// packed in it.
const maxChart = 64 << 20

var (
	// random is what gives templates another value each time.
	random = regexp.MustCompile(`\b(rand(Alpha|AlphaNum|Numeric|Ascii|Bytes|Int)|uuidv4|gen(CA|CAWithKey|PrivateKey|SelfSignedCert|SelfSignedCertWithKey|SignedCert|SignedCertWithKey)|now|date|dateInZone|ago|htpasswd|bcrypt|shuffle)\b`)
	// ofCluster is how templates ask what the cluster can do.
	ofCluster = regexp.MustCompile(`\bCapabilities\b`)
)

// helm renders a chart.
func (j *job) helm(ctx context.Context, p *part) ([]*unstructured.Unstructured, error) {
	h := p.Helm
	if h == nil {
		h = &gitops.Helm{}
	}
	if h.Version == "v2" {
		return nil, fault.New(fault.Unsupported, "helm.version is v2; want none, or v3")
	}
	values, err := j.values(ctx, p, h)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "slipway-gitops-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for a chart: %w", err)
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "files")
	signs, err := p.export(ctx, root)
	if err != nil {
		return nil, err
	}
	w := chart.Job{
		Manifest: &origin.Manifest{ID: j.App, Type: origin.HelmChart}, Dir: dir, Values: values,
		Files:   manifest.Files{Root: root, Folder: filepath.Join(root, filepath.FromSlash(p.folder.Path))},
		Flags:   origin.HelmFlags{IncludeCRDs: true, SkipCRDs: h.SkipCrds, SkipSchema: h.SkipSchemaValidation, KubeVersion: h.KubeVersion, APIVersions: h.APIVersions},
		Release: chart.Release{Name: j.App, Namespace: j.Namespace},
	}
	if h.ReleaseName != "" {
		w.Release.Name = h.ReleaseName
	}
	if h.Namespace != "" {
		w.Release.Namespace = h.Namespace
	}
	if h.KubeVersion == "" {
		w.Flags.KubeVersion = j.KubeVersion
	}
	if len(h.APIVersions) == 0 {
		w.Flags.APIVersions = j.APIVersions
	}
	if signs.cluster {
		j.used[clusterFacts] = j.facts()
	}
	render := func() ([]*unstructured.Unstructured, error) {
		objects, _, err := j.make(ctx, sandbox.Work{Verb: verbChart, What: "rendering the chart of " + j.App, Request: w, Log: discard})
		return objects, err
	}
	objects, err := render()
	if err != nil || !signs.random {
		return objects, err
	}
	again, err := render()
	if err != nil {
		return nil, err
	}
	maps.Copy(j.unstable, compare(objects, again))
	return objects, nil
}

func chartVerb(ctx context.Context, c sandbox.Call) (any, error) {
	w, err := sandbox.Decode[chart.Job](c)
	if err != nil {
		return nil, err
	}
	loaded, _, err := w.Read(ctx, c.Log)
	if err != nil {
		return nil, err
	}
	text, err := w.Template(ctx, loaded, c.Log)
	if err != nil {
		return nil, err
	}
	objects, err := manifest.Objects("chart "+loaded.Name(), text, manifest.Decode)
	if err != nil {
		return nil, err
	}
	return madeOf(objects)
}

// clusterFacts is that a chart asked what the cluster can do, among what was used.
const clusterFacts = "cluster"

// facts is a name of what the cluster can do.
func (j *job) facts() string {
	sum := sha256.Sum256([]byte(j.KubeVersion + "\n" + strings.Join(slices.Sorted(slices.Values(j.APIVersions)), "\n")))
	return hex.EncodeToString(sum[:])
}

// signs are what the files of a chart show of its templates.
type signs struct{ random, cluster bool }

// export writes the chart below a folder, at its own path, and beside it the charts
// that it depends on by relative paths.
func (p *part) export(ctx context.Context, dir string) (signs, error) {
	var out signs
	if err := os.Mkdir(dir, 0o700); err != nil {
		return out, fmt.Errorf("make a folder for a chart: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return out, fmt.Errorf("open the folder of a chart: %w", err)
	}
	defer func() { _ = root.Close() }() // its files were closed
	done := map[string]bool{}
	left := maxChart
	for todo := []source.File{p.folder}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if done[at.Path] {
			continue
		}
		done[at.Path] = true
		texts, err := p.files.Whole(ctx, at, left)
		if err != nil {
			return out, err
		}
		for name, text := range texts {
			left -= len(text)
			to := path.Join(at.Path, name)
			if err := root.MkdirAll(path.Dir(to), 0o700); err != nil {
				return out, fault.New(fault.Invalid, "the chart's file %s: %w", to, err)
			}
			if err := root.WriteFile(to, text, 0o600); err != nil {
				return out, fault.New(fault.Invalid, "the chart's file %s: %w", to, err)
			}
			packed := path.Ext(name) == ".tgz" // whose templates could be anything
			out.random = out.random || packed || strings.Contains(name, "templates/") && random.Match(text)
			out.cluster = out.cluster || packed || ofCluster.Match(text)
		}
		more, err := p.neighbours(ctx, at, texts)
		if err != nil {
			return out, err
		}
		todo = append(todo, more...)
	}
	return out, nil
}

// neighbours are the folders of the charts that one depends on by relative paths.
// What is wrong with its files is told when it is read.
func (p *part) neighbours(ctx context.Context, at source.File, texts map[string][]byte) ([]source.File, error) {
	var out []source.File
	for _, name := range []string{"Chart.yaml", "requirements.yaml"} {
		var doc struct {
			Dependencies []*v2.Dependency `json:"dependencies"`
		}
		if yaml.Unmarshal(texts[name], &doc) != nil {
			continue
		}
		for _, d := range doc.Dependencies {
			to, isFolder := strings.CutPrefix(d.Repository, "file://")
			if !isFolder || path.IsAbs(to) {
				continue
			}
			found, err := p.files.Find(ctx, path.Join(at.Path, to))
			if fault.Is(err, fault.NotFound) || err == nil && !found.Folder {
				continue
			}
			if err != nil {
				return nil, fault.Wrap(err, "dependency %s", d.Name)
			}
			out = append(out, found)
		}
	}
	return out, nil
}

// values are those that the source gives a chart, from low to high: files, then what
// is written in it, then single parameters (semantics/gitops §4).
func (j *job) values(ctx context.Context, p *part, h *gitops.Helm) (map[string]any, error) {
	out := map[string]any{}
	files, err := j.valueFiles(ctx, p, h)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := f.read(ctx)
		if err != nil {
			return nil, err
		}
		doc, err := manifest.Decode(string(text))
		if err != nil {
			return nil, fault.New(fault.Invalid, "values file %s: %w", f.name, err)
		}
		manifest.Merge(out, doc)
	}
	for _, inline := range []struct{ field, text string }{{"helm.values", h.Values}, {"helm.valuesObject", string(h.ValuesObject)}} {
		if inline.text == "" {
			continue
		}
		doc, err := manifest.Decode(inline.text)
		if err != nil {
			return nil, fault.New(fault.Invalid, "%s: %w", inline.field, err)
		}
		manifest.Merge(out, doc)
	}
	var flags origin.HelmFlags
	for _, one := range h.Parameters {
		text := one.Name + "=" + escaped(j.substitute(p, one.Value))
		if one.ForceString {
			flags.SetString = append(flags.SetString, text)
		} else {
			flags.Set = append(flags.Set, text)
		}
	}
	for _, one := range h.FileParameters {
		flags.SetFile = append(flags.SetFile, one.Name+"="+j.substitute(p, one.Path))
	}
	err = chart.Set(out, flags, func(name string) ([]byte, error) {
		f, err := j.valueFile(ctx, p, name)
		if err != nil {
			return nil, err
		}
		return f.read(ctx)
	})
	return out, err
}

// escaped keeps a value with commas one value, unless it is a list in braces.
func escaped(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	return comma.ReplaceAllString(value, `$1\,`)
}

var comma = regexp.MustCompile(`(^|[^\\]),`)

// valueFile is a file of values, in one of the sources.
type valueFile struct {
	name  string // for people
	files *source.Files
	file  source.File
}

func (f valueFile) read(ctx context.Context) ([]byte, error) {
	texts, err := f.files.Read(ctx, source.MaxFile, f.file)
	if err != nil {
		return nil, fault.Wrap(err, "file %s", f.name)
	}
	return texts[0], nil
}

// valueFiles are the files of values, in their order. What a pattern matches stands
// in its place by name, without what another entry names.
func (j *job) valueFiles(ctx context.Context, p *part, h *gitops.Helm) ([]valueFile, error) {
	type place struct {
		files *source.Files
		path  string
	}
	named, found := map[place]bool{}, make([][]valueFile, len(h.ValueFiles))
	patterns := map[int]bool{}
	for i, text := range h.ValueFiles {
		name := j.substitute(p, text)
		if patterns[i] = strings.ContainsAny(name, "*?[{"); patterns[i] {
			continue
		}
		f, err := j.valueFile(ctx, p, name)
		if h.IgnoreMissingValueFiles && fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		named[place{f.files, f.file.Path}] = true
		found[i] = []valueFile{f}
	}
	var out []valueFile
	for i, text := range h.ValueFiles {
		if patterns[i] {
			all, err := j.matching(ctx, p, j.substitute(p, text))
			if err != nil {
				return nil, err
			}
			if len(all) == 0 && !h.IgnoreMissingValueFiles {
				return nil, fault.New(fault.NotFound, "values file %s: no file matches it", text)
			}
			for _, f := range all {
				if at := (place{f.files, f.file.Path}); !named[at] {
					named[at] = true
					found[i] = append(found[i], f)
				}
			}
		}
		out = append(out, found[i]...)
	}
	return out, nil
}

// valueFile finds a file that a source names.
func (j *job) valueFile(ctx context.Context, p *part, name string) (valueFile, error) {
	files, at, err := j.placeOf(p, name)
	if err != nil {
		return valueFile{}, err
	}
	found, err := files.Find(ctx, at)
	if err == nil && found.Folder {
		err = fault.New(fault.Invalid, "it is a folder")
	}
	if err != nil {
		return valueFile{}, fault.Wrap(err, "values file %s", name)
	}
	return valueFile{name, files, found}, nil
}

// matching are the files that a pattern matches, by name.
func (j *job) matching(ctx context.Context, p *part, name string) ([]valueFile, error) {
	files, at, err := j.placeOf(p, name)
	if err != nil {
		return nil, err
	}
	if !doublestar.ValidatePattern(at) {
		return nil, fault.New(fault.Invalid, "values file %s is no pattern", name)
	}
	base, pattern := doublestar.SplitPattern(path.Clean(strings.TrimLeft(at, "/")))
	top, err := files.Find(ctx, base)
	if fault.Is(err, fault.NotFound) || err == nil && !top.Folder {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, "values file %s", name)
	}
	w := &walk{files: files, recurse: strings.Contains(pattern, "/") || strings.Contains(pattern, "**"), found: map[string]source.File{}}
	w.chosen = func(name string) bool { return doublestar.MatchUnvalidated(pattern, name) }
	if err := w.folder(ctx, top, "", nil); err != nil {
		return nil, err
	}
	var out []valueFile
	for _, name := range slices.Sorted(maps.Keys(w.found)) {
		out = append(out, valueFile{path.Join(base, name), files, w.found[name]})
	}
	return out, nil
}

// placeOf says in which source's files a name is, and where: $ref/ is the topmost
// folder of the source with that ref, a slash that of this source, and all else is
// beside the chart.
func (j *job) placeOf(p *part, name string) (*source.Files, string, error) {
	for i := range j.Sources {
		ref := j.Sources[i].Ref
		if ref == "" {
			continue
		}
		if below, ok := strings.CutPrefix(name, "$"+ref+"/"); ok {
			return j.files[i], below, nil
		}
		if strings.Contains(name, "/$"+ref+"/") {
			return nil, "", fault.New(fault.Invalid, "values file %s: $%s stands in the middle; want it at the beginning", name, ref)
		}
	}
	switch {
	case strings.HasPrefix(name, "$"):
		ref, _, _ := strings.Cut(name, "/")
		return nil, "", fault.New(fault.Invalid, "values file %s: no source has the ref %s", name, ref[1:])
	case strings.HasPrefix(name, "secrets:"), strings.HasPrefix(name, "secrets+"):
		return nil, "", fault.New(fault.Unsupported, "values file %s: encrypted files can't be read yet", name)
	case strings.Contains(name, "://"):
		return nil, "", fault.New(fault.Unsupported, "values file %s: files at a URL can't be read yet", name)
	case strings.HasPrefix(name, "/"):
		return p.files, name, nil
	}
	return p.files, path.Join(p.folder.Path, name), nil
}
