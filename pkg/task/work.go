package task

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/provision"
)

// Work is the payload of every task that puts something somewhere, whatever
// does it. Who only has to know what goes where, such as the instance ledger,
// reads this and nothing of what is in Spec and Place. Package step makes it.
type Work struct {
	Target Target `json:"target,omitzero"`

	// Who does it, by which a retry knows its own work again and a rollback that
	// of its stage.
	Execution string `json:"execution"`
	Stage     string `json:"stage"`              // node id
	Step      string `json:"step"`               // node id
	Rollback  bool   `json:"rollback,omitempty"` // the step is in rollbackSteps

	// Place is how what was put there is reached again, for the watcher of the
	// task's kind. It is kept with the release for as long as that runs, so it
	// holds placeholders of secrets.
	Place json.RawMessage `json:"place,omitempty"`
	// Provisioner is what the task makes something by; nil: by none.
	Provisioner *provision.Provisioner `json:"provisioner,omitempty"`
	// Spec is what the executor of the task's kind is to do.
	Spec json.RawMessage `json:"spec,omitempty"`
}

// Target is what is put where.
type Target struct {
	Service        string `json:"service"`                  // as the stage names it, e.g. "account.web"
	Environment    string `json:"environment"`              // likewise
	Infrastructure string `json:"infrastructure,omitempty"` // the definition's identifier
	// Release and Namespace are the release's names in the place, if it has such.
	Release   string `json:"releaseName,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Image is that of the stage's artifact, or its version.
	Image string `json:"image,omitempty"`
}

// UnmarshalJSON reads the payloads of earlier releases, too: a task may have
// been made before the control plane was updated.
func (w *Work) UnmarshalJSON(doc []byte) error {
	type plain Work
	if err := json.Unmarshal(doc, (*plain)(w)); err != nil {
		return fmt.Errorf("decode a task that puts something somewhere: %w", err)
	}
	if w.Place != nil || w.Spec != nil {
		return nil
	}
	return w.earlier(doc)
}

// earlier reads a payload in which the Spec was everything: a Kubernetes or a
// Helm with the names of its Target, or the Instances of a custom deployment.
func (w *Work) earlier(doc []byte) error {
	var old struct {
		Op     string `json:"op"`
		List   string `json:"list"`
		Target struct {
			Cluster json.RawMessage `json:"cluster"`
		} `json:"target"`
	}
	err := json.Unmarshal(doc, &old)
	place := map[string]json.RawMessage{}
	switch {
	case err != nil:
		return fmt.Errorf("decode a task of an earlier release: %w", err)
	case old.Op != "" && old.Target.Cluster != nil:
		place["cluster"] = old.Target.Cluster
	case old.List != "":
		place["script"] = doc
	default:
		return nil // it puts nothing anywhere
	}
	w.Spec = append(json.RawMessage(nil), doc...)
	if w.Place, err = json.Marshal(place); err != nil {
		return fmt.Errorf("encode the place of a task of an earlier release: %w", err)
	}
	return nil
}
