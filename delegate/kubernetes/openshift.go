package kubernetes

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"io"
	mathrand "math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/openshift"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// minHidden is how long a generated value is at least to be hidden in logs: a
// shorter one is no password, but would hide much else.
const minHidden = 8

// openshift processes an OpenShift template. paths name its file again, as
// K8sApply wants it; nil for a deployment.
func (s *session) openshift(ctx context.Context, m *task.Manifest, paths []string) ([]*unstructured.Unstructured, error) {
	source := s.source()
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
	layers, err := source.Params(ctx, m, files, slices.Concat(s.p.Target.Params, s.p.ApplyParams))
	if err != nil {
		return nil, err
	}
	params, err := openshift.Params(layers)
	if err != nil {
		return nil, err
	}
	file := files.Manifests[0]
	text, err := openshift.Processor{Random: s.random, Generated: s.hide}.Process(file, params)
	if err != nil {
		return nil, err
	}
	objects, err := parse(file.Name, text)
	if err != nil {
		return nil, err
	}
	return objects, unique(objects)
}

// hide keeps a generated value out of the log.
func (s *session) hide(value string) {
	if len(value) >= minHidden {
		s.env.Mask(value)
	}
}

// newSeed is a secret of this delegate, from which generated values come.
func newSeed() []byte {
	seed := make([]byte, sha256.Size)
	_, _ = rand.Read(seed) // never fails, or ends the program
	return seed
}

// random are the bits of a parameter's generated value: the same for all steps
// of a stage on this delegate, so that they deploy the same.
func (s *session) random(parameter string) io.Reader {
	mac := hmac.New(sha256.New, s.seed)
	_, _ = io.WriteString(mac, s.p.Execution+"\n"+s.p.Stage+"\n"+parameter) // a hash takes all
	return mathrand.NewChaCha8([32]byte(mac.Sum(nil)))
}
