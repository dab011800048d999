package generate

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// patchable says how the parts of an application are patched: its finalizers are
// joined, all other lists replaced.
type patchable struct {
	Metadata struct {
		Name        string            `json:"name,omitempty"`
		Namespace   string            `json:"namespace,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
		Finalizers  []string          `json:"finalizers,omitempty" patchStrategy:"merge"`
	} `json:"metadata"`
	Spec gitops.ApplicationSpec `json:"spec"`
}

// patched is an application after a strategic merge patch, in YAML or JSON. Its
// project stays what the template says, since that bounds what it may do.
func patched(app gitops.Application, patch string) (gitops.Application, error) {
	as, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		return app, err
	}
	var given any
	if err := json.Unmarshal(as, &given); err != nil {
		return app, err
	}
	if given == nil { // nothing is left of the text
		return app, nil
	}
	was, err := json.Marshal(app)
	if err != nil {
		return app, err
	}
	now, err := strategicpatch.StrategicMergePatch(was, as, patchable{})
	if err != nil {
		return app, err
	}
	var out gitops.Application
	d := json.NewDecoder(bytes.NewReader(now))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return app, err
	}
	out.Spec.Project = app.Spec.Project
	return out, nil
}
