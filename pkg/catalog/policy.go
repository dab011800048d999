package catalog

import (
	"context"
	"slices"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// policyWarning is the code of what a policy warns of.
const policyWarning = "POLICY_WARNING"

// judged asks the policies that count for what a draft would save. What they
// don't let be saved is an error, what they warn of comes back.
func (c *Catalog) judged(ctx context.Context, p prepared, d Draft) ([]fault.Detail, error) {
	key := p.next.Key
	if c.Policies == nil {
		if key.Kind == ref.Policy || key.Kind == ref.PolicySet || slices.ContainsFunc(p.entity.References, func(r entity.Reference) bool { return r.Kind == ref.PolicySet }) {
			return nil, fault.New(fault.Unsupported, "%s can't be saved: no policies are evaluated here, and nothing is accepted and then ignored", key.Describe())
		}
		return nil, nil
	}
	moment, name, ok := policy.Saved(key.Kind)
	if !ok {
		return nil, nil
	}
	actor := ""
	if d.By != nil {
		actor = d.By.Actor()
	}
	of := judge.Case{
		Moment: moment, Scope: key.Scope, Actor: actor, Entity: key.Describe(), Unkept: d.checked,
		Input: func() (map[string]any, error) { return map[string]any{name: p.entity.Judged()}, nil },
	}
	if c.near != nil {
		of.Entities = c.Store.Entities // as they will be
	}
	verdict, err := c.Policies.On(ctx, of)
	if err != nil {
		return nil, err
	}
	// All of them are about the document: they stand at its name.
	at := fault.Detail{File: d.File, Line: p.entity.Identifier.At.Line, Column: p.entity.Identifier.At.Column, Severity: "warning", Code: policyWarning}
	if at.Line == 0 {
		at.Line, at.Column = 1, 1
	}
	if err := verdict.Denied("saving " + key.Describe()); err != nil {
		return nil, placedAt(err, at)
	}
	var out []fault.Detail
	for _, f := range verdict.Warnings() {
		at.Message = f.String()
		out = append(out, at)
	}
	return out, nil
}

// placedAt gives the details of an error a place.
func placedAt(err error, at fault.Detail) error {
	details := detailsOf(err)
	for i := range details {
		details[i].File, details[i].Line, details[i].Column = at.File, at.Line, at.Column
	}
	return err
}

// keepDenial writes down that policies were against a save.
func (c *Catalog) keepDenial(ctx context.Context, key store.EntityKey, by audit.Author, err error) error {
	if !fault.Is(err, fault.PolicyDenied) {
		return err
	}
	record := c.record(key, by, audit.PolicyDenied)
	record.After = fault.Told(err)
	if _, kept := c.Store.AppendAudit(ctx, record); kept != nil {
		return kept
	}
	return err
}

// changed says to who keeps policy sets that some were saved or deleted, or may
// have been.
func (c *Catalog) changed(keys ...store.EntityKey) {
	if slices.ContainsFunc(keys, func(k store.EntityKey) bool { return k.Kind == ref.PolicySet }) {
		c.Policies.Forget()
	}
}
