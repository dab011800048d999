package main

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// listed are the objects of a list as kubectl and argocd write one, each as a
// document on the lines that it has in the list; false: the text is no such list.
// What the server says of an object is left out, as it is another each time.
func listed(text []byte) ([]yamldoc.Part, bool) {
	if !bytes.Contains(text, []byte("items")) || !bytes.Contains(text, []byte("List")) {
		return nil, false
	}
	var y yaml.Node
	if yaml.Unmarshal(text, &y) != nil || len(y.Content) != 1 {
		return nil, false // which is told where the document is read
	}
	items := valueOf(y.Content[0], "items")
	if kind := valueOf(y.Content[0], "kind"); kind == nil || !strings.HasSuffix(kind.Value, "List") || items == nil || items.Kind != yaml.SequenceNode {
		return nil, false
	}
	parts := make([]yamldoc.Part, 0, len(items.Content))
	for _, item := range items.Content {
		unserved(item)
		var b bytes.Buffer
		enc := yaml.NewEncoder(&b)
		enc.SetIndent(2)
		if enc.Encode(item) != nil {
			return nil, false
		}
		parts = append(parts, yamldoc.Part{Before: item.Line - 1, Text: b.Bytes()})
	}
	return parts, true
}

// valueOf is the value of a mapping's key; nil if there is none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// unserved takes out of an object what the server says of it. Keys of metadata stay, but
// empty, so that what follows keeps its lines.
func unserved(object *yaml.Node) {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Kind == yaml.MappingNode && object.Content[i].Value == "status" {
			object.Content = slices.Delete(object.Content, i, i+2)
			break
		}
	}
	for _, key := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"} {
		if n := valueOf(valueOf(object, "metadata"), key); n != nil && n.Kind == yaml.ScalarNode {
			n.SetString("")
		}
	}
}
