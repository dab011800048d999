package entity

import (
	"encoding/json"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// CustomSecretManager is the type of a connector to a secret manager of which a
// template says how its secrets are fetched.
const CustomSecretManager = "CustomSecretManager"

// The value types of a SecretText: the value itself, which Slipway keeps, what
// a manager calls the secret, and the inputs of a custom manager's template.
const (
	ValueInline    = "Inline"
	ValueReference = "Reference"
	ValueCustom    = "CustomSecretManagerValues"
)

func builtIn(manager string) bool {
	return strings.TrimPrefix(strings.TrimPrefix(manager, "account."), "org.") == builtInManager
}

// secretManager decodes who keeps a secret: Slipway itself keeps values, a
// connector anything else.
func (d *decoder) secretManager(v yamldoc.Value, valueType string) {
	f := d.String(v)
	d.Plain(v, f.Expr, "the identifier of a connector")
	switch own := builtIn(f.Value); {
	case f.Value == "":
	case own && (valueType == ValueCustom || valueType == ValueReference):
		d.Errorf(v, document.WrongValue, "%s keeps values itself; the value type %s is for connectors to other managers", builtInManager, valueType)
	case !own && valueType == ValueInline:
		d.Unsupported(v, "values that a manager besides %s keeps can't be written yet; want the value type %s or %s", builtInManager, ValueReference, ValueCustom)
	case !own:
		d.refer(ref.Connector, v, f.Value)
	}
}

// customValues checks the value of a secret of a custom manager, which isn't
// secret itself.
func (d *decoder) customValues(v yamldoc.Value) {
	if v.Null() || !v.Is(yamldoc.Scalar) {
		return
	}
	if _, err := CustomValues(v.Node.Value); err != nil {
		d.Errorf(v, document.WrongValue, "%s", err)
	}
}

// CustomValues reads the value of a secret of a custom manager: JSON with the
// values of its template's inputs, by name. Blank means none.
func CustomValues(text string) (map[string]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var doc struct {
		Variables []struct {
			Name  string `json:"name"`
			Value any    `json:"value"`
		} `json:"environmentVariables"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&doc) != nil {
		return nil, fault.New(fault.Invalid, `the value isn't JSON such as {"environmentVariables": [{"name": "path", "type": "String", "value": "a/b"}]}`)
	}
	out := map[string]string{}
	for _, v := range doc.Variables {
		switch value := v.Value.(type) {
		case string:
			out[v.Name] = value
		case json.Number:
			out[v.Name] = value.String()
		default:
			return nil, fault.New(fault.Invalid, "the value of the input %q is neither a text nor a number", v.Name)
		}
	}
	return out, nil
}

// managerTemplate decodes the body of a secret manager's template: a script,
// which sets the variable "secret", and where it runs.
func (d *decoder) managerTemplate(v yamldoc.Value) {
	var shell yamldoc.Field[string]
	var selectors yamldoc.Field[[]string]
	d.Fields(v, document.Merge(d.scriptHost(), d.unnamed(), document.Keys{
		"shell":                d.Literal(&shell, "Bash", "PowerShell"),
		"source":               d.managerScript,
		"environmentVariables": d.managerInputs(),
		"outputVariables":      d.Refuse("output variables of a secret manager's script aren't supported"),
		"delegateSelectors":    d.Words(&selectors),
		"metadata":             document.Nothing,
	}))
	d.Need(v, "shell", "source")
}

// scriptHost are the keys that say where a script runs.
func (d *decoder) scriptHost() document.Keys {
	var on yamldoc.Field[bool]
	return document.Keys{
		"onDelegate": d.Decided(&on),
		"executionTarget": func(v yamldoc.Value) {
			if !v.Null() {
				d.Fields(v, d.scriptTarget())
			}
		},
	}
}

func (d *decoder) scriptTarget() document.Keys {
	var host, directory, key yamldoc.Field[string]
	return document.Keys{"host": d.Text(&host), "workingDirectory": d.Text(&directory), "connectorRef": d.secretRef(&key)}
}

// managerScript decodes a script in the template, or in a file of the file
// store. The file is of the template's scope, whoever uses the secret: the
// script sees what logs in to the manager.
func (d *decoder) managerScript(v yamldoc.Value) {
	var kind, script, file yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"type": d.Literal(&kind, filesource.Inline, filesource.Harness),
		"spec": d.scriptIn(v, "script", d.Text(&script), "file", func(v yamldoc.Value) {
			d.File(&file)(v)
			d.Plain(v, file.Expr, "a fixed path")
			f, err := ref.ParseFile(file.Value, d.Scope)
			if file.Expr == "" && err == nil && d.shared() && f.Scope == d.Scope {
				d.stored = append(d.stored, FileReference{File: f, Text: file.Value, At: v.Pos(d.Report)})
			}
		}),
	})
	d.Need(v, "type", "spec")
}

// managerInputs decodes the inputs of a secret manager's script, or values for
// them.
func (d *decoder) managerInputs() func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		names := document.Seen{}
		for item := range d.Items(v) {
			var name, typ, value yamldoc.Field[string]
			var own yamldoc.Field[bool]
			d.Fields(item, document.Keys{
				"name":         func(v yamldoc.Value) { name = d.variableName(v) },
				"type":         d.Literal(&typ, "String", "Number", "Secret"),
				"value":        d.Text(&value),
				"useAsDefault": d.Flag(&own),
			})
			d.Need(item, "name", "type", "value")
			d.Unique(names, item, name.Value)
		}
	}
}

// customManager decodes a connector to a custom secret manager.
func (d *decoder) customManager(v yamldoc.Value, common document.Keys) {
	var timeout yamldoc.Field[int]
	var on, isDefault yamldoc.Field[bool]
	d.Fields(v, document.Merge(common, d.scriptTarget(), document.Keys{
		"template": d.customRef(&TemplateRef{}, document.Keys{"templateInputs": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"environmentVariables": d.managerInputs()})
		}}),
		"onDelegate": d.Decided(&on),
		"timeout":    d.Count(&timeout),
		"default":    d.Idle(everyManager, d.Flag(&isDefault)),
		"isDefault":  d.Idle(everyManager, d.Flag(&isDefault)),
	}))
	d.Need(v, "template")
}
