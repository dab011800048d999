package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// printFindings shows what is wrong with documents in a format; none means
// that of --output.
func (o *output) printFindings(wrong []fault.Detail, documents int, format string) error {
	text := func() error {
		for _, f := range wrong {
			fmt.Fprintln(o.people(), finding(f))
		}
		errors, warnings := count(wrong)
		fmt.Fprintf(o.people(), "%s in %s, %s\n", plural(errors, "error"), plural(documents, "document"), plural(warnings, "warning"))
		return nil
	}
	switch format {
	case "":
		return o.print(wrong, text)
	case "text":
		return text()
	case "json":
		return o.printJSON(wrong)
	case "sarif":
		return o.printJSON(sarifOf(wrong))
	}
	return fault.New(fault.Invalid, "the format %q isn't one of text, json and sarif", format)
}

func (o *output) printJSON(v any) error {
	enc := json.NewEncoder(o.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// sortFindings puts findings in the order of their places.
func sortFindings(all []fault.Detail) {
	slices.SortStableFunc(all, func(a, b fault.Detail) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

func count(all []fault.Detail) (errors, warnings int) {
	for _, f := range all {
		if f.Severity == "warning" {
			warnings++
		} else {
			errors++
		}
	}
	return errors, warnings
}

// plural is e.g. "1 error" or "2 errors".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// sarifLog is a report in the Static Analysis Results Interchange Format
// 2.1.0, as far as code hosts read it.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID string `json:"id"`
}

type sarifResult struct {
	Rule      string          `json:"ruleId"`
	Level     string          `json:"level"` // error or warning
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical sarifPlace `json:"physicalLocation"`
}

type sarifPlace struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn,omitempty"`
}

func sarifOf(wrong []fault.Detail) sarifLog {
	driver := sarifDriver{Name: "slipway lint", Version: currentVersion(), Rules: []sarifRule{}}
	results := make([]sarifResult, 0, len(wrong))
	for _, f := range wrong {
		if rule := (sarifRule{ID: f.Code}); !slices.Contains(driver.Rules, rule) {
			driver.Rules = append(driver.Rules, rule)
		}
		place := sarifPlace{Artifact: sarifArtifact{URI: filepath.ToSlash(f.File)}}
		if f.Line > 0 {
			place.Region = &sarifRegion{Line: f.Line, Column: f.Column}
		}
		text := f.Message
		if f.Path != "" {
			text = f.Path + ": " + text
		}
		results = append(results, sarifResult{
			Rule: f.Code, Level: f.Severity, Message: sarifMessage{Text: text}, Locations: []sarifLocation{{Physical: place}},
		})
	}
	return sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{Tool: sarifTool{Driver: driver}, Results: results}},
	}
}
