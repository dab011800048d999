package main

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// printNames shows what v lists as KIND/ID, one a line, as other commands take
// them.
func (o *output) printNames(v any) error {
	names, ok := namesOf(v)
	if !ok {
		return fault.New(fault.Invalid, "this command's answer has no names; want the output table, json, yaml or jsonpath=TEMPLATE")
	}
	for _, n := range names {
		fmt.Fprintln(o.people(), n)
	}
	return nil
}

// namesOf are the names of what an answer lists, if it lists what has names.
func namesOf(v any) ([]string, bool) {
	switch v := v.(type) {
	case api.Entity:
		return []string{entityName(v)}, true
	case []api.Entity:
		return each(v, entityName), true
	case []api.SavedEntity:
		return each(v, func(e api.SavedEntity) string { return nameOf(e.EntityKey) }), true
	case api.Execution:
		return []string{executionName(v)}, true
	case api.ExecutionTree:
		return []string{executionName(v.Execution)}, true
	case []api.Execution:
		return each(v, executionName), true
	case []api.Delegate:
		return each(v, func(d api.Delegate) string { return "delegate/" + d.Name }), true
	case []api.Provisioner:
		return each(v, func(p api.Provisioner) string { return "provisioner/" + provisionerName(p) }), true
	case []api.Token:
		return each(v, func(t api.Token) string { return "token/" + t.ID }), true
	}
	return nil, false
}

func each[T any](all []T, name func(T) string) []string {
	var names []string
	for _, v := range all {
		names = append(names, name(v))
	}
	return names
}

func entityName(e api.Entity) string { return nameOf(e.EntityKey) }

// nameOf names an entity, e.g. "infrastructureDefinition/dev/cluster".
func nameOf(k api.EntityKey) string { return string(k.Kind) + "/" + shownID(k) }

// shownID is an entity's ID behind that of its parent, as commands take it.
func shownID(k api.EntityKey) string {
	if k.Env != "" {
		return k.Env + "/" + k.ID
	}
	return k.ID
}

func executionName(e api.Execution) string { return "execution/" + e.ID }
