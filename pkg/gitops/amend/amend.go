// Package amend changes in the text of an Application's document what it says of its
// sources, as the step UpdateGitOpsApp does (semantics/gitops §17). What isn't changed
// keeps its comments and its order.
//
// It saves nothing, and doesn't say whether what comes out is right: the catalog does.
package amend

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// Change is what is to be other.
type Change struct {
	Source  Source   `json:"source,omitzero"` // of the application that has one; it says nothing of where that is
	Sources []Source `json:"sources,omitempty"`
}

// Source is what of a source is to be other. What is empty stays.
type Source struct {
	RepoURL        string `json:"repoURL,omitempty"`
	Path           string `json:"path,omitempty"`
	Chart          string `json:"chart,omitempty"`
	Ref            string `json:"ref,omitempty"`
	TargetRevision string `json:"targetRevision,omitempty"`

	// Of Helm: parameters by their names, and all value files.
	Parameters     []gitops.HelmParameter     `json:"parameters,omitempty"`
	FileParameters []gitops.HelmFileParameter `json:"fileParameters,omitempty"`
	ValueFiles     []string                   `json:"valueFiles,omitempty"`

	// Of Kustomize: images and replicas by their names.
	Images    []string  `json:"images,omitempty"`
	Replicas  []Replica `json:"replicas,omitempty"`
	Namespace string    `json:"namespace,omitempty"`
}

// Replica is how many of a workload there are.
type Replica struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Empty says whether nothing is to be other.
func (c Change) Empty() bool { return c.Source.empty() && len(c.Sources) == 0 }

func (s Source) empty() bool {
	return s.RepoURL+s.Path+s.Chart+s.Ref+s.TargetRevision == "" && !s.helm() && !s.kustomize()
}

func (s Source) helm() bool { return len(s.Parameters)+len(s.FileParameters)+len(s.ValueFiles) > 0 }

func (s Source) kustomize() bool {
	return len(s.Images)+len(s.Replicas) > 0 || s.Namespace != ""
}

// Application is the text of a document with an Application, with a change.
func Application(text []byte, c Change) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if len(doc.Content) != 1 {
		return nil, fault.New(fault.Invalid, "the document is empty")
	}
	merges(&doc)
	app := doc.Content[0]
	if envelope := get(app, "gitopsApplication"); envelope != nil {
		app = get(envelope, "app")
	}
	spec := get(app, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return nil, fault.New(fault.Invalid, "the document has no spec of its own that can be changed")
	}
	var all []*yaml.Node
	if several := get(spec, "sources"); several != nil && several.Kind == yaml.SequenceNode && len(several.Content) > 0 {
		all = several.Content
	} else if one := get(spec, "source"); one != nil {
		all = []*yaml.Node{one}
	}
	for i, one := range all {
		if one.Kind != yaml.MappingNode {
			return nil, fault.New(fault.Unsupported, "source %d stands elsewhere in the document, by an alias; change it there", i+1)
		}
	}
	if !c.Source.empty() {
		if len(all) != 1 {
			return nil, fault.New(fault.Invalid, "the application has %d sources; say by sources which are meant", len(all))
		}
		if err := c.Source.into(all[0]); err != nil {
			return nil, err
		}
	}
	for i, s := range c.Sources {
		at, err := s.among(all, i)
		if err == nil {
			err = s.into(at)
		}
		if err != nil {
			return nil, fault.Wrap(err, "sources[%d]", i)
		}
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	return out.Bytes(), nil
}

// merges takes the tags of merge keys away, which would be written out.
func merges(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge" {
		n.Tag = ""
	}
	for _, child := range n.Content {
		merges(child)
	}
}

// among finds the source that is meant: by its ref, else by where it is, else by its
// place.
func (s Source) among(all []*yaml.Node, place int) (*yaml.Node, error) {
	if s.Ref != "" {
		if i := slices.IndexFunc(all, func(n *yaml.Node) bool { return text(n, "ref") == s.Ref }); i >= 0 {
			return all[i], nil
		}
	}
	if i := slices.IndexFunc(all, s.there); s.RepoURL != "" && i >= 0 {
		return all[i], nil
	}
	if place >= len(all) {
		return nil, fault.New(fault.Invalid, "the application has %d sources, and none with this ref, or this repoURL and path or chart", len(all))
	}
	return all[place], nil
}

// there says whether a source is where this one is said to be.
func (s Source) there(n *yaml.Node) bool {
	return same(text(n, "repoURL"), s.RepoURL) && (s.Path == "" || text(n, "path") == s.Path) && (s.Chart == "" || text(n, "chart") == s.Chart)
}

// same says whether two URLs are one repository's.
func same(a, b string) bool {
	one, errOne := gitops.NormalURL(a)
	other, errOther := gitops.NormalURL(b)
	return errOne == nil && errOther == nil && one == other
}

// into changes a source.
func (s Source) into(n *yaml.Node) error {
	for _, other := range []string{"helm", "chart", "kustomize", "directory", "plugin"} {
		helm := other == "helm" || other == "chart"
		if get(n, other) != nil && (s.helm() && !helm || s.kustomize() && other != "kustomize") {
			return fault.New(fault.Invalid, "the source has %s, so that what is said of another tool would change nothing", other)
		}
	}
	for _, one := range [][2]string{{"repoURL", s.RepoURL}, {"path", s.Path}, {"chart", s.Chart}, {"ref", s.Ref}, {"targetRevision", s.TargetRevision}} {
		if one[1] != "" && (one[0] != "repoURL" || !same(text(n, "repoURL"), one[1])) {
			put(n, one[0], scalar(one[1]))
		}
	}
	if s.helm() {
		helm := below(n, "helm")
		if len(s.ValueFiles) > 0 {
			files := &yaml.Node{Kind: yaml.SequenceNode}
			for _, f := range s.ValueFiles {
				files.Content = append(files.Content, scalar(f))
			}
			put(helm, "valueFiles", files)
		}
		for _, p := range s.Parameters {
			item(helm, "parameters", p.Name, "value", scalar(p.Value))
		}
		for _, p := range s.FileParameters {
			item(helm, "fileParameters", p.Name, "path", scalar(p.Path))
		}
	}
	if s.kustomize() {
		kustomize := below(n, "kustomize")
		for _, image := range s.Images {
			imaged(kustomize, image)
		}
		for _, r := range s.Replicas {
			item(kustomize, "replicas", r.Name, "count", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(r.Count, 10)})
		}
		if s.Namespace != "" {
			put(kustomize, "namespace", scalar(s.Namespace))
		}
	}
	return nil
}

// imaged puts an image in the place of the one with its name.
func imaged(kustomize *yaml.Node, image string) {
	list := listed(kustomize, "images")
	for _, old := range list.Content {
		if old.Kind == yaml.ScalarNode && imageName(old.Value) == imageName(image) {
			old.SetString(image)
			return
		}
	}
	list.Content = append(list.Content, scalar(image))
}

// imageName is the name by which Kustomize knows an image: what stands before = or, if
// there is none, before its tag or digest.
func imageName(image string) string {
	if name, _, ok := strings.Cut(image, "="); ok {
		image = name
	}
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// item sets a field of the item of a list that has a name, which is made if it isn't
// there.
func item(in *yaml.Node, key, name, field string, value *yaml.Node) {
	list := listed(in, key)
	for _, one := range list.Content {
		if text(one, "name") == name {
			put(one, field, value)
			return
		}
	}
	one := &yaml.Node{Kind: yaml.MappingNode}
	put(one, "name", scalar(name))
	put(one, field, value)
	list.Content = append(list.Content, one)
}

// get is the value of a key; nil: there is none.
func get(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if v := n.Content[i+1]; n.Content[i].Value == key && v.ShortTag() != "!!null" {
			return v
		}
	}
	return nil
}

func text(n *yaml.Node, key string) string {
	v := get(n, key)
	if v == nil || v.Kind != yaml.ScalarNode {
		return ""
	}
	return v.Value
}

// put sets a key.
func put(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != key {
			continue
		}
		if old := n.Content[i+1]; old.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode {
			if old.Value == value.Value && old.ShortTag() == value.ShortTag() {
				return // as it is written
			}
			value.LineComment, value.FootComment = old.LineComment, old.FootComment
		}
		n.Content[i+1] = value
		return
	}
	n.Content = append(n.Content, scalar(key), value)
}

// below is the mapping at a key, and listed the list at one; either is made if it
// isn't there.
func below(n *yaml.Node, key string) *yaml.Node  { return child(n, key, yaml.MappingNode) }
func listed(n *yaml.Node, key string) *yaml.Node { return child(n, key, yaml.SequenceNode) }

func child(n *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	if v := get(n, key); v != nil && v.Kind == kind {
		if len(v.Content) == 0 {
			v.Style = 0
		}
		return v
	}
	v := &yaml.Node{Kind: kind}
	put(n, key, v)
	return v
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}
