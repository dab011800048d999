package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A folder holds documents of others beside Slipway's: manifests, values of
// charts, workflows of a code host. Those are told by their root key. Values of
// charts use the words of some root keys too, such as service, so what stands
// below the key must look like an entity.

// ours says whether a document is one of Slipway's, right or wrong.
func ours(doc *yamldoc.Node) bool {
	kinds := rootKeys()
	for _, e := range doc.Entries {
		if slices.Contains(kinds, e.Key) && describes(e.Value, len(doc.Entries) == 1) {
			return true
		}
	}
	version, kind := textOf(doc.Get("version")), textOf(doc.Get("kind"))
	return version == "1" && slices.Contains(kinds, kind) // a later version of Harness YAML, which is refused by name
}

// describes says whether what stands below a root key is an entity; alone says
// that the document has no other root key.
func describes(v *yamldoc.Node, alone bool) bool {
	has := func(key string) bool { return v.Get(key) != nil }
	if !alone {
		return has("identifier") || has("stages")
	}
	return v.Kind != yamldoc.Mapping || slices.ContainsFunc([]string{
		"identifier", "name", "stages", "orgIdentifier", "projectIdentifier", "environmentRef", "pipelineIdentifier",
		"serviceDefinition", "versionLabel",
	}, has)
}

func rootKeys() []string {
	keys := entity.OtherKinds()
	for _, k := range ref.Kinds() {
		keys = append(keys, string(k))
	}
	return keys
}

// looksOurs is ours for a text that is no YAML: whether one of its lines begins
// with a root key.
func looksOurs(text []byte) bool {
	return regexp.MustCompile(`(?m)^[\x{feff}{]?\s?["']?(?:` + strings.Join(rootKeys(), "|") + `)["']?\s*:`).Match(text)
}
