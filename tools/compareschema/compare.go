package main

import (
	"fmt"
	"reflect"

	"github.com/slipway-cd/slipway/pkg/schema"
)

// comparison collects the keys that only theirs has.
type comparison struct {
	theirs *theirs
	lines  map[string]bool
	done   map[pair]bool
}

// pair is a comparison that was made, under a name.
type pair struct {
	owner  string
	theirs uintptr
	ours   *schema.Object
}

// noise are keys that their schema has in nearly every mapping for its own
// editor, without a meaning for a pipeline.
func noise(key string) bool { return key == "description" || key == "desc" || key == "metadata" }

// object compares a mapping of theirs with one of ours.
func (c *comparison) object(owner, path string, node map[string]any, ours *schema.Object) {
	if node == nil || ours == nil {
		return
	}
	p := pair{owner, reflect.ValueOf(c.theirs.deref(node)).Pointer(), ours}
	if c.done[p] {
		return
	}
	c.done[p] = true
	if len(ours.Cases) == 0 {
		c.keys(owner, path, "", node, ours, ours)
		return
	}
	for _, one := range ours.Cases {
		for _, word := range one.Words {
			name := owner
			if one.Key == "type" && isStage(one.Words) {
				name = word + " stage"
			}
			c.keys(name, path, word, node, one.Object, ours)
		}
	}
}

// isStage says whether the words are types of stages, which are owners of
// their own in the list.
func isStage(words []string) bool {
	for _, w := range words {
		if w == "Deployment" || w == "Approval" || w == "Custom" {
			return true
		}
	}
	return false
}

func (c *comparison) keys(owner, path, word string, node map[string]any, ours, general *schema.Object) {
	for key, nodes := range c.theirs.keys(node, word) {
		if general.Name == "stepItem" && key == "step" {
			continue // each step type is compared by itself
		}
		at := key
		if path != "" {
			at = path + "." + key
		}
		s := ours.Keys[key]
		if s == nil {
			s = general.Keys[key]
		}
		if s == nil {
			if !noise(key) {
				c.lines[fmt.Sprintf("%s: %s", owner, at)] = true
			}
			continue
		}
		for _, n := range nodes {
			c.shape(owner, at, n, s)
		}
	}
}

func (c *comparison) shape(owner, path string, node map[string]any, s *schema.Shape) {
	if s.Refused != "" {
		return
	}
	if s.Object != nil {
		if s.Object.Name == "stepItem" {
			owner, path = "steps", ""
		}
		for _, p := range c.theirs.parts(node, "") {
			if _, ok := p["properties"]; ok {
				c.object(owner, path, node, s.Object)
				break
			}
		}
	}
	if s.Item != nil {
		for _, item := range c.theirs.items(node) {
			c.shape(owner, path+"[]", item, s.Item)
		}
	}
}

// find is the first object with a name.
func find(o *schema.Object, name string) *schema.Object {
	seen := map[*schema.Object]bool{}
	var object func(*schema.Object) *schema.Object
	var shape func(*schema.Shape) *schema.Object
	shape = func(s *schema.Shape) *schema.Object {
		switch {
		case s == nil:
			return nil
		case s.Object != nil:
			return object(s.Object)
		}
		return shape(s.Item)
	}
	object = func(o *schema.Object) *schema.Object {
		if o.Name == name {
			return o
		}
		if seen[o] {
			return nil
		}
		seen[o] = true
		for _, s := range o.Keys {
			if found := shape(s); found != nil {
				return found
			}
		}
		for _, c := range o.Cases {
			if found := object(c.Object); found != nil {
				return found
			}
		}
		return nil
	}
	return object(o)
}
