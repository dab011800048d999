package ecs

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/textdiff"
)

// maxDiff bounds what of a comparison becomes the output, in bytes.
const maxDiff = 64 << 10

// comparing is a task that tells what EcsRollingDeploy would change. Options of
// that step, such as which count counts, aren't known to it.
type comparing struct {
	*session
	text    strings.Builder
	changed []string
}

// compare compares what is there with what the documents say, and changes nothing.
func (s *comparing) compare(ctx context.Context) error {
	w, err := s.documents().wanted(ctx)
	if err != nil {
		return err
	}
	s.in(diffUnit)
	live, err := s.live(ctx, w.name)
	if err != nil {
		return err
	}
	if err := s.definitions(ctx, w, live); err != nil {
		return err
	}
	if err := s.services(w, live); err != nil {
		return err
	}
	if err := s.scalings(ctx, w); err != nil {
		return err
	}
	text := s.text.String()
	if len(text) > maxDiff {
		s.warn("only the first %d of %d bytes become the output", maxDiff, len(text))
		text = strings.ToValidUTF8(text[:maxDiff], "")
	}
	if text == "" {
		s.say("Nothing would change")
	}
	has := len(s.changed) > 0
	s.outputs.Diff, s.outputs.Changed, s.outputs.HasChanges = text, s.changed, &has
	return nil
}

// definitions compares the task definition that the service has with that of the
// documents, without what AWS adds to each.
func (s *comparing) definitions(ctx context.Context, w *wanted, live *types.Service) error {
	var was, is any
	name := "TaskDefinition/"
	if live != nil {
		d, err := s.described(ctx, sdk.ToString(live.TaskDefinition))
		if err != nil {
			return err
		}
		if d != nil {
			was = plain(reflect.ValueOf(usual(registered(d.TaskDefinition))))
		}
	}
	if w.definition == nil {
		d, err := s.described(ctx, s.spec.Target.TaskDefinitionARN)
		if err != nil {
			return err
		}
		if d == nil {
			return s.differs(name+s.spec.Target.TaskDefinitionARN, was, nil)
		}
		is = plain(reflect.ValueOf(usual(registered(d.TaskDefinition))))
		return s.differs(name+sdk.ToString(d.TaskDefinition.Family), was, is)
	}
	wanted := *w.definition
	wanted.Tags = nil
	is = plain(reflect.ValueOf(usual(wanted)))
	return s.differs(name+sdk.ToString(wanted.Family), was, is)
}

// services compares the service with its definition: what that doesn't say stays.
func (s *comparing) services(w *wanted, live *types.Service) error {
	name := "Service/" + w.name
	if live == nil {
		in := *w.create
		in.Tags = nil
		return s.differs(name, nil, plain(reflect.ValueOf(in)))
	}
	in := *s.wantedUpdate(w, live, "")
	in.TaskDefinition = nil // compared already
	is := plain(reflect.ValueOf(in))
	return s.differs(name, masked(plain(reflect.ValueOf(*snapshot(live))), is), is)
}

// scalings compares what scales the service with what would.
func (s *comparing) scalings(ctx context.Context, w *wanted) error {
	now, err := s.scalingOf(ctx, w.name)
	if err != nil {
		return err
	}
	then := w.scaling.of(s.cluster, w.name)
	is := plain(reflect.ValueOf(then))
	was := plain(reflect.ValueOf(now))
	if len(now.Targets) == len(then.Targets) && len(now.Policies) == len(then.Policies) {
		was = masked(was, is)
	}
	return s.differs("Scaling/"+w.name, was, is)
}

// differs notes how something would change; nil is nothing.
func (s *comparing) differs(name string, was, is any) error {
	before, err := indented(was)
	if err != nil {
		return err
	}
	after, err := indented(is)
	if err != nil {
		return err
	}
	hunks := textdiff.Unified(before, after)
	if hunks == "" {
		return nil
	}
	s.changed = append(s.changed, name)
	fmt.Fprintf(&s.text, "--- %s\n+++ %s\n%s", name, name, hunks)
	s.say("%s\n%s", name, hunks)
	return nil
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

// usual has what AWS takes for what isn't said.
func usual(d ecs.RegisterTaskDefinitionInput) ecs.RegisterTaskDefinitionInput {
	containers := make([]types.ContainerDefinition, len(d.ContainerDefinitions))
	for i, c := range d.ContainerDefinitions {
		if c.Essential == nil {
			c.Essential = sdk.Bool(true)
		}
		ports := make([]types.PortMapping, len(c.PortMappings))
		for k, m := range c.PortMappings {
			if m.Protocol == "" {
				m.Protocol = types.TransportProtocolTcp
			}
			if host := sdk.ToInt32(m.HostPort); host == 0 || host == sdk.ToInt32(m.ContainerPort) {
				m.HostPort = nil
			}
			ports[k] = m
		}
		c.PortMappings = ports
		containers[i] = c
	}
	d.ContainerDefinitions = containers
	return d
}

// plain is a value of the SDK as documents have it: names as AWS's documents spell
// them, without what is empty.
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

// masked is of a value what another one says anything of.
func masked(v, by any) any {
	switch by := by.(type) {
	case map[string]any:
		from, ok := v.(map[string]any)
		if !ok {
			return v
		}
		out := map[string]any{}
		for key, one := range by {
			if has, ok := from[key]; ok {
				out[key] = masked(has, one)
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
			out[i] = masked(from[i], by[i])
		}
		return out
	}
	return v
}
