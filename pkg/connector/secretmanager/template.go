package secretmanager

import (
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Template is the body of a secret manager's template: a script, which sets the
// variable "secret", and where it runs. Its texts have their expressions.
type Template struct {
	Shell     yamldoc.Field[string]
	Script    yamldoc.Field[string] // that stands there
	File      yamldoc.Field[string] // or its file, in the template's scope
	Inputs    []Input
	Selectors yamldoc.Field[[]string]
	Host      Host
}

// Input is an input of the script, or a value for one.
type Input struct {
	Name, Type, Value yamldoc.Field[string]
	Default           yamldoc.Field[bool] // a secret may say another value
}

// Host is where the script runs.
type Host struct {
	OnDelegate yamldoc.Field[bool]
	Name       yamldoc.Field[string]
	Directory  yamldoc.Field[string]
	KeyRef     yamldoc.Field[string] // of a secret of type SSHKey
}

func decodeTemplate(d *connector.Decoder, v yamldoc.Value) *Template {
	t := &Template{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"onDelegate": d.Decided(&t.Host.OnDelegate),
		"executionTarget": func(v yamldoc.Value) {
			if !v.Null() {
				d.Fields(v, t.Host.keys(d))
			}
		},
		"shell":                d.Literal(&t.Shell, "Bash", "PowerShell"),
		"source":               filesource.ScriptSource(d.Decoder, d.Text(&t.Script), func(v yamldoc.Value) { t.file(d, v) }),
		"environmentVariables": inputs(d, &t.Inputs),
		"outputVariables":      d.Refuse("output variables of a secret manager's script aren't supported"),
		"delegateSelectors":    d.Words(&t.Selectors),
		"metadata":             document.Nothing,
	}))
	d.Need(v, "shell", "source")
	return t
}

// keys are those of another host than the delegate's.
func (h *Host) keys(d *connector.Decoder) document.Keys {
	return document.Keys{"host": d.Text(&h.Name), "workingDirectory": d.Text(&h.Directory), "connectorRef": d.Secret(&h.KeyRef)}
}

// file decodes the script's file in the file store. It is of the template's
// scope, whoever uses the secret: the script sees what logs in to the manager.
func (t *Template) file(d *connector.Decoder, v yamldoc.Value) {
	d.File(&t.File)(v)
	d.Plain(v, t.File.Expr, "a fixed path")
	f, err := ref.ParseFile(t.File.Value, d.Scope)
	if t.File.Expr == "" && err == nil && d.Own != nil && f.Scope == d.Scope {
		d.Own(v, f)
	}
}

// inputs decodes the inputs of a script, or values for them.
func inputs(d *connector.Decoder, list *[]Input) document.Rule {
	return func(v yamldoc.Value) {
		names := document.Seen{}
		for item := range d.Items(v) {
			var in Input
			d.Fields(item, document.Keys{
				"name":         func(v yamldoc.Value) { in.Name = d.Spelled(v, document.BadName, ref.CheckVariable) },
				"type":         d.Literal(&in.Type, "String", "Number", "Secret"),
				"value":        d.Text(&in.Value),
				"useAsDefault": d.Flag(&in.Default),
			})
			d.Need(item, "name", "type", "value")
			d.Unique(names, item, in.Name.Value)
			*list = append(*list, in)
		}
	}
}
