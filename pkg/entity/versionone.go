package entity

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// versionOne finds what only version 1 of Harness YAML has: the version itself,
// keys of a pipeline that has no identifier, or a stage that stands in the list
// of stages without its key.
func versionOne(doc *yamldoc.Node) (yamldoc.Value, bool) {
	if version := doc.Get("version"); version != nil && version.Value == "1" {
		return yamldoc.Sub(version, "version"), true
	}
	pipeline := doc.Get(string(ref.Pipeline))
	if pipeline.Get("identifier") == nil {
		for _, key := range []string{"on", "clone", "repo", "inputs"} {
			if n := pipeline.Get(key); n != nil {
				return yamldoc.Sub(n, key), true
			}
		}
	}
	return bareStage(pipeline.Get("stages"), "stages")
}

func bareStage(list *yamldoc.Node, path string) (yamldoc.Value, bool) {
	if list == nil || list.Kind != yamldoc.Sequence {
		return yamldoc.Value{}, false
	}
	for i, item := range list.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		for _, key := range []string{"steps", "group"} {
			if item.Get(key) != nil && item.Get("stage") == nil && item.Get("parallel") == nil && item.Get("insert") == nil {
				return yamldoc.Sub(item, at+"."+key), true
			}
		}
	}
	return yamldoc.Value{}, false
}
