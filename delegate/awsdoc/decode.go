package awsdoc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Rules are what is known of a kind of document besides the input of its call.
// Names are members at the top of the document, in any case.
type Rules struct {
	// What the document is called, e.g. "service definition".
	What string
	// Ours are members that Slipway sets itself. They are ignored, which is told.
	Ours []string
	// Described are members that only the answers of describing calls have, such
	// as serviceArn. They are dropped, which is told, because people paste them.
	Described []string
	// Wrapped is a member whose own members may stand at the top in its place: a
	// document without it is its value.
	Wrapped string
	// Answer is the member around what such an answer describes, such as services: a
	// document that has it is refused.
	Answer string
}

// One reads the only document of a kind.
func One[T any](files []File, r Rules) (*T, []string, error) {
	all, notes, err := All[T](files, r)
	if err != nil {
		return nil, notes, err
	}
	if len(all) != 1 {
		return nil, notes, wrong("the %s wants one document, found %d%s", r.What, len(all), named(files))
	}
	return all[0], notes, nil
}

func named(files []File) string {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return " in " + strings.Join(names, ", ")
}

// All reads the documents of a kind: each file may hold one, a list of them, or
// several YAML documents. notes say what was left out of them.
func All[T any](files []File, r Rules) (out []*T, notes []string, err error) {
	for _, f := range files {
		docs, err := Documents(f)
		if err != nil {
			return nil, notes, err
		}
		for _, doc := range docs {
			one, more, err := Decode[T](f, doc, r)
			notes = append(notes, more...)
			if err != nil {
				return nil, notes, err
			}
			out = append(out, one)
		}
	}
	return out, notes, nil
}

// Documents reads the documents of a file by the rules of YAML 1.2, of which JSON
// is nearly a part: what isn't, such as tabs, is read as JSON. Those of a list
// are documents themselves.
func Documents(f File) ([]*yamldoc.Node, error) {
	roots, report := yamldoc.Parse(f.Name, []byte(f.Text))
	if err := report.Err(); err != nil {
		doc := json.RawMessage(f.Text)
		if len(f.Text) > yamldoc.MaxBytes || !json.Valid(doc) {
			return nil, wrong("%s isn't YAML or JSON: %w", f.Name, err)
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(doc))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, wrong("%s: %w", f.Name, err)
		}
		roots = []*yamldoc.Node{yamldoc.FromAny(plain(v), 1, 1)}
	}
	var docs []*yamldoc.Node
	for _, root := range roots {
		switch root.Kind {
		case yamldoc.Null: // an empty document, such as before the first "---"
		case yamldoc.Sequence:
			docs = append(docs, root.Items...)
		case yamldoc.Mapping, yamldoc.Scalar:
			docs = append(docs, root)
		}
	}
	return docs, nil
}

// plain has numbers as they are written, which a tree of YAML has too.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			v[k] = plain(one)
		}
	case []any:
		for i, one := range v {
			v[i] = plain(one)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	}
	return v
}

func wrong(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.ConfigurationFailure)
}

// Decode makes the input of a call of a document.
func Decode[T any](f File, doc *yamldoc.Node, r Rules) (*T, []string, error) {
	if doc.Kind != yamldoc.Mapping {
		return nil, nil, wrong("%s:%d: found no mapping; want the members of a %s", f.Name, doc.Line, r.What)
	}
	if around := member(doc, r.Answer); r.Answer != "" && around != nil && around.Kind != yamldoc.Scalar {
		form := "member"
		if around.Kind == yamldoc.Sequence {
			form = "array"
		}
		return nil, nil, wrong("%s:%d: found the answer of a describing call; remove the %s %s around the %s, so that its members are at the top", f.Name, around.Line, r.Answer, form, r.What)
	}
	doc, notes := reduced(f, doc, r)
	if r.Wrapped != "" && len(doc.Entries) > 0 && member(doc, r.Wrapped) == nil {
		doc = &yamldoc.Node{Kind: yamldoc.Mapping, Line: doc.Line, Column: doc.Column, Entries: []yamldoc.Entry{{Key: r.Wrapped, Value: doc, Line: doc.Line}}}
	}
	v, err := value{file: f.Name}.of(doc, reflect.TypeFor[T](), "")
	if err != nil {
		return nil, notes, err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, notes, wrong("%s: %w", f.Name, err)
	}
	out := new(T)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return nil, notes, wrong("%s: %w", f.Name, err)
	}
	return out, notes, nil
}

// member is a member of a mapping by its name in any case.
func member(doc *yamldoc.Node, name string) *yamldoc.Node {
	for _, e := range doc.Entries {
		if strings.EqualFold(e.Key, name) {
			return e.Value
		}
	}
	return nil
}

// reduced is a document without the members that mean nothing in it.
func reduced(f File, doc *yamldoc.Node, r Rules) (*yamldoc.Node, []string) {
	out, notes := *doc, []string(nil)
	has := func(list []string, key string) bool {
		return slices.ContainsFunc(list, func(name string) bool { return strings.EqualFold(name, key) })
	}
	out.Entries = slices.DeleteFunc(slices.Clone(doc.Entries), func(e yamldoc.Entry) bool {
		switch {
		case has(r.Ours, e.Key):
			notes = append(notes, fmt.Sprintf("%s: %s is ignored: Slipway sets it itself", f.Name, e.Key))
		case has(r.Described, e.Key):
			notes = append(notes, fmt.Sprintf("%s: %s is left out: it is told of a %s, not set", f.Name, e.Key, r.What))
		default:
			return false
		}
		return true
	})
	return &out, notes
}

// value makes what encoding/json reads into a type of a document's node, and
// says of what it can't where it stands.
type value struct{ file string }

func (d value) wrong(n *yamldoc.Node, path, format string, args ...any) error {
	if path == "" {
		path = "the document"
	}
	return wrong("%s:%d: %s: %s", d.file, n.Line, path, fmt.Sprintf(format, args...))
}

// of makes the value of a type; nil for nothing.
func (d value) of(n *yamldoc.Node, t reflect.Type, path string) (any, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n == nil || n.Kind == yamldoc.Null {
		return nil, nil
	}
	if t == reflect.TypeFor[time.Time]() {
		return d.time(n, path)
	}
	switch t.Kind() {
	case reflect.Struct:
		return d.structure(n, t, path)
	case reflect.Map:
		return d.mapping(n, t, path)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return d.bytes(n, path)
		}
		return d.list(n, t, path)
	case reflect.Interface:
		return nil, d.wrong(n, path, "can't be given in a file")
	default:
		return d.scalar(n, t, path)
	}
}

func (d value) structure(n *yamldoc.Node, t reflect.Type, path string) (any, error) {
	if n.Kind != yamldoc.Mapping {
		return nil, d.wrong(n, path, "found %s; want a mapping", kind(n))
	}
	out, first := map[string]any{}, map[string]int{}
	for _, e := range n.Entries {
		at := below(path, e.Key)
		field, err := d.field(e, t, at)
		if err != nil {
			return nil, err
		}
		v, err := d.of(e.Value, field.Type, at)
		if err != nil {
			return nil, err
		}
		if line, twice := first[field.Name]; twice {
			return nil, wrong("%s:%d: %s: found twice; the first is in line %d", d.file, e.Line, at, line)
		}
		first[field.Name] = e.Line
		if v != nil {
			out[field.Name] = v
		}
	}
	return out, nil
}

// fewMembers are as many as are told of where none is like what was found.
const fewMembers = 6

// field finds the member of a type that a key means, in any case.
func (d value) field(e yamldoc.Entry, t reflect.Type, path string) (reflect.StructField, error) {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		if strings.EqualFold(f.Name, e.Key) {
			return f, nil
		}
		names = append(names, f.Name)
	}
	hint := ""
	if near := yamldoc.Nearest(e.Key, names); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", like(near, e.Key))
	} else if len(names) <= fewMembers {
		for i := range names {
			names[i] = like(names[i], e.Key)
		}
		hint = "; want " + strings.Join(names, ", ")
	}
	return reflect.StructField{}, wrong("%s:%d: %s: AWS knows no such member%s", d.file, e.Line, path, hint)
}

// like is a name with its first letter in the case of another's.
func like(name, other string) string {
	if other != "" && strings.ToLower(other[:1]) == other[:1] {
		return strings.ToLower(name[:1]) + name[1:]
	}
	return name
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d value) mapping(n *yamldoc.Node, t reflect.Type, path string) (any, error) {
	if n.Kind != yamldoc.Mapping {
		return nil, d.wrong(n, path, "found %s; want a mapping", kind(n))
	}
	out := map[string]any{}
	for _, e := range n.Entries {
		v, err := d.of(e.Value, t.Elem(), below(path, e.Key))
		if err != nil {
			return nil, err
		}
		if v != nil {
			out[e.Key] = v
		}
	}
	return out, nil
}

func (d value) list(n *yamldoc.Node, t reflect.Type, path string) (any, error) {
	if n.Kind != yamldoc.Sequence {
		return nil, d.wrong(n, path, "found %s; want a list", kind(n))
	}
	out := []any{}
	for i, item := range n.Items {
		v, err := d.of(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, v)
		}
	}
	return out, nil
}

// scalar makes a scalar of the kind that a type has, whatever kind it was
// written as: a task's cpu is a text, and people write a number.
func (d value) scalar(n *yamldoc.Node, t reflect.Type, path string) (any, error) {
	if n.Kind != yamldoc.Scalar {
		return nil, d.wrong(n, path, "found %s; want a single value", kind(n))
	}
	text := strings.TrimSpace(n.Value)
	switch t.Kind() {
	case reflect.String:
		return n.Value, nil
	case reflect.Bool:
		if b, err := strconv.ParseBool(strings.ToLower(text)); err == nil && len(text) > 1 {
			return b, nil
		}
		return nil, d.wrong(n, path, "found %q; want true or false", n.Value)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i, err := strconv.ParseInt(text, 10, t.Bits()); err == nil {
			return i, nil
		}
		if i, err := strconv.ParseInt(text, 0, t.Bits()); err == nil && n.Tag == yamldoc.Int { // 0x and 0o
			return i, nil
		}
		return nil, d.wrong(n, path, "found %q; want a whole number of %d bits", n.Value, t.Bits())
	case reflect.Float32, reflect.Float64:
		if f, err := strconv.ParseFloat(text, t.Bits()); err == nil {
			if _, err := json.Marshal(f); err == nil { // which infinities aren't
				return f, nil
			}
		}
		return nil, d.wrong(n, path, "found %q; want a number", n.Value)
	default:
		return nil, d.wrong(n, path, "can't be given in a file")
	}
}

// bytes are binary members, in base64 as AWS's own tools take them.
func (d value) bytes(n *yamldoc.Node, path string) (any, error) {
	if n.Kind != yamldoc.Scalar {
		return nil, d.wrong(n, path, "found %s; want bytes in base64", kind(n))
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
	if err != nil {
		return nil, d.wrong(n, path, "isn't base64")
	}
	return data, nil
}

func (d value) time(n *yamldoc.Node, path string) (any, error) {
	if n.Kind != yamldoc.Scalar {
		return nil, d.wrong(n, path, "found %s; want a time", kind(n))
	}
	at, err := time.Parse(time.RFC3339, n.Value)
	if err != nil {
		return nil, d.wrong(n, path, "found %q; want a time such as 2026-01-31T12:00:00Z", n.Value)
	}
	if _, err := at.MarshalJSON(); err != nil {
		return nil, d.wrong(n, path, "found %q; want a time within four digits of years", n.Value)
	}
	return at, nil
}

func kind(n *yamldoc.Node) string {
	switch n.Kind {
	case yamldoc.Mapping:
		return "a mapping"
	case yamldoc.Sequence:
		return "a list"
	case yamldoc.Scalar:
		return "a single value"
	case yamldoc.Null:
	}
	return "nothing"
}
