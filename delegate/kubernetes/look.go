package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// maxText bounds a text among the outputs, which share task.MaxResult.
const maxText = task.MaxResult * 3 / 4

// dryRunStep is K8sDryRun (semantics/kubernetes §15): the cluster checks the
// manifests, and the step gives them as they were rendered.
func (s *session) dryRunStep(ctx context.Context) (task.Result, error) {
	if err := s.next(ctx); err != nil {
		return task.Result{}, err
	}
	objects, err := s.renderer.manifests(ctx)
	if err != nil {
		return task.Result{}, err
	}
	s.renderer.number = 0 // nothing is deployed
	log := s.env.Log(unitInitialize)
	found, err := s.applier.rehearse(ctx, objects, log)
	if err != nil {
		return task.Result{}, err
	}
	tell(found, false, log)
	say(log, "Dry run: the cluster accepts the manifests")
	text, err := s.manifestText(objects)
	if err != nil {
		return task.Result{}, err
	}
	r, err := s.done(nil)
	if err != nil {
		return r, err
	}
	if s.p.EncryptOutput {
		r.SecretOutputs = map[string]string{"k8s.ManifestDryRun": text, "k8s.manifestDryRun": text}
		return r, nil
	}
	doc := map[string]any{}
	if err := json.Unmarshal(r.Outputs, &doc); err != nil {
		return r, err
	}
	doc["k8s"] = map[string]any{"ManifestDryRun": text, "manifestDryRun": text} // both are documented
	r.Outputs, err = json.Marshal(doc)
	return r, err
}

// next finds the number that the next release would have, for templates.
func (s *session) next(ctx context.Context) error {
	if err := checkRelease(s.p.Target.ReleaseName); err != nil {
		return err
	}
	all, err := s.history.all(ctx)
	if err != nil {
		return err
	}
	s.begin(all, modeRolling)
	return nil
}

// manifestText is the manifests as one YAML text. The values of Secrets are
// in it only if the output is to be kept encrypted. It counts twice against
// the limit because it has two names.
func (s *session) manifestText(objects []*unstructured.Unstructured) (string, error) {
	var b strings.Builder
	for _, o := range objects {
		shown := o.DeepCopy().Object
		if o.GetKind() == "Secret" && !s.p.EncryptOutput {
			applying.Hide(nil, shown)
		}
		doc, err := applying.YAML(shown)
		if err != nil {
			return "", err
		}
		b.WriteString("---\n" + doc)
	}
	if b.Len() > maxText/2 {
		return "", fault.New(fault.TooLarge, "the manifests have %d bytes; the output of a dry run can have %d", b.Len(), maxText/2)
	}
	return b.String(), nil
}

// diffStep is K8sDiff (semantics/kubernetes §15): what the stage's
// K8sRollingDeploy or K8sBlueGreenDeploy would change is told, and nothing is
// changed.
func (s *session) diffStep(ctx context.Context) (task.Result, error) {
	if err := checkRelease(s.p.Target.ReleaseName); err != nil {
		return task.Result{}, err
	}
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	objects, err := s.planned(ctx, all)
	if err != nil {
		return task.Result{}, err
	}
	s.renderer.number = 0 // nothing is deployed
	log := s.env.Log(unitDiff)
	found, err := s.applier.rehearse(ctx, objects, log)
	if err != nil {
		return task.Result{}, err
	}
	tell(found, true, log)
	text := diffText(found)
	if len(text) > maxText {
		say(log, "warning: only the first %d of %d bytes become the output", maxText, len(text))
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	if text == "" {
		say(log, "Nothing would change")
	}
	changed := []string{}
	for _, d := range found {
		if d.text != "" {
			changed = append(changed, display(d.object))
		}
	}
	return s.done(outputs{"diff": text, "changed": changed, "hasChanges": len(changed) > 0})
}

// planned is what the stage's deployment would apply.
func (s *session) planned(ctx context.Context, all []*release) ([]*unstructured.Unstructured, error) {
	if !s.p.BlueGreenInStage {
		objects, _, err := s.rendered(ctx, all)
		return objects, err
	}
	s.begin(all, modeBlueGreen)
	objects, err := s.renderer.manifests(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.colors(ctx, objects)
	if err != nil {
		return nil, err
	}
	s.paint(c)
	return sorted(c.objects), nil
}

// rendered is a new release with its manifests as K8sRollingDeploy applies
// them: with names of their own for ConfigMaps and Secrets, and labelled.
func (s *session) rendered(ctx context.Context, all []*release) ([]*unstructured.Unstructured, *release, error) {
	current := s.begin(all, modeRolling)
	objects, err := s.renderer.manifests(ctx)
	if err != nil {
		return nil, nil, err
	}
	m := s.p.Target.Manifest
	current.Hash, current.Declarative = hashOf(objects), m.Declarative
	if !m.SkipVersioning && !m.Declarative {
		current.Versioned = version(objects, s.renderer.number)
		s.applier.older = olderNames(current, lastGood(all, current, modeRolling))
	}
	return objects, current, s.label(ctx, objects)
}

// olderNames says which ConfigMap or Secret of the previous release each
// versioned one takes the place of.
func olderNames(current, previous *release) map[string]string {
	out := map[string]string{}
	if previous == nil {
		return out
	}
	for _, now := range current.Versioned {
		was := strings.TrimSuffix(now, fmt.Sprintf("-%d", current.Number)) + fmt.Sprintf("-%d", previous.Number)
		if slices.Contains(previous.Versioned, was) {
			_, out[now], _ = strings.Cut(was, "/")
		}
	}
	return out
}
