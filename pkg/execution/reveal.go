package execution

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// MaxRevealed bounds how many secrets one question of a delegate brings.
const MaxRevealed = 256

// revealedKept is how long it is remembered that a revelation was recorded:
// longer than any task runs.
const revealedKept = 40 * 24 * time.Hour

// ResolveTexts resolves the expressions of texts that only the delegate has,
// in the context of the step whose task it holds. What such a text names isn't
// known before, so only a task that fetches files may ask, and each secret that
// an answer brings stands in the audit trail first.
func (s *Tasks) ResolveTexts(ctx context.Context, d store.Delegate, id task.ID, r protocol.Resolve, by audit.Author) (protocol.Resolved, error) {
	t, err := s.held(ctx, d, id, r.Fence)
	if err != nil {
		return protocol.Resolved{}, err
	}
	if err := mayAsk(s.Types.Tasks(), t); err != nil {
		return protocol.Resolved{}, err
	}
	out, err := s.Engine.Reader.Resolve(ctx, t.Execution, t.Node, r.Texts)
	if err != nil {
		return protocol.Resolved{}, err
	}
	if err := onlyNamed(d, t, out.Named); err != nil {
		return protocol.Resolved{}, err
	}
	if err := s.recordRevealed(ctx, d, t, out.Named, by); err != nil {
		return protocol.Resolved{}, err
	}
	values, err := s.Secret.RevealAll(ctx, t.Scope, out.Secrets)
	if err != nil {
		return protocol.Resolved{}, err
	}
	tokens, err := s.Issuer.SignAll(ctx, out.Identities, t.ID)
	return protocol.Resolved{Texts: out.Texts, Secrets: values, LateSecrets: out.LateSecrets, LateTexts: out.LateTexts, Tokens: tokens}, err
}

// mayAsk refuses the tasks whose texts all came with them, resolved.
func mayAsk(kinds swimlane.Kinds, t store.Task) error {
	for _, late := range t.LateTexts {
		if late.Git != nil { // a config file
			return nil
		}
	}
	fetched, err := kinds.Fetched(t.Kind, t.Payload)
	if err != nil {
		return fmt.Errorf("look at task %s: %w", t.ID, err)
	}
	if !fetched.Files {
		return fault.New(fault.Forbidden,
			"task %s fetches no values or config files, so nothing is resolved for it; what %s needs, a secret too, has to be named in the step itself, such as in its environmentVariables, or in its service: it comes with the task then",
			t.ID, t.Node)
	}
	return nil
}

// onlyNamed refuses what only files name to a delegate whose token is bound to
// what documents name.
func onlyNamed(d store.Delegate, t store.Task, named []resolve.Named) error {
	if d.Binding == nil || !d.Binding.NamedSecrets {
		return nil
	}
	for _, n := range named {
		if n.ByText && !cameWith(t, n.Name) {
			return fault.New(fault.Forbidden,
				"the files of task %s name the %s, which no document of the step, its service or its environment names, and the token of delegate %s is for those alone; name it there, such as in a variable of the service of the type Secret, and read that in the file",
				t.ID, n.Name, d.Name)
		}
	}
	return nil
}

// cameWith says whether a task brought a secret by itself.
func cameWith(t store.Task, name string) bool {
	for _, own := range t.Secrets {
		if own == name {
			return true
		}
	}
	return false
}

// recordRevealed enters in the audit trail which secrets a delegate is about to
// be given for a task. The same ones for the same task are recorded once.
func (s *Tasks) recordRevealed(ctx context.Context, d store.Delegate, t store.Task, named []resolve.Named, by audit.Author) error {
	if len(named) == 0 {
		return nil
	}
	if len(named) > MaxRevealed {
		return fault.New(fault.TooLarge, "the files of task %s name %d secrets at once; the limit is %d", t.ID, len(named), MaxRevealed)
	}
	what := revealed(d, t, named)
	key := sha256.Sum256(fmt.Appendf(nil, "reveal %q %q %d %q", t.ID, d.ID, t.Fence, what))
	return s.Store.AppendAuditOnce(ctx, audit.Record{
		Time: s.Now(), Actor: by.Actor, Scope: t.Scope, Action: audit.Reveal, Kind: "task", ID: string(t.ID), After: what, Request: by.Request,
	}, fmt.Sprintf("%x", key), s.Now().Add(revealedKept))
}

// revealed tells whom which secrets are given for what, as YAML and without
// their values: apart are those that no document names, only the files.
func revealed(d store.Delegate, t store.Task, named []resolve.Named) string {
	var b strings.Builder
	fmt.Fprintf(&b, "delegate: {name: %q, id: %q, host: %q}\nexecution: %s\nstep: %s\nattempt: %d\n", d.Name, d.ID, d.Host, t.Execution, t.Node, t.Attempt)
	for _, part := range []struct {
		key    string
		byText bool
	}{{"namedInDocuments", false}, {"namedInFilesAlone", true}} {
		head := part.key + ":\n"
		for _, n := range named {
			if (n.ByText && !cameWith(t, n.Name)) == part.byText {
				fmt.Fprintf(&b, "%s  - %q\n", head, n.Name)
				head = ""
			}
		}
	}
	return b.String()
}
