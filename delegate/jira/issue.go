package jira

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/restapi"
)

// issue is an issue as Jira gives it, with the names that people see.
type issue struct {
	Key    string
	ID     string
	Fields map[string]any
	Names  map[string]string // field id -> name
}

const (
	// maxText is how much of one field is kept, in bytes.
	maxText = 16 << 10
	// maxIssue is how large the fields may be together, as JSON.
	maxIssue = 160 << 10
)

// outputs are the fields by name, each as what people see of it: a name, a
// number or a list of them. Empty fields, comments, work logs and attachments
// are left out, and the longest texts of a very large issue.
func (i issue) outputs(link string) map[string]any {
	out := map[string]any{}
	// Custom fields come last: a system field keeps its name.
	ids := slices.SortedFunc(maps.Keys(i.Fields), func(a, b string) int {
		if ca, cb := custom(a), custom(b); ca != cb {
			return ca - cb
		}
		return strings.Compare(a, b)
	})
	for _, id := range ids {
		name := i.Names[id]
		if name == "" {
			name = id
		}
		if _, taken := out[name]; taken || id == "comment" || id == "worklog" || id == "attachment" {
			continue
		}
		if v := simple(i.Fields[id]); v != nil {
			out[name] = v
		}
	}
	fit(out)
	out["key"], out["id"], out["url"] = i.Key, i.ID, link
	return out
}

func custom(id string) int {
	if strings.HasPrefix(id, "customfield_") {
		return 1
	}
	return 0
}

// simple is what people see of a value.
func simple(v any) any {
	switch v := v.(type) {
	case string:
		return restapi.Cut(v, maxText)
	case []any:
		list := []any{}
		for _, item := range v {
			if s := simple(item); s != nil {
				list = append(list, s)
			}
		}
		if len(list) == 0 {
			return nil
		}
		return list
	case map[string]any:
		for _, key := range []string{"displayName", "name", "value", "key"} {
			text, ok := v[key].(string)
			if !ok {
				continue
			}
			if child, ok := v["child"].(map[string]any); ok { // a cascading select
				if sub, ok := child["value"].(string); ok {
					text += " - " + sub
				}
			}
			return text
		}
	}
	return v
}

// fit takes the largest fields away until the rest is small enough.
func fit(fields map[string]any) {
	sizes, total := map[string]int{}, 0
	for name, v := range fields {
		if doc, err := json.Marshal(v); err == nil {
			sizes[name] = len(name) + len(doc)
			total += sizes[name]
		}
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return sizes[b] - sizes[a] })
	for _, name := range names {
		if total <= maxIssue {
			return
		}
		delete(fields, name)
		total -= sizes[name]
	}
}
