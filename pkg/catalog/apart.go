package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// apart takes the values that nobody is to read out of the document of what opens
// something for a GitOps agent. They are one secret, by their names, that is kept
// with the entity; what stands for one in the document means the one that is kept.
func (c *Catalog) apart(ctx context.Context, e *entity.Entity, d Draft, stored store.Entity) ([]byte, *string, error) {
	if len(e.Values.Found) == 0 && !(ref.OfGitOps(e.Kind) && ref.HoldsValues(e.Kind)) {
		return d.YAML, nil, nil
	}
	var known map[string]string
	if stored.Version > 0 && ref.HoldsValues(e.Kind) {
		var err error
		if known, err = c.Secret.Values(ctx, stored.Key); err != nil {
			return nil, nil, err
		}
	}
	values, out := map[string]string{}, map[*yamldoc.Node]string{}
	var bad []fault.Detail
	wrong := func(f argo.Found, message string) {
		bad = append(bad, fault.Detail{
			File: d.File, Path: f.At.Path, Line: f.At.Node.Line, Column: f.At.Node.Column, Severity: "error", Code: "WRONG_VALUE", Message: message,
		})
	}
	at := address(e)
	if at != "" {
		values[addressName] = at
	}
	for _, f := range e.Values.Found {
		switch kept, ok := known[f.Name]; {
		case f.Gone:
			out[f.At.Node] = ""
			continue
		case f.Text != argo.Kept:
			values[f.Name] = f.Text
		case ok && known[addressName] != at: // who may edit it could have it sent to himself
			wrong(f, fmt.Sprintf("found %s, but the value is kept for another address; write the value again", argo.Kept))
		case ok:
			values[f.Name] = kept
		default:
			wrong(f, fmt.Sprintf("found %s, but no value is kept for it; write the value", argo.Kept))
		}
		out[f.At.Node] = argo.Kept
	}
	text, err := without(d.YAML, e.Values.Found, out)
	if err != nil {
		const message = "the value can't be taken out of the document; write each as a text of its own, without anchors, and nowhere else"
		wrong(e.Values.Found[0], message)
	}
	if len(bad) > 0 {
		return nil, nil, fault.New(fault.Invalid, "%s", bad[0].Message).With(bad...)
	}
	if !ref.HoldsValues(e.Kind) {
		return text, nil, nil
	}
	kept, err := json.Marshal(values)
	if err != nil {
		return nil, nil, fmt.Errorf("encode what is kept apart of %s: %w", stored.Key.Describe(), err)
	}
	whole := string(kept)
	return text, &whole, nil
}

// addressName is the name by which the address that values are for is kept with them.
const addressName = "@"

// address is where the values of a document are sent to.
func address(e *entity.Entity) string {
	switch {
	case e.Repository != nil:
		return e.Repository.URL
	case e.Cluster != nil:
		return e.Cluster.Server
	}
	return ""
}

// tooShort is a value that may well stand in a text by chance.
const tooShort = 8

// without is a document's text with others in the place of values, if none of them
// stands in it still.
func without(text []byte, found []argo.Found, with map[*yamldoc.Node]string) ([]byte, error) {
	if len(found) == 0 {
		return text, nil
	}
	docs, report := yamldoc.Parse("", text) // it was read before
	if err := report.Err(); err != nil {
		return nil, err
	}
	places := map[[2]int]string{}
	for n, other := range with {
		places[[2]int{n.Line, n.Column}] = other
	}
	out, err := yamldoc.Put(text, docs[0], func(n *yamldoc.Node) (string, bool) {
		other, ok := places[[2]int{n.Line, n.Column}]
		return other, ok
	})
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if one := []byte(f.At.Node.Value); f.Text != argo.Kept && len(one) > tooShort && (bytes.Contains(out, one) || bytes.Contains(out, []byte(f.Text))) {
			return nil, fault.New(fault.Invalid, "%s stands in the text twice", f.Name)
		}
	}
	return out, nil
}
