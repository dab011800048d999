// Package gotemplate renders Go templates that other people wrote with the values
// of a service: Go's functions and sprig's, without those that read the delegate's
// environment or network (semantics/kubernetes §4.2).
//
// Where templates and values are from is delegate/manifest's, and what is made of
// the text is the caller's.
package gotemplate

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// verb is what a sandbox does of this package.
const verb = "template"

// Verbs are what this package has a sandbox do: render one template.
func Verbs() sandbox.Verbs {
	return sandbox.Verbs{verb: func(_ context.Context, c sandbox.Call) (any, error) {
		w, err := sandbox.Decode[work](c)
		if err != nil {
			return nil, err
		}
		return Execute(w.File, w.Values)
	}}
}

type work struct {
	File   manifest.File `json:"file"`
	Values manifest.Tree `json:"values"`
}

// Render renders a template in a sandbox that knows Verbs.
func Render(ctx context.Context, in *sandbox.Sandbox, f manifest.File, values map[string]any) (string, error) {
	var text string
	err := in.Run(ctx, sandbox.Work{Verb: verb, What: "rendering " + f.Name, Request: work{f, values}}, &text)
	return text, err
}

// Execute renders a template in this process, which must be a sandbox's: templates
// may take any time and memory. What isn't among the values is empty. An error names
// the file and the line.
func Execute(f manifest.File, values map[string]any) (string, error) {
	t, err := template.New(f.Name).Funcs(functions()).Parse(f.Text)
	if err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, map[string]any{"Values": values}); err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}
	return strings.ReplaceAll(b.String(), "<no value>", ""), nil
}

// functions are what templates may call.
func functions() template.FuncMap {
	f := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(f, name)
	}
	maps.Copy(f, template.FuncMap{"toYaml": manifest.Encode, "fromYaml": manifest.Decode})
	return f
}
