package elastigroup

import (
	"cmp"
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsdiff"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
)

// comparing is a task that tells how the group that a step would make differs from the
// one whose place it takes.
type comparing struct {
	*session
	diff awsdiff.Diff
}

// compare compares what is there with what the configuration says, and changes
// nothing.
func (s *comparing) compare(ctx context.Context) error {
	want, err := s.wanted(ctx)
	if err != nil {
		return err
	}
	s.In(diffUnit)
	all, err := s.find(ctx)
	if err != nil {
		return err
	}
	name, size, old, err := s.instead(ctx, all, want)
	if err != nil {
		return err
	}
	is := plain(sized(want, name, size))
	delete(is, "name")
	var was any
	if old.ID != "" {
		s.Say("Elastigroup %s (%s) serves; the new one would be %s", old.Name, old.ID, name)
		if was, err = s.live(ctx, old.ID, is); err != nil {
			return err
		}
	}
	const kind = "Elastigroup/"
	hunks, err := s.diff.Beside(kind+name, kind+cmp.Or(old.Name, name), was, is)
	if err != nil {
		return err
	}
	if hunks == "" {
		s.Say("Nothing would change")
	} else {
		s.Say("%s\n%s", kind+name, hunks)
	}
	s.outputs.Outputs = s.diff.Outputs(s.Warn)
	return nil
}

// instead is what the group would be called, how large it would be, and the one that
// serves until then.
func (s *comparing) instead(ctx context.Context, all found, want document) (string, capacity, before, error) {
	if s.spec.Op == lane.OpDiff {
		p := phased{s.session}.following(all.numbered(s.spec.Name))
		return p.New, p.Size, p.Old, nil
	}
	g, err := bluegreen{session: s.session}.reached(ctx)
	if err != nil {
		return "", capacity{}, before{}, err
	}
	c, err := g.decide(ctx, all)
	if err != nil {
		return "", capacity{}, before{}, err
	}
	for _, id := range c.There {
		if one := all.by(id); one != nil && id != c.Old.ID {
			s.Say("Elastigroup %s (%s) would make room", one.Name, id)
		}
	}
	behind := c.groups()
	if c.Old.ID != "" { // which of two target groups a group is behind changes every time
		behind = c.behind(func(f front) string { return f.ProdGroup })
	}
	return c.stage(), c.Size, c.Old, put(want, behind)
}

// live is the group that serves, as far as the other one says anything.
func (s *comparing) live(ctx context.Context, id string, is document) (document, error) {
	all, err := items[document](ctx, s.client, http.MethodGet, "", nil)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(g document) bool { return g["id"] == id })
	if i < 0 {
		return document{}, nil // somebody has just deleted it
	}
	was, ok := awsdiff.Masked(plain(all[i]), is).(document)
	if !ok {
		return document{}, nil
	}
	return hidden(was, is), nil
}

// Members of a group whose values aren't shown as they are.
const (
	launching    = "launchSpecification"
	integrations = "thirdPartiesIntegration" // has tokens of other programs
)

// scripts are the members of a launch specification that are scripts, in base64.
func scripts() []string { return []string{"userData", "shutdownScript"} }

// plain is a group as people read it: what its machines do first and last is text, and without
// what Slipway itself notes on it.
func plain(g document) document {
	out := maps.Clone(g)
	compute, _ := out["compute"].(document)
	launch, ok := compute[launching].(document)
	if !ok {
		return out
	}
	launch = maps.Clone(launch)
	for _, name := range scripts() {
		if text, ok := launch[name].(string); ok {
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
				text = string(decoded)
			}
			launch[name] = lines(text)
		}
	}
	if tags, ok := launch["tags"].([]any); ok {
		tags = slices.DeleteFunc(slices.Clone(tags), func(t any) bool {
			one, ok := t.(document)
			key, _ := one["tagKey"].(string)
			return ok && aws.Own(key)
		})
		if launch["tags"] = tags; len(tags) == 0 {
			delete(launch, "tags")
		}
	}
	compute = maps.Clone(compute)
	compute[launching], out["compute"] = launch, compute
	return out
}

func lines(text string) []any {
	var out []any
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimSuffix(line, "\n"))
	}
	return out
}

// hidden is what there is without what may be a secret that nobody here knows: lines of
// a script that won't be there any more, and what other programs are reached by.
func hidden(was, is document) document {
	if !reflect.DeepEqual(was[integrations], is[integrations]) && was[integrations] != nil {
		was[integrations] = awsdiff.Unshown
	}
	for _, name := range scripts() {
		kept, old := script(is, name), script(was, name)
		for i, line := range old {
			if !slices.Contains(kept, line) {
				old[i] = awsdiff.Unshown
			}
		}
	}
	return was
}

// script is one of the scripts of a plain group.
func script(g document, name string) []any {
	compute, _ := g["compute"].(document)
	launch, _ := compute[launching].(document)
	found, _ := launch[name].([]any)
	return found
}
