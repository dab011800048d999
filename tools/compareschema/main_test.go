package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The shape of Harness's schema with a few keys of our own making.
const pipeline = `{
  "properties": {"pipeline": {"$ref": "#/definitions/pipeline/pipeline"}},
  "definitions": {"pipeline": {
    "pipeline": {"type": "object", "properties": {
      "name": {"type": "string"}, "novelty": {"type": "string"},
      "stages": {"type": "array", "items": {"$ref": "#/definitions/pipeline/item"}}}},
    "item": {"properties": {"stage": {"oneOf": [
      {"properties": {"type": {"enum": ["Custom"]}, "tags": {}, "mood": {}}}]}}},
    "wait": {"properties": {"type": {"enum": ["Wait"]}, "failureStrategies": {}, "colour": {}},
      "allOf": [{"if": {"properties": {"type": {"const": "Wait"}}}, "then": {"properties": {"spec": {"$ref": "#/definitions/pipeline/waitInfo"}}}}]},
    "waitInfo": {"allOf": [{"properties": {"duration": {}, "patience": {}, "description": {}}}]}
  }}
}`

func TestKeysThatOnlyTheirsHas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "v0"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"pipeline": pipeline, "trigger": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, "v0", name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(&out, dir); err != nil {
		t.Fatal(err)
	}
	want := `Approval stage: stages[].stage.mood
Custom stage: stages[].stage.mood
Deployment stage: stages[].stage.mood
Wait: colour
Wait: spec.patience
pipeline: novelty
pipeline: stages[].stage.mood
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := run(&out, t.TempDir()); err == nil {
		t.Error("a folder without schemas is compared")
	}
}
