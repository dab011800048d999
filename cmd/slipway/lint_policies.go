package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// judged gives what the policies of a folder say of documents, as a save would.
func (l *linter) judged(ctx context.Context, folder string, docs []document, scope ref.Scope) ([]fault.Detail, error) {
	if folder == "" {
		return nil, nil
	}
	policies, err := l.reader.policiesOf(folder, scope)
	if err != nil {
		return nil, err
	}
	engine := rego.New()
	var wrong []fault.Detail
	for _, p := range policies {
		for _, problem := range engine.Check(p.rego) {
			severity := "error"
			if problem.Warning {
				severity = "warning"
			}
			wrong = append(wrong, fault.Detail{File: p.name, Line: problem.Line, Column: problem.Column, Severity: severity, Code: "BAD_REGO", Message: problem.Message})
		}
	}
	if len(wrong) > 0 {
		return wrong, nil
	}
	now := time.Now()
	for _, d := range docs {
		if d.entity == nil {
			continue
		}
		moment, key, ok := policy.Saved(d.entity.Kind)
		if !ok {
			continue
		}
		input := map[string]any{key: d.entity.Judged()}
		judge.Case{Moment: moment, Scope: d.entity.Scope}.Frame(input, now)
		for _, p := range policies {
			severity, asked := p.asked[moment]
			switch {
			case p.asked == nil:
				severity = policy.Error
			case !asked:
				continue
			}
			r := policy.Result{Name: p.name, Severity: severity, Answer: engine.Evaluate(ctx, p.rego, input, now)}
			for _, message := range r.Messages() {
				wrong = append(wrong, d.denied(r, message))
			}
		}
		if ctx.Err() != nil {
			return nil, interrupted
		}
	}
	return wrong, nil
}

// denied is the finding of what a policy says of a document: it stands at its
// name.
func (d document) denied(r policy.Result, message string) fault.Detail {
	at := d.entity.Identifier.At
	f := fault.Detail{Line: max(at.Line, 1), Column: max(at.Column, 1), Severity: "error", Code: string(fault.PolicyDenied), Message: fmt.Sprintf("%s (policy %s)", message, r.Name)}
	if r.Status() == policy.Warned {
		f.Severity, f.Code = "warning", "POLICY_WARNING"
	}
	return d.place(f)
}

// policiesOf reads the policies of a folder: its .rego files but for tests, as
// conftest has them, and its documents. Policies that sets in it name are asked
// when those say.
func (r *reader) policiesOf(folder string, scope ref.Scope) ([]localPolicy, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fault.New(fault.Invalid, "%w", err)
		}
		if !e.IsDir() && slices.Contains([]string{".rego", ".yaml", ".yml"}, filepath.Ext(path)) && !strings.HasSuffix(path, "_test.rego") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []localPolicy
	asked := map[string]map[policy.Moment]policy.Severity{}
	for _, path := range files {
		if filepath.Ext(path) == ".rego" {
			some, err := r.readPolicies(path)
			if err != nil {
				return nil, err
			}
			out = append(out, some...)
			continue
		}
		some, err := r.policyDocuments(path, scope)
		if err != nil {
			return nil, err
		}
		for _, e := range some {
			switch {
			case e.Policy != nil:
				out = append(out, localPolicy{name: e.Identifier.Value, rego: e.Policy.Rego})
			case e.PolicySet.Enabled:
				for _, m := range e.PolicySet.Members {
					if asked[m.Policy.ID] == nil {
						asked[m.Policy.ID] = map[policy.Moment]policy.Severity{}
					}
					asked[m.Policy.ID][e.PolicySet.Moment] = m.Severity
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, fault.New(fault.Invalid, "%s has no policies: want .rego files, or documents with the root key policy", folder)
	}
	for i, p := range out {
		out[i].asked = asked[p.name]
	}
	return out, nil
}

// policyDocuments are the policies and the sets among a file's documents.
func (r *reader) policyDocuments(path string, scope ref.Scope) ([]*entity.Entity, error) {
	text, err := r.readAll(path)
	if err != nil {
		return nil, err
	}
	docs, report := yamldoc.Parse(path, text)
	var out []*entity.Entity
	for _, doc := range docs {
		if doc.Get(string(ref.Policy)) == nil && doc.Get(string(ref.PolicySet)) == nil {
			continue
		}
		e := entity.Decode(doc, report, builtin.Options(scope))
		if err := report.Err(); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
