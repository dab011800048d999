package artifact

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// AMI is a machine image of the connector's account. Its version is its name,
// which no other image of the account has in a region; what is launched is known
// by its id, and only AWS knows that.
type AMI struct {
	Base
	Region        yamldoc.Field[string]
	Tags, Filters []NamedValue
}

// NamedValue is what an image must have: a tag, or what a filter of EC2 is about.
type NamedValue struct{ Name, Value yamldoc.Field[string] }

func decodeAMI(d *Decoder, v yamldoc.Value) Source {
	s := &AMI{Base: Base{FixedKey: "version", PatternKey: "versionRegex"}}
	s.decode(d, v, form{need: []string{"region"}}, document.Keys{
		"region":  d.Text(&s.Region),
		"tags":    func(v yamldoc.Value) { s.Tags = NamedValues(d.Decoder, v, ImageTag, d.Text) },
		"filters": func(v yamldoc.Value) { s.Filters = NamedValues(d.Decoder, v, ImageFilter, d.Text) },
	})
	return s
}

// NamedValues reads a list of tags or filters; filter is what each is to EC2, and
// text how its parts are read.
func NamedValues(
	d *document.Decoder, v yamldoc.Value, filter func(name string) string, text func(*yamldoc.Field[string]) document.Rule,
) []NamedValue {
	var out []NamedValue
	names := document.Seen{}
	for item := range d.Items(v) {
		var one NamedValue
		d.Fields(item, document.Keys{
			"name": func(v yamldoc.Value) {
				text(&one.Name)(v)
				if one.Name.Value != "" && filter(one.Name.Value) == "state" {
					d.Errorf(v, document.WrongValue, "found %q; want another filter: only images that are available are looked at", one.Name.Value)
				}
			},
			"value": text(&one.Value),
		})
		d.Need(item, "name", "value")
		if one.Name.Value != "" {
			d.Unique(names, item, filter(one.Name.Value))
		}
		out = append(out, one)
	}
	return out
}

// ImageTag is the filter of EC2 that a tag is.
func ImageTag(name string) string { return "tag:" + name }

// ImageFilter is a filter as EC2 names it. Harness has another name for some,
// with ami- before it (semantics/entities §2.2).
func ImageFilter(name string) string { return strings.TrimPrefix(name, "ami-") }

// Filtered is what EC2 is asked for, by tags and by filters.
func Filtered(tags, filters []NamedValue) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		out[ImageTag(t.Name.Value)] = t.Value.Value
	}
	for _, f := range filters {
		out[ImageFilter(f.Name.Value)] = f.Value.Value
	}
	return out
}

// LookedUp says that a delegate must ask: AWS alone knows the id of a name.
func (s *AMI) LookedUp() bool { return true }

// Ask fills in the images.
func (s *AMI) Ask(_ Reach, c connector.Connector, a *Asked) error {
	account, err := c.AWS(s.Region.Value)
	a.AMI = &lookup.MachineImages{AWS: account, Filters: Filtered(s.Tags, s.Filters)}
	a.Name = "AMI in " + s.Region.Value
	return err
}
