package servicenow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/task"
)

// record is a row of a table by column.
type record map[string]cell

// cell is a value, as it is stored and as people see it.
type cell struct {
	Value   string `json:"value"`
	Display string `json:"displayValue"`
}

// UnmarshalJSON decodes what sysparm_display_value=all gives. Some values have
// other types than text.
func (c *cell) UnmarshalJSON(data []byte) error {
	var both struct {
		Value   any `json:"value"`
		Display any `json:"display_value"`
	}
	if json.Unmarshal(data, &both) != nil || both.Value == nil && both.Display == nil {
		var plain any
		if err := json.Unmarshal(data, &plain); err != nil {
			return err
		}
		both.Value, both.Display = plain, plain
	}
	c.Value, c.Display = textOf(both.Value), textOf(both.Display)
	return nil
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil, map[string]any:
		return ""
	case string:
		return v
	}
	return fmt.Sprint(v)
}

const (
	// maxText is how much of one value is kept, in bytes.
	maxText = 8 << 10
	// maxRecord is how large the values may be together, in bytes.
	maxRecord = 160 << 10
)

// result gives the ticket as outputs. Empty values are left out, and the
// longest ones of a very large ticket.
func (r record) result(link string) (task.Result, error) {
	kept := record{}
	total := 0
	names := slices.SortedFunc(maps.Keys(r), func(a, b string) int { return len(r[a].Value) - len(r[b].Value) })
	for _, name := range names { // the shortest first
		c := cell{restapi.Cut(r[name].Value, maxText), restapi.Cut(r[name].Display, maxText)}
		total += len(name) + len(c.Value) + len(c.Display)
		if c != (cell{}) && total <= maxRecord {
			kept[name] = c
		}
	}
	doc, err := json.Marshal(map[string]any{"ticket": map[string]any{
		"ticketNumber": r["number"].Value, "ticketUrl": link, "fields": kept,
	}})
	if err != nil {
		return task.Result{}, fmt.Errorf("encode the outputs: %w", err)
	}
	return task.Result{Status: task.Succeeded, Outputs: doc}, nil
}
