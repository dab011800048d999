package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/printable"
)

// people is where what people read goes: nothing in it does anything to their
// terminal. What programs read goes to out as it is.
func (a *app) people() io.Writer { return printable.Writer(a.out) }

// print shows v as JSON or YAML if that was asked for, else calls table.
func (a *app) print(v any, table func() error) error {
	switch a.output {
	case "table", "":
		return table()
	case "json":
		enc := json.NewEncoder(a.out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	case "yaml":
		return a.printYAML(v)
	}
	return a.checkOutput()
}

func (a *app) checkOutput() error {
	switch a.output {
	case "table", "", "json", "yaml":
		return nil
	}
	return fault.New(fault.Invalid, "the output %q isn't one of table, json and yaml", a.output)
}

// printYAML shows v with the keys of its JSON form.
func (a *app) printYAML(v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	var plain any
	if err := yaml.Unmarshal(doc, &plain); err != nil { // JSON is YAML; numbers stay as they are
		return fmt.Errorf("encode the answer: %w", err)
	}
	enc := yaml.NewEncoder(a.out)
	enc.SetIndent(2)
	defer enc.Close()
	return enc.Encode(plain)
}

// table shows rows below a header.
func (a *app) table(header string, rows [][]string) error {
	w := tabwriter.NewWriter(a.people(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(header, " ", "\t"))
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = printable.Line(cell) // a name must not make rows of its own
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
