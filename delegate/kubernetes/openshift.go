package kubernetes

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"io"
	mathrand "math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/openshift"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// minHidden is how long a generated value is at least to be hidden in logs: a
// shorter one is no password, but would hide much else.
const minHidden = 8

// openshift processes an OpenShift template. paths name its file again, as
// K8sApply wants it; nil for a deployment.
func (r *renderer) openshift(ctx context.Context, m *origin.Manifest, paths []string) ([]*unstructured.Unstructured, error) {
	source := r.source()
	files, err := source.Fetch(ctx, m)
	if err != nil {
		return nil, err
	}
	if len(files.Manifests) != 1 {
		return nil, fault.New(fault.Invalid, "manifest %s has %d files; an OpenshiftTemplate is one file", m.ID, len(files.Manifests))
	}
	if _, err := choose(files.Manifests, paths); err != nil {
		return nil, err
	}
	layers, err := source.Params(ctx, m, files, slices.Concat(r.p.Target.Params, r.p.ApplyParams))
	if err != nil {
		return nil, err
	}
	params, err := openshift.Params(layers)
	if err != nil {
		return nil, err
	}
	file := files.Manifests[0]
	return r.make(ctx, sandbox.Work{
		Verb: verbOpenshift, What: "processing the template " + file.Name, Log: r.env.Log(unitInitialize),
		Request: openshiftWork{file, params, r.stageSeed()}, Asked: r.hide,
	})
}

// hide keeps a generated value out of the log.
func (r *renderer) hide(_ context.Context, _ string, question json.RawMessage) (any, error) {
	var value string
	if err := json.Unmarshal(question, &value); err != nil {
		return nil, err
	}
	if len(value) >= minHidden {
		r.env.Mask(value)
	}
	return true, nil
}

// newSeed is a secret of this delegate, from which generated values come.
func newSeed() []byte {
	seed := make([]byte, sha256.Size)
	_, _ = rand.Read(seed) // never fails, or ends the program
	return seed
}

// stageSeed is what generated values come from: the same for all steps of a
// stage on this delegate, so that they deploy the same.
func (r *renderer) stageSeed() []byte {
	mac := hmac.New(sha256.New, r.seed)
	_, _ = io.WriteString(mac, r.work.Execution+"\n"+r.work.Stage) // a hash takes all
	return mac.Sum(nil)
}

// random are the bits of a parameter's generated value.
func random(seed []byte, parameter string) io.Reader {
	mac := hmac.New(sha256.New, seed)
	_, _ = io.WriteString(mac, parameter) // likewise
	return mathrand.NewChaCha8([32]byte(mac.Sum(nil)))
}
