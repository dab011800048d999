package generate

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"strings"
	gotemplate "text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/gosimple/slug"
	"github.com/valyala/fasttemplate"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// notation is how templates name parameters: as {{key}}, or as Go's templates do.
type notation struct {
	golang  bool
	options []string
	parsed  map[string]*gotemplate.Template
}

func newNotation(golang bool, options []string) *notation {
	return &notation{golang: golang, options: options, parsed: map[string]*gotemplate.Template{}}
}

// fill puts parameters into a text.
func (n *notation) fill(text string, p Params) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	if !n.golang {
		return keys(text, p)
	}
	t, err := n.template(text)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, map[string]any(p)); err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}
	return b.String(), nil
}

func (n *notation) template(text string) (_ *gotemplate.Template, err error) {
	if t := n.parsed[text]; t != nil {
		return t, nil
	}
	for _, option := range n.options {
		if !isOption(option) {
			return nil, fault.New(fault.Invalid, "goTemplateOptions has %q; want missingkey=default, missingkey=invalid, missingkey=zero or missingkey=error", option)
		}
	}
	t, err := gotemplate.New("template").Funcs(functions()).Option(n.options...).Parse(text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	n.parsed[text] = t
	return t, nil
}

func isOption(option string) bool {
	word, ok := strings.CutPrefix(option, "missingkey=")
	return ok && (word == "default" || word == "invalid" || word == "zero" || word == "error")
}

// strict is the notation in which what isn't there is an error.
func (n *notation) strict() *notation {
	return newNotation(n.golang, []string{"missingkey=error"})
}

// keys puts parameters in place of {{key}}. What has no value stays.
func keys(text string, p Params) (string, error) {
	t, err := fasttemplate.NewTemplate(text, "{{", "}}")
	if err != nil {
		if !braces.MatchString(text) {
			return text, nil // as one that isn't a template
		}
		return "", fault.New(fault.Invalid, "%w", err)
	}
	return t.ExecuteFuncString(func(w io.Writer, tag string) (int, error) {
		value, ok := p[strings.TrimSpace(tag)].(string)
		if !ok {
			value = "{{" + tag + "}}"
		}
		return io.WriteString(w, value)
	}), nil
}

var braces = regexp.MustCompile(`\{\{.*}}`)

// functions are what Go's templates may call: sprig's, without those that read the
// agent's environment or network, and Argo CD's own.
func functions() gotemplate.FuncMap {
	f := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(f, name)
	}
	maps.Copy(f, gotemplate.FuncMap{
		"normalize": Normalized,
		"slugify":   slugify,
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"fromYaml": func(text string) (map[string]any, error) {
			out := map[string]any{}
			return out, yaml.Unmarshal([]byte(text), &out)
		},
		"fromYamlArray": func(text string) ([]any, error) {
			var out []any
			return out, yaml.Unmarshal([]byte(text), &out)
		},
	})
	return f
}

var notInNames = regexp.MustCompile(`[^-a-z0-9.]`)

// Normalized makes a name of a text that objects of Kubernetes may have.
func Normalized(text string) string {
	text = notInNames.ReplaceAllString(strings.ToLower(text), "-")
	return strings.Trim(text[:min(len(text), 253)], "-.")
}

// slugify is slugify NAME, slugify SIZE NAME and slugify SIZE SMART NAME: a text of
// at most SIZE letters, 50 if none is given, cut between words if it is SMART.
func slugify(args ...any) (string, error) {
	size, smart, name := 50, true, ""
	ok := len(args) > 0 && len(args) < 4
	if ok {
		name, ok = args[len(args)-1].(string)
	}
	if ok && len(args) > 1 {
		size, ok = args[0].(int)
	}
	if ok && len(args) > 2 {
		smart, ok = args[1].(bool)
	}
	if !ok || size < 0 {
		return "", fault.New(fault.Invalid, "slugify takes a size, whether it is smart, and a text; all but the text may be left out")
	}
	name = Normalized(name)
	if !smart && len(name) > size {
		name = name[:size]
	}
	return shortened(slug.Make(name), size), nil
}

// shortened cuts a slug between its words.
func shortened(text string, size int) string {
	if size == 0 || len(text) <= size {
		return text
	}
	if i := strings.LastIndexByte(text[:size+1], '-'); i >= 0 {
		return text[:i]
	}
	return text[:size]
}

// fill is a value with each of its texts, keys of mappings included, changed.
func fill[T any](from T, change func(string) (string, error)) (T, error) {
	var tree any
	var out T
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err == nil {
		tree, err = walk(tree, change)
	}
	if err == nil {
		text, err = json.Marshal(tree)
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return out, fault.New(fault.Invalid, "%w", err)
	}
	return out, nil
}

func walk(v any, change func(string) (string, error)) (_ any, err error) {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			if v[i], err = walk(v[i], change); err != nil {
				return nil, err
			}
		}
		return v, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, child := range v {
			if k, err = change(k); err != nil {
				return nil, err
			}
			if out[k], err = walk(child, change); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
