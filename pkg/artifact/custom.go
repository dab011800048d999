package artifact

import (
	"regexp"
	"time"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Custom is a script that tells which versions there are. Without one the
// version is all that is known.
type Custom struct {
	Base
	Selectors    yamldoc.Field[[]string]
	Timeout      yamldoc.Field[time.Duration]
	Inputs       *yamldoc.Node // are the script's environment
	Asks         bool          // there is a script
	Shell        yamldoc.Field[string]
	Script, File yamldoc.Field[string] // that stands there, or a file of the file store
	Array        yamldoc.Field[string] // where in the answer the versions are
	Path         yamldoc.Field[string] // of the version in each
	Attributes   []Attribute
}

// Attribute is what <+artifact.metadata.NAME> gives: the value at a JSON path.
type Attribute struct{ Name, Value yamldoc.Field[string] }

func decodeCustom(d *Decoder, v yamldoc.Value) Source {
	s := &Custom{Base: Base{FixedKey: "version", PatternKey: "versionRegex"}}
	s.decode(d, v, form{alone: true}, document.Keys{
		"delegateSelectors": d.Words(&s.Selectors),
		"timeout":           d.Time(&s.Timeout),
		"inputs":            d.Inputs(&s.Inputs),
		"scripts": func(v yamldoc.Value) {
			s.Asks = true
			d.Fields(v, document.Keys{"fetchAllArtifacts": func(v yamldoc.Value) { s.fetch(d, v) }})
			d.Need(v, "fetchAllArtifacts")
		},
	})
	return s
}

func (s *Custom) fetch(d *Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"spec":               func(v yamldoc.Value) { s.script(d, v) },
		"artifactsArrayPath": d.Text(&s.Array),
		"versionPath":        d.Text(&s.Path),
		"attributes":         func(v yamldoc.Value) { s.attributes(d, v) },
	})
	d.Need(v, "spec", "artifactsArrayPath", "versionPath")
}

func (s *Custom) script(d *Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"shell":  d.Literal(&s.Shell, "Bash", "PowerShell"),
		"source": filesource.ScriptSource(d.Decoder, d.Text(&s.Script), d.File(&s.File)),
	})
	d.Need(v, "shell", "source")
}

var attributeName = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_]*$`)

func (s *Custom) attributes(d *Decoder, v yamldoc.Value) {
	names := document.Seen{}
	for item := range d.Items(v) {
		var a Attribute
		d.Fields(item, document.Keys{
			"name":  d.Text(&a.Name),
			"type":  d.Literal(new(yamldoc.Field[string]), "String", "Number"),
			"value": d.Text(&a.Value),
		})
		d.Need(item, "name", "value")
		d.Unique(names, item, a.Name.Value)
		if a.Name.Value != "" && !attributeName.MatchString(a.Name.Value) {
			d.Errorf(document.Child(item, "name"), document.BadName, "%q is wrong: it may have letters, digits and _", a.Name.Value)
		}
		s.Attributes = append(s.Attributes, a)
	}
}

// LookedUp says whether there is a script.
func (s *Custom) LookedUp() bool { return s.Asks }

// Ask fills in the script.
func (s *Custom) Ask(r Reach, _ connector.Connector, a *Asked) error {
	a.Name, a.Timeout = "the custom artifact", s.Timeout.Value
	if !s.Asks {
		return nil
	}
	var err error
	if a.Selectors, err = r.Selectors(s.Selectors.Value); err != nil {
		return err
	}
	script := s.Script.Value
	if s.File.Value != "" {
		if script, err = r.File(s.File.Value); err != nil {
			return err
		}
	}
	env, err := r.Inputs(s.Inputs)
	if err != nil {
		return err
	}
	a.Custom = &lookup.Custom{
		Array: s.Array.Value, Version: s.Path.Value, Attributes: map[string]string{},
		Script: task.Shell{Shell: s.Shell.Value, Script: script, Env: env},
	}
	for _, at := range s.Attributes {
		a.Custom.Attributes[at.Name.Value] = at.Value.Value
	}
	return nil
}
