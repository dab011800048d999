package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/util/jsonpath"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/printable"
)

// output shows results as -o asks, and says what people should know besides.
type output struct {
	out, err io.Writer
	output   string // the flag
}

// people is where what people read goes: nothing in it does anything to their
// terminal. What programs read goes to out as it is.
func (o *output) people() io.Writer { return printable.Writer(o.out) }

// jsonPath begins an output that is a template of kubectl's, e.g. "jsonpath={[*].id}".
const jsonPath = "jsonpath="

// print shows v in the form that was asked for; table shows it to people.
func (o *output) print(v any, table func() error) error {
	switch {
	case o.outputIn("table", "wide", ""):
		return table()
	case o.output == "name":
		return o.printNames(v)
	case o.output == "json":
		enc := json.NewEncoder(o.out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	case o.output == "yaml":
		return o.printYAML(v)
	case strings.HasPrefix(o.output, jsonPath):
		return o.printPath(v, strings.TrimPrefix(o.output, jsonPath))
	}
	return o.checkOutput()
}

// outputIn says whether the output is one of some.
func (o *output) outputIn(some ...string) bool { return slices.Contains(some, o.output) }

// checkOutput says whether there is such an output.
func (o *output) checkOutput() error {
	if template, found := strings.CutPrefix(o.output, jsonPath); found {
		_, err := parsePath(template)
		return err
	}
	if o.outputIn("table", "wide", "name", "json", "yaml", "") {
		return nil
	}
	return fault.New(fault.Invalid, "the output %q isn't one of table, wide, name, json, yaml and jsonpath=TEMPLATE", o.output)
}

// parsePath reads a template as kubectl does: "{.a}", or ".a" alone.
func parsePath(template string) (*jsonpath.JSONPath, error) {
	if !strings.Contains(template, "{") {
		template = "{" + template + "}"
	}
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil || template == "{}" {
		return nil, fault.New(fault.Invalid, "the output's JSONPath template %q can't be read (%v); want one such as jsonpath={[*].id}", template, err)
	}
	return path, nil
}

// printPath shows what a template makes of v's JSON form, without a line's end
// of its own.
func (o *output) printPath(v any, template string) error {
	path, err := parsePath(template)
	if err != nil {
		return err
	}
	doc, err := plainOf(v)
	if err != nil {
		return err
	}
	if err := path.Execute(o.out, doc); err != nil {
		return fault.New(fault.Invalid, "the output's JSONPath template %q: %w", template, err)
	}
	return nil
}

// plainOf is a value's JSON form, as maps and lists.
func plainOf(v any) (any, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	var plain any
	if err := yaml.Unmarshal(doc, &plain); err != nil { // JSON is YAML; numbers stay as they are
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return plain, nil
}

// printYAML shows v with the keys of its JSON form.
func (o *output) printYAML(v any) error {
	plain, err := plainOf(v)
	if err != nil {
		return err
	}
	enc := yaml.NewEncoder(o.out)
	enc.SetIndent(2)
	defer enc.Close()
	return enc.Encode(plain)
}

// table shows rows below a header. Columns behind a "|" in the header are
// shown with -o wide alone.
func (o *output) table(header string, rows [][]string) error {
	usual, more, _ := strings.Cut(header, " | ")
	columns := strings.Fields(usual)
	if o.output == "wide" {
		columns = append(columns, strings.Fields(more)...)
	}
	w := tabwriter.NewWriter(o.people(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, r := range rows {
		cells := make([]string, len(columns))
		for i := range cells {
			cells[i] = printable.Line(r[i]) // a name must not make rows of its own
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// age is how long ago something was, e.g. "3m".
func age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return span(now.Sub(t))
}

// span is a duration in its two largest units, e.g. "1h04m".
func span(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}
