package render

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/slipway-cd/slipway/delegate/sandbox"
)

// What is made in a sandbox.
const (
	verbChart     = "gitops chart"
	verbKustomize = "gitops kustomize"
	verbJsonnet   = "gitops jsonnet"
)

// Verbs are what this package has a sandbox do.
func Verbs() sandbox.Verbs {
	return sandbox.Verbs{verbChart: chartVerb, verbKustomize: kustomizeVerb, verbJsonnet: jsonnetVerb}
}

// made is what verbs answer: objects, and which files they read.
type made struct {
	Objects json.RawMessage `json:"objects"`
	Read    []string        `json:"read,omitempty"`
	// Random says that a template asks for what is another each time.
	Random bool `json:"random,omitempty"`
}

func madeOf(objects []*unstructured.Unstructured) (made, error) {
	all := make([]map[string]any, len(objects))
	for i, o := range objects {
		all[i] = o.Object
	}
	doc, err := json.Marshal(all)
	return made{Objects: doc}, err
}

// make has the sandbox do a piece of work.
func (j *job) make(ctx context.Context, w sandbox.Work) ([]*unstructured.Unstructured, made, error) {
	var got made
	if err := j.sandbox.Run(ctx, w, &got); err != nil {
		return nil, made{}, err
	}
	var all []map[string]any
	if err := utiljson.Unmarshal(got.Objects, &all); err != nil {
		return nil, made{}, fmt.Errorf("%s: %w", w.What, err)
	}
	out := make([]*unstructured.Unstructured, len(all))
	for i, o := range all {
		out[i] = &unstructured.Unstructured{Object: o}
	}
	return out, got, nil
}
