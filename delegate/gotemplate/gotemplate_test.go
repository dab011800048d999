package gotemplate_test

import (
	"os"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/gotemplate"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func TestMain(m *testing.M) {
	sandbox.Answer(gotemplate.Verbs())
	os.Exit(m.Run())
}

// A template is rendered in another process as in this one, and what is wrong with
// it is told with the file and the line.
func TestRender(t *testing.T) {
	t.Parallel()
	in := sandbox.New(256 << 20)
	t.Cleanup(in.Close)
	values, err := manifest.Decode("{runtime: go, memory: 128, share: 2.0, tags: {a: b}, none: null}")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text, want string
		code             fault.Code // of what is wrong
	}{
		{"values", "runtime: {{ .Values.runtime }}\nmemory: {{ .Values.memory }}\nshare: {{ .Values.share }}\n", "runtime: go\nmemory: 128\nshare: 2\n", ""},
		{"functions", `{{ .Values.runtime | upper | quote }} {{ toYaml .Values.tags }} {{ (fromYaml "x: 1").x }}`, `"GO" a: b 1`, ""},
		{"what isn't there", "a{{ .Values.other }}b{{ .Values.none }}c", "abc", ""},
		{"no template", "Resources: {}\n", "Resources: {}\n", ""},
		{"the delegate's environment", "\n\n{{ env \"HOME\" }}", `app/template.yaml:3: function "env" not defined`, fault.Invalid},
		{"an end that is missing", "a\n{{ if .Values.runtime }}\nb", "app/template.yaml:3: unexpected EOF", fault.Invalid},
		{"what fails", "a\n{{ fail \"no runtime\" }}", "app/template.yaml:2:3: executing", fault.Invalid},
		{"too much", "{{ range until 1000000000 }}x{{ end }}", "rendering app/template.yaml took more than 256 MiB of memory", fault.TooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := gotemplate.Render(t.Context(), in, manifest.File{Name: "app/template.yaml", Text: c.text}, values)
			if c.code != "" {
				if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%q, %v; want %s: %s", got, err, c.code, c.want)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}
