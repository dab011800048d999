package manifest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATreeKeepsItsTypes(t *testing.T) {
	t.Parallel()
	want := Tree{
		"whole": int64(1000000), "float": float64(1000000), "large": int64(9007199254740993), "small": 0.1, "none": nil, "text": "<1>",
		"list": []any{int64(1), float64(1), map[string]any{"yes": true}}, "empty": map[string]any{}, "nothing": []any{},
	}
	doc, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Tree
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
