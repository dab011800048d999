package yamldoc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Pos is a place in a file.
type Pos struct {
	File   string
	Line   int // 1 is the first
	Column int
	Path   string // e.g. stages[1].stage.spec.execution.steps[0].step.type
}

// Severity says how bad a finding is.
type Severity uint8

// The severities. A document with an error isn't saved.
const (
	Error Severity = iota
	Warning
)

// String is "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Finding is one thing that is wrong with a document.
type Finding struct {
	Pos
	Severity Severity
	Code     string // e.g. UNKNOWN_KEY
	Message  string
}

// String is the finding as people read it:
// file:line:column path: message [CODE].
func (f Finding) String() string {
	var b strings.Builder
	if f.File != "" {
		fmt.Fprintf(&b, "%s:", f.File)
	}
	fmt.Fprintf(&b, "%d:%d ", f.Line, f.Column)
	if f.Path != "" {
		fmt.Fprintf(&b, "%s: ", f.Path)
	}
	if f.Severity == Warning {
		b.WriteString("warning: ")
	}
	fmt.Fprintf(&b, "%s [%s]", f.Message, f.Code)
	return b.String()
}

// Report collects the findings of one document. It is for one goroutine.
type Report struct {
	file     string
	strict   bool
	resolved bool
	open     func(text string) bool // see Opened; nil: nothing stands for a whole
	findings []Finding
	watch    func(Usage) // nil: nobody watches
}

// NewReport makes an empty report about a file; the name may be empty.
func NewReport(file string) *Report { return &Report{file: file} }

// Strict makes a key that nobody documents an error instead of a warning.
func (r *Report) Strict() *Report {
	r.strict = true
	return r
}

// Resolved says that the document's expressions have been resolved: a text
// that holds <+ is no expression, because the result of one is never read as
// one again (semantics/pipeline §3).
func (r *Report) Resolved() *Report {
	r.resolved = true
	return r
}

// Texts is f about a document that has no expressions: a text that holds <+ is
// a text, and nothing but what it is stands for anything else.
func (r *Report) Texts(f func()) {
	before := r.resolved
	r.resolved = true
	f()
	r.resolved = before
}

// IsResolved says whether the document's expressions have been resolved.
func (r *Report) IsResolved() bool { return r.resolved }

// Opened is f about a part whose runtime inputs are filled in where it is used,
// so that one may stand for a whole mapping or list. What one is, input says.
func (r *Report) Opened(input func(text string) bool, f func()) {
	before := r.open
	r.open = input
	f()
	r.open = before
}

// Left says whether a value is a runtime input that stands for anything,
// see Opened.
func (r *Report) Left(v Value) bool {
	return r.open != nil && v.Is(Scalar) && r.open(v.Node.Value)
}

// Errorf adds an error at a value.
func (r *Report) Errorf(v Value, code, format string, args ...any) {
	r.add(Error, v.Pos(r), code, format, args...)
}

// Warnf adds a warning at a value.
func (r *Report) Warnf(v Value, code, format string, args ...any) {
	r.add(Warning, v.Pos(r), code, format, args...)
}

// Doubtf adds a warning at a value, or an error in a strict report.
func (r *Report) Doubtf(v Value, code, format string, args ...any) {
	severity := Warning
	if r.strict {
		severity = Error
	}
	r.add(severity, v.Pos(r), code, format, args...)
}

// WarnAt adds a warning at a place.
func (r *Report) WarnAt(p Pos, code, format string, args ...any) {
	r.add(Warning, p, code, format, args...)
}

// ErrorAt adds an error at a place.
func (r *Report) ErrorAt(p Pos, code, format string, args ...any) {
	r.add(Error, p, code, format, args...)
}

// maxFindings is more than anybody reads; it bounds what a hostile document
// makes of a report.
const maxFindings = 1000

func (r *Report) add(s Severity, p Pos, code, format string, args ...any) {
	r.keep(Finding{Pos: p, Severity: s, Code: code, Message: fmt.Sprintf(format, args...)})
}

func (r *Report) keep(f Finding) {
	switch n := len(r.findings); {
	case n < maxFindings:
		r.findings = append(r.findings, f)
	case n == maxFindings:
		pos := Pos{File: r.file, Line: f.Line, Column: f.Column}
		r.findings = append(r.findings, Finding{Pos: pos, Code: "TOO_MANY_FINDINGS", Message: "there are more findings than are shown"})
	}
}

// Amend passes every finding through f, which may change it or, by giving
// false, drop it.
func (r *Report) Amend(f func(Finding) (Finding, bool)) {
	kept := r.findings[:0]
	for _, one := range r.findings {
		if changed, keep := f(one); keep {
			kept = append(kept, changed)
		}
	}
	r.findings = kept
}

// File is the name of the document that the report is about.
func (r *Report) File() string { return r.file }

// Findings are all findings in the order of their places, those in other files
// last.
func (r *Report) Findings() []Finding {
	out := slices.Clone(r.findings)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(r.foreign(a)-r.foreign(b), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Code, b.Code))
	})
	return out
}

func (r *Report) foreign(f Finding) int {
	if f.File != r.file {
		return 1
	}
	return 0
}

// Failed says whether there is an error.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.findings, func(f Finding) bool { return f.Severity == Error })
}

// Details are the findings as the API gives them.
func (r *Report) Details() []fault.Detail {
	out := make([]fault.Detail, 0, len(r.findings))
	for _, f := range r.Findings() {
		out = append(out, fault.Detail{
			File: f.File, Path: f.Path, Line: f.Line, Column: f.Column,
			Severity: f.Severity.String(), Code: f.Code, Message: f.Message,
		})
	}
	return out
}

// Err is nil without an error, else one error with every finding.
func (r *Report) Err() error {
	if !r.Failed() {
		return nil
	}
	var lines []string
	for _, f := range r.Findings() {
		if f.Severity == Error {
			lines = append(lines, f.String())
		}
	}
	return fault.New(fault.Invalid, "%s", strings.Join(lines, "\n")).With(r.Details()...)
}
