package execution

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Provision is what an execution has done by a provisioner, as people see it:
// what is sealed of it is told by its size.
type Provision struct {
	Execution string           `json:"execution"`
	Step      plan.NodeID      `json:"step" doc:"The node that was last"`
	Status    provision.Status `json:"status" enum:"begun,applied,rolledBack,destroyed"`
	At        time.Time        `json:"at" doc:"When it came to the status"`
	Before    []SealedPart     `json:"before,omitempty" doc:"What is kept of what was there before its first change"`
	Inputs    []SealedPart     `json:"inputs,omitempty" doc:"What is kept of what it has applied last"`
}

// SealedPart is a part of what is kept sealed.
type SealedPart struct {
	Name   string `json:"name" doc:"E.g. template"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256,omitempty" doc:"Of a text of 256 bytes and more, such as a template, in hexadecimal digits"`
}

// leastDigested is how long a text is of which a digest is told: that of a short
// one can be guessed.
const leastDigested = 256

// ProvisionOf is what people see of a provision without what is sealed.
func ProvisionOf(p store.Provision) Provision {
	return Provision{Execution: p.Execution, Step: p.Step, Status: p.Status, At: p.At}
}

// Provisioner is what executions have done by a provisioner, the newest first,
// and where it makes what it does.
func (s *Service) Provisioner(ctx context.Context, key store.ProvisionerKey) (history []Provision, place json.RawMessage, err error) {
	all, err := s.provisions(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range all {
		done, err := openProvision(ctx, s.Secret, p)
		if err != nil {
			return nil, nil, err
		}
		one := ProvisionOf(p)
		one.Before, one.Inputs = sealedParts(done.Before), sealedParts(done.Inputs)
		history = append(history, one)
	}
	return history, all[0].Place, nil
}

// provisions are what is kept of a provisioner, if anything is.
func (s *Service) provisions(ctx context.Context, key store.ProvisionerKey) ([]store.Provision, error) {
	all, err := s.Store.ListProvisions(ctx, key)
	if err == nil && len(all) == 0 {
		err = fault.New(fault.NotFound, "nothing is kept of %s; \"slipway provisioner list\" lists the provisioners of a project", key)
	}
	return all, err
}

// sealedParts tells of an object's members, and of those of its objects, by their sizes.
func sealedParts(doc json.RawMessage) []SealedPart {
	var out []SealedPart
	for name, value := range members(doc) {
		inner := members(value)
		if len(inner) == 0 {
			out = append(out, sealedPart(name, value))
		}
		for below, value := range inner {
			out = append(out, sealedPart(name+"."+below, value))
		}
	}
	slices.SortFunc(out, func(a, b SealedPart) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// members are those of an object; nil for anything else.
func members(doc json.RawMessage) map[string]json.RawMessage {
	var in map[string]json.RawMessage
	if json.Unmarshal(doc, &in) != nil {
		return nil
	}
	return in
}

func sealedPart(name string, value json.RawMessage) SealedPart {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return SealedPart{Name: name, Bytes: len(value)}
	}
	p := SealedPart{Name: name, Bytes: len(text)}
	if len(text) >= leastDigested {
		sum := sha256.Sum256([]byte(text))
		p.SHA256 = hex.EncodeToString(sum[:])
	}
	return p
}

// ForgetProvisioner forgets what executions have done by a provisioner. What
// they have made stays, and no step finds it by the identifier any more. So it is
// refused while somebody works by it, or may still take back what he has done.
func (s *Service) ForgetProvisioner(ctx context.Context, key store.ProvisionerKey, by audit.Author) error {
	all, err := s.provisions(ctx, key)
	if err != nil {
		return err
	}
	working, err := s.working(ctx, key, all)
	if err != nil {
		return err
	}
	if working != "" {
		return fault.New(fault.Conflict, "execution %s works by %s, or may take back what it has done; forget it when that has ended", working, key)
	}
	r := by.Record(s.Now(), key.Scope, audit.Delete, "provisioner", key.String(), "")
	r.Before = fmt.Sprintf("%d executions, the last of them %s, %s", len(all), all[0].Execution, all[0].Status)
	return s.Store.ForgetProvisions(ctx, all, r)
}

// working is an execution that works by a provisioner, or has and is under way;
// empty: there is none.
func (s *Service) working(ctx context.Context, key store.ProvisionerKey, all []store.Provision) (string, error) {
	line, err := s.Store.EndTurn(ctx, lineOf(key), store.Holder{}) // nobody's: it only tells who stands there
	if err != nil {
		return "", err
	}
	for _, h := range line {
		if over, err := taskOver(ctx, s.Store, s.Now(), task.ID(h.Node)); err != nil || !over {
			return h.Execution, err
		}
	}
	for _, p := range all {
		e, err := s.Store.Execution(ctx, p.Execution)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil || !e.Status.Terminal() {
			return p.Execution, err
		}
	}
	return "", nil
}
