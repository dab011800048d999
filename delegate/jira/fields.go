package jira

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// field is what Jira says of a field that can be set.
type field struct {
	ID      string `json:"fieldId"`
	Key     string `json:"key"`
	Name    string `json:"name"`
	Schema  schema `json:"schema"`
	Allowed []struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Value    string `json:"value"`
		Children []struct {
			ID    string `json:"id"`
			Value string `json:"value"`
		} `json:"children"`
	} `json:"allowedValues"`
}

type schema struct {
	Type   string `json:"type"`
	Items  string `json:"items"`  // of an array
	Custom string `json:"custom"` // the kind of a custom field
}

// page is one part of a list. Data Center calls the list values, Cloud calls
// it by what is in it.
type page[T any] struct {
	Total      int
	Values     []T
	IssueTypes []T
	Fields     []T
}

// all reads every part of a list.
func all[T any](ctx context.Context, j *session, path string) ([]T, error) {
	var list []T
	for {
		var p page[T]
		query := url.Values{"startAt": {strconv.Itoa(len(list))}, "maxResults": {"200"}}
		if err := j.client.Get(ctx, path, query, &p); err != nil {
			return nil, err
		}
		part := slices.Concat(p.Values, p.IssueTypes, p.Fields)
		if list = append(list, part...); len(part) == 0 || len(list) >= p.Total {
			return list, nil
		}
	}
}

func metaPath(project string) string {
	return api + "/issue/createmeta/" + url.PathEscape(project) + "/issuetypes"
}

// issueType finds the id of an issue type by its name.
func (j *session) issueType(ctx context.Context, project, name string) (string, error) {
	type kind struct{ ID, Name string }
	list, err := all[kind](ctx, j, metaPath(project))
	if err != nil {
		return "", err
	}
	var names []string
	for _, k := range list {
		if strings.EqualFold(k.Name, name) {
			return k.ID, nil
		}
		names = append(names, k.Name)
	}
	return "", fault.New(fault.Invalid, "project %s has no issue type %q; it has %s", project, name, orNone(names))
}

// createFields lists the fields of new issues of a type.
func (j *session) createFields(ctx context.Context, project, kind string) ([]field, error) {
	return all[field](ctx, j, metaPath(project)+"/"+url.PathEscape(kind))
}

// editFields lists the fields of an issue that can be changed.
func (j *session) editFields(ctx context.Context, key string) ([]field, error) {
	var meta struct{ Fields map[string]field }
	if err := j.client.Get(ctx, issuePath(key)+"/editmeta", nil, &meta); err != nil {
		return nil, err
	}
	var list []field
	for id, f := range meta.Fields {
		f.ID = id
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b field) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// encode makes the fields of a request. Where says of what, for messages.
func encode(values []task.NamedValue, known []field, where string) (map[string]any, error) {
	out := map[string]any{}
	for _, v := range values {
		f, err := find(known, v.Name, where)
		if err != nil {
			return nil, err
		}
		if out[f.ID], err = f.encode(v.Value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// find finds a field by its id, or by its name where only one has it.
func find(known []field, name, where string) (field, error) {
	var found, names []string
	var last field
	for _, f := range known {
		if f.ID == "" {
			f.ID = f.Key // as Cloud had it at first
		}
		if f.ID == name {
			return f, nil
		}
		if strings.EqualFold(f.Name, name) {
			found, last = append(found, f.ID), f
		}
		names = append(names, f.Name)
	}
	switch len(found) {
	case 0:
		return field{}, fault.New(fault.Invalid, "%s have no field %q that can be set; there are %s", where, name, orNone(names))
	case 1:
		return last, nil
	}
	return field{}, fault.New(fault.Invalid, "%s have %d fields %q; say which by its id: %s", where, len(found), name, strings.Join(found, ", "))
}

// encode makes a field's value of a text, by the field's type.
func (f field) encode(text string) (any, error) {
	if f.Schema.Type != "array" {
		return f.one(f.Schema.Type, text)
	}
	list := []any{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		v, err := f.one(f.Schema.Items, part)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (f field) one(kind, text string) (any, error) {
	if strings.HasSuffix(f.Schema.Custom, ":gh-sprint") {
		kind = "sprint"
	}
	switch kind {
	case "string", "any", "date", "datetime":
		return text, nil
	case "number":
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return nil, fault.New(fault.Invalid, "field %q is %q; want a number", f.Name, text)
		}
		return json.Number(text), nil
	case "option", "priority", "resolution", "component", "version", "securitylevel", "group", "issuetype":
		return f.choice(kind, text)
	case "option-with-child":
		return f.cascade(text)
	case "project", "issuelink":
		return map[string]string{"key": text}, nil
	}
	return nil, fault.New(fault.Unsupported, "field %q is of type %s, which can't be set", f.Name, kind)
}

// choice is one of a field's allowed values, where Jira lists them.
func (f field) choice(kind, text string) (any, error) {
	var names []string
	for _, a := range f.Allowed {
		name := a.Value
		if name == "" {
			name = a.Name
		}
		if a.ID != "" && (name == text || a.ID == text) {
			return map[string]string{"id": a.ID}, nil
		}
		names = append(names, name)
	}
	if len(f.Allowed) > 0 {
		return nil, fault.New(fault.Invalid, "field %q is %q; want one of %s", f.Name, text, strings.Join(names, ", "))
	}
	if kind == "option" {
		return map[string]string{"value": text}, nil
	}
	return map[string]string{"name": text}, nil
}

// cascade is a value of a select within a select, "Europe - Berlin".
func (f field) cascade(text string) (any, error) {
	for _, a := range f.Allowed {
		if a.Value == text {
			return map[string]string{"id": a.ID}, nil
		}
		for _, c := range a.Children {
			if fmt.Sprintf("%s - %s", a.Value, c.Value) == text {
				return map[string]any{"id": a.ID, "child": map[string]string{"id": c.ID}}, nil
			}
		}
	}
	return nil, fault.New(fault.Invalid, "field %q is %q; want one of its values, or one with a dash and a value below it", f.Name, text)
}
