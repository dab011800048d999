// Package awsdiff tells how resources of AWS would change, as previews of
// deployments show it: what there is beside what documents want, both as AWS's
// documents spell them.
//
// What there is in an account may hold secrets that Slipway doesn't know: the old
// values of environment variables aren't shown.
package awsdiff

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/textdiff"
)

// maxText bounds what of a comparison becomes the output, in bytes.
const maxText = 64 << 10

// Diff is how some resources would change.
type Diff struct {
	text    strings.Builder
	changed []string
}

// Add notes how one would change; nil is nothing. It gives the difference, which
// is empty for none. Both are values of the SDK that Plain has made plain.
func (d *Diff) Add(name string, was, is any) (string, error) { return d.Beside(name, name, was, is) }

// Beside notes how one would differ from another that it takes the place of.
func (d *Diff) Beside(name, than string, was, is any) (string, error) {
	return d.note(name, than, hidden(was, is), is)
}

// Tell is Add for values of which is hidden already what isn't to be shown.
func (d *Diff) Tell(name string, was, is any) (string, error) { return d.note(name, name, was, is) }

func (d *Diff) note(name, than string, was, is any) (string, error) {
	before, err := indented(was)
	if err != nil {
		return "", err
	}
	after, err := indented(is)
	if err != nil {
		return "", err
	}
	hunks := textdiff.Unified(before, after)
	if hunks == "" {
		return "", nil
	}
	d.changed = append(d.changed, name)
	fmt.Fprintf(&d.text, "--- %s\n+++ %s\n%s", than, name, hunks)
	return hunks, nil
}

// Empty says that nothing would change so far.
func (d *Diff) Empty() bool { return len(d.changed) == 0 }

// Outputs are those of a step that compares.
type Outputs struct {
	Diff       string   `json:"diff,omitempty"`
	Changed    []string `json:"changed,omitempty"`
	HasChanges *bool    `json:"hasChanges,omitempty"`
}

// Outputs are what is told of all. warn says what was cut off.
func (d *Diff) Outputs(warn func(format string, args ...any)) Outputs {
	text, has := d.text.String(), !d.Empty()
	if len(text) > maxText {
		warn("only the first %d of %d bytes become the output", maxText, len(text))
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return Outputs{Diff: text, Changed: d.changed, HasChanges: &has}
}

func indented(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	doc, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write what is compared: %w", err)
	}
	return string(doc) + "\n", nil
}

// Unshown stands for a value that there is and that won't be.
const Unshown = "(another value, not shown)"

// hidden is what there is without the values of its environment variables that
// are others than those to come.
func hidden(was, is any) any {
	switch was := was.(type) {
	case map[string]any:
		other, _ := is.(map[string]any)
		out := make(map[string]any, len(was))
		for key, one := range was {
			if strings.EqualFold(key, "environment") {
				out[key] = hiddenValues(one, other[key])
			} else {
				out[key] = hidden(one, other[key])
			}
		}
		return out
	case []any:
		other, _ := is.([]any)
		out := make([]any, len(was))
		for i, one := range was {
			var beside any
			if i < len(other) {
				beside = other[i]
			}
			out[i] = hidden(one, beside)
		}
		return out
	}
	return was
}

// hiddenValues are the variables of a container, which are a list, or of a
// function, which are a mapping.
func hiddenValues(was, is any) any {
	kept := values(is)
	switch was := was.(type) {
	case []any:
		out := make([]any, len(was))
		for i, one := range was {
			v, ok := one.(map[string]any)
			if !ok {
				out[i] = Unshown
				continue
			}
			shown := map[string]any{"name": v["name"], "value": v["value"]}
			if kept[fmt.Sprint(v["name"])] != fmt.Sprint(v["value"]) {
				shown["value"] = Unshown
			}
			out[i] = shown
		}
		return out
	case map[string]any:
		shown := map[string]any{}
		for name, value := range values(was) {
			if shown[name] = value; kept[name] != value {
				shown[name] = Unshown
			}
		}
		return map[string]any{"variables": shown}
	}
	return was
}

// values are environment variables by their names.
func values(v any) map[string]string {
	out := map[string]string{}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if one, ok := one.(map[string]any); ok {
				out[fmt.Sprint(one["name"])] = fmt.Sprint(one["value"])
			}
		}
	case map[string]any:
		if all, ok := v["variables"].(map[string]string); ok {
			return all
		}
	}
	return out
}

// Plain is a value of the SDK as documents have it: names as AWS's documents spell
// them, without what is empty.
func Plain(v any) any { return plain(reflect.ValueOf(v)) }

// plain makes a value plain.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if e := v.Elem(); e.Kind() != reflect.Struct {
			return e.Interface() // one that is said is said, also if it is 0 or false
		}
		return plain(v.Elem())
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			return at.UTC().Format(time.RFC3339)
		}
		out := map[string]any{}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			if one := plain(v.Field(i)); one != nil {
				out[strings.ToLower(f.Name[:1])+f.Name[1:]] = one
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case reflect.Slice:
		var out []any
		for i := range v.Len() {
			out = append(out, plain(v.Index(i)))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case reflect.Map:
		if v.Len() == 0 {
			return nil
		}
		return v.Interface()
	default:
		if v.IsZero() {
			return nil
		}
		return v.Interface()
	}
}

// Masked is of a value what another one says anything of.
func Masked(v, by any) any {
	switch by := by.(type) {
	case map[string]any:
		from, ok := v.(map[string]any)
		if !ok {
			return v
		}
		out := map[string]any{}
		for key, one := range by {
			if has, ok := from[key]; ok {
				out[key] = Masked(has, one)
			}
		}
		return out
	case []any:
		from, ok := v.([]any)
		if !ok || len(from) != len(by) {
			return v
		}
		out := make([]any, len(by))
		for i := range by {
			out[i] = Masked(from[i], by[i])
		}
		return out
	}
	return v
}
