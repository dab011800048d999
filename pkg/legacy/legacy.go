// Package legacy rewrites pipelines of the form that Harness had before
// services and environments were documents: what a stage's serviceConfig and
// infrastructure say becomes a service, an environment and an infrastructure
// definition, and the stage names them.
//
// It moves what is written, with its comments. Whether the documents that come
// out are right is pkg/entity's to say.
package legacy

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Document is a document that came out.
type Document struct {
	Kind ref.Kind
	ID   string
	YAML []byte
}

// cannot is the code of a finding about what has no place in the new form, or
// only one that somebody must choose.
const cannot = "NOT_CONVERTED"

// Convert gives the documents that a pipeline of the old form becomes, the
// pipeline last; none if no stage is of that form. What can't be converted is
// an error in the report, and then nothing is given.
func Convert(text []byte, r *yamldoc.Report) ([]Document, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read the pipeline: %w", err)
	}
	if len(root.Content) != 1 {
		return nil, nil
	}
	body := get(root.Content[0], string(ref.Pipeline))
	c := &converter{report: r, pipeline: body, types: map[string]string{}}
	known := aliases(body) // before anything is moved
	c.stages(get(body, "stages"), "stages")
	id := textOf(get(body, "identifier"))
	if c.found {
		for _, a := range known {
			c.wrong(a, "", "found the alias *%s; write out what it stands for, which may end in another document", a.Value)
		}
		if err := ref.CheckID(ref.Pipeline, id); err != nil {
			c.wrong(body, "identifier", "%v", err)
		}
	}
	if r.Failed() || !c.found {
		return nil, nil
	}
	out, err := encode(&root)
	if err != nil {
		return nil, err
	}
	return append(c.out.Documents(), Document{Kind: ref.Pipeline, ID: id, YAML: out}), nil
}

// converter converts one pipeline.
type converter struct {
	report   *yamldoc.Report
	pipeline *yaml.Node
	found    bool              // a stage of the old form
	types    map[string]string // deployment types, by stage
	out      Set
}

func (c *converter) wrong(n *yaml.Node, path, format string, args ...any) {
	c.report.ErrorAt(yamldoc.Pos{File: c.report.File(), Line: n.Line, Column: n.Column, Path: path}, cannot, format, args...)
}

// aliases are the places where an anchor elsewhere stands for a value: the two
// might end in different documents.
func aliases(n *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	if n == nil {
		return nil
	}
	for _, part := range n.Content {
		if part.Kind == yaml.AliasNode {
			out = append(out, part)
			continue
		}
		out = append(out, aliases(part)...)
	}
	return out
}

// stages converts the stages of a list.
func (c *converter) stages(list *yaml.Node, path string) {
	if list == nil {
		return
	}
	for i, item := range list.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.stages(get(item, "parallel"), at+".parallel")
		if stage := get(item, "stage"); get(get(stage, "spec"), "serviceConfig") != nil || get(get(stage, "spec"), "infrastructure") != nil {
			c.found = true
			c.stage(stage, at+".stage")
		}
	}
}

// stage converts one stage: the keys of the new form stand where those of the
// old one did.
func (c *converter) stage(stage *yaml.Node, path string) {
	id, spec := textOf(get(stage, "identifier")), get(stage, "spec")
	at := path + ".spec"
	c.types[id] = textOf(get(spec, "deploymentType"))
	if config := get(spec, "serviceConfig"); config != nil {
		service, typ := c.service(config, id, at+".serviceConfig")
		c.types[id] = typ
		replace(spec, "serviceConfig", "service", service)
	}
	if infra := get(spec, "infrastructure"); infra != nil {
		replace(spec, "infrastructure", "environment", c.environment(infra, id, at+".infrastructure"))
	}
	if get(spec, "deploymentType") == nil && c.types[id] != "" {
		spec.Content = append([]*yaml.Node{word("deploymentType"), word(c.types[id])}, spec.Content...)
	}
}

// service makes a service of a serviceConfig, and says how the stage names it
// and what its deployment type is.
func (c *converter) service(config *yaml.Node, stage, path string) (*yaml.Node, string) {
	if from := get(config, "useFromStage"); from != nil {
		other := textOf(get(from, "stage"))
		if o := get(from, "overrides"); !neutral(o) {
			c.wrong(o, path+".useFromStage.overrides", "overrides of a service of another stage have no place in the new form; write a service of its own")
		}
		return mapping("useFromStage", mapping("stage", word(other))), c.types[other]
	}
	id := c.named(config, "serviceRef", "service", path)
	definition := get(config, "serviceDefinition")
	if definition == nil {
		c.wrong(config, path, "serviceDefinition is missing; there is nothing to make the service %s of", id)
		return mapping(), ""
	}
	for _, at := range []struct {
		in   *yaml.Node
		path string
		keys []string
	}{
		{config, path, []string{"stageOverrides"}},
		{get(definition, "spec"), path + ".serviceDefinition.spec", []string{"manifestOverrideSets", "artifactOverrideSets", "variableOverrideSets"}},
	} {
		for _, key := range at.keys {
			if n := take(at.in, key); !neutral(n) {
				c.wrong(n, at.path+"."+key, "%s have no place in the new form; overrides of an environment do the same", key)
			}
		}
	}
	uses := mapping("serviceRef", word(id))
	if asked := inputs(definition); asked != nil {
		add(uses, "serviceInputs", mapping("serviceDefinition", asked))
	}
	c.add(ref.Service, id, stage, c.about(get(config, "service"), id), "serviceDefinition", definition)
	return uses, textOf(get(definition, "type"))
}

// environment makes an environment and an infrastructure definition.
func (c *converter) environment(infra *yaml.Node, stage, path string) *yaml.Node {
	if from := get(infra, "useFromStage"); from != nil {
		return mapping("useFromStage", mapping("stage", word(textOf(get(from, "stage")))))
	}
	id := c.named(infra, "environmentRef", "environment", path)
	definition := get(infra, "infrastructureDefinition")
	if definition == nil {
		c.wrong(infra, path, "infrastructureDefinition is missing; there is nothing to make an infrastructure of")
		return mapping()
	}
	provisioner := take(definition, "provisioner")
	kind := "PreProduction"
	if said := textOf(get(get(infra, "environment"), "type")); said != "" {
		kind = said
	}
	c.add(ref.Environment, id, stage, c.about(get(infra, "environment"), id), "type", word(kind))
	name := stage + "_infra"
	if c.types[stage] == "" {
		c.wrong(infra, path, "the deployment type isn't known: neither serviceConfig nor the stage that it is taken from says one")
	}
	about := c.about(nil, name)
	add(about, "environmentRef", word(id))
	add(about, "deploymentType", word(c.types[stage]))
	uses := mapping("identifier", word(name))
	if asked := inputs(definition); asked != nil {
		add(uses, "inputs", asked)
	}
	about.Content = append(about.Content, definition.Content...)
	if n := get(infra, "allowSimultaneousDeployments"); n != nil {
		add(about, "allowSimultaneousDeployments", n)
	}
	c.add(ref.Infrastructure, name, stage, about)
	out := mapping("environmentRef", word(id), "infrastructureDefinitions", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{uses}})
	if !neutral(provisioner) {
		add(out, "provisioner", provisioner)
	}
	return out
}

// named is the identifier of a service or an environment: that of a reference,
// or of the one that is written out.
func (c *converter) named(n *yaml.Node, reference, inline, path string) string {
	at := get(n, reference)
	if at == nil {
		at = get(get(n, inline), "identifier")
	}
	id := textOf(at)
	switch {
	case id == "":
		c.wrong(n, path, "%s is missing; a document needs an identifier", reference)
	case strings.Contains(id, "<+"):
		c.wrong(at, path+"."+reference, "found %s; a document needs an identifier: write one there", id)
	}
	return id
}

// about are the keys that say who a document is, in the pipeline's scope or in
// the one that the identifier names.
func (c *converter) about(old *yaml.Node, id string) *yaml.Node {
	_, short, scoped := strings.Cut(id, ".")
	if !scoped {
		short = id
	}
	out := mapping("name", word(short), "identifier", word(short))
	if name := get(old, "name"); name != nil {
		out.Content[1] = name
	}
	for _, key := range []string{"orgIdentifier", "projectIdentifier"} {
		n := get(c.pipeline, key)
		if n != nil && !strings.HasPrefix(id, "account.") && (key == "orgIdentifier" || !strings.HasPrefix(id, "org.")) {
			add(out, key, word(n.Value))
		}
	}
	for _, key := range []string{"description", "tags"} {
		if n := get(old, key); !neutral(n) {
			add(out, key, n)
		}
	}
	return out
}

// add keeps a document with more keys. Of two with one name and the same text
// one is enough.
func (c *converter) add(kind ref.Kind, id, stage string, body *yaml.Node, more ...any) {
	if err := ref.CheckID(kind, id[strings.LastIndexByte(id, '.')+1:]); err != nil {
		if id != "" && !strings.Contains(id, "<+") { // which is told
			c.wrong(c.pipeline, "", "the %s of the stage %s: %v", kind, stage, err)
		}
		return
	}
	body.Content = append(body.Content, mapping(more...).Content...)
	text, err := encode(mapping(string(kind), body))
	if err != nil {
		c.wrong(c.pipeline, "", "%s %s can't be written: %v", kind, id, err)
		return
	}
	if other, ok := c.out.Add(Document{Kind: kind, ID: id, YAML: text}, stage); !ok {
		c.wrong(c.pipeline, "", "the stages %s and %s say different things of the %s %s; give one of them another identifier", other, stage, kind, id)
	}
}

func encode(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, fmt.Errorf("write a document: %w", err)
	}
	return b.Bytes(), nil
}
