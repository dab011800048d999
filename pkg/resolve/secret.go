package resolve

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/task"
)

// placeholders stand for secrets in texts. Each has a random part, so that a
// user can't write one down and have another secret put in its place.
type placeholders struct {
	nonce string
	byRef map[string]string
	late  map[string]task.LateSecret // by placeholder
	texts map[string]task.LateText   // by placeholder
	// identities are by the names that stand for them, which are no secret.
	identities map[string]identity.Identity
	// kept says under which placeholder a secret is handed out that somebody
	// else keeps, by its name; empty: Slipway keeps it itself.
	kept map[string]string
	// shown is what people and policies see in the place of one: how it is named.
	shown map[string]string
	// inside says that a manager's own inputs are being resolved.
	inside bool
	// named are the secrets that were handed out, by their names: whether only
	// the texts themselves have named one, and no document.
	named map[string]bool
}

func newPlaceholders() *placeholders {
	return &placeholders{
		byRef: map[string]string{}, late: map[string]task.LateSecret{}, texts: map[string]task.LateText{},
		identities: map[string]identity.Identity{}, kept: map[string]string{},
		named: map[string]bool{}, shown: map[string]string{},
	}
}

// of is the handle of a secret, by the name under which pkg/secret opens it.
func (p *placeholders) of(name string) expr.Value {
	ph, ok := p.byRef[name]
	if !ok {
		ph = fmt.Sprintf("⟦secret-%s-%d⟧", p.random(), len(p.byRef))
		p.byRef[name] = ph
	}
	return expr.SecretRef(ph)
}

// lateSecret is the handle of a secret that a delegate makes.
func (p *placeholders) lateSecret(s task.LateSecret) expr.Value {
	ph := fmt.Sprintf("⟦pull-%s-%d⟧", p.random(), len(p.late))
	p.late[ph] = s
	return expr.SecretRef(ph)
}

// lateText is the handle of a text that a delegate makes. Like a secret's it can't
// be looked into here.
func (p *placeholders) lateText(t task.LateText) expr.Value {
	ph := fmt.Sprintf("⟦text-%s-%d⟧", p.random(), len(p.texts))
	p.texts[ph] = t
	return expr.SecretRef(ph)
}

func (p *placeholders) random() string {
	if p.nonce == "" {
		p.nonce = rand.Text()[:16]
	}
	return p.nonce
}

// MailServer is the installation's mail server, its password a placeholder.
func (s *Scope) MailServer() (mail.Server, error) {
	if s.Mail == nil {
		return mail.Server{}, fault.New(fault.Unavailable, "this installation has no mail server; its operator can give it one (see docs/notifications.md)")
	}
	server := *s.Mail
	if server.Password == "" {
		return server, nil
	}
	v, err := s.access().secret(server.Password, ref.Scope{Account: s.Execution.Scope.Account})
	server.Password = v.Text()
	return server, err
}

// Secrets maps the placeholders that were given out to the names under which
// pkg/secret opens them.
func (s *Scope) Secrets() map[string]string {
	if len(s.secrets.byRef) == 0 {
		return nil
	}
	out := make(map[string]string, len(s.secrets.byRef))
	for name, ph := range s.secrets.byRef {
		out[ph] = name
	}
	return out
}

// Shown is a text that a scope has resolved as others may see it: with the reference of each secret in
// the place of what stands for it, and a mask for what has none.
func Shown(s *Scope, text string) string {
	if !strings.Contains(text, "⟦") {
		return text
	}
	hidden := slices.Collect(maps.Values(s.secrets.byRef))
	for _, ph := range slices.Concat(hidden, slices.Collect(maps.Keys(s.secrets.late)), slices.Collect(maps.Keys(s.secrets.texts))) {
		text = strings.ReplaceAll(text, ph, cmp.Or(s.secrets.shown[ph], redact.Mask))
	}
	return text
}

// LateSecrets says how to make what its placeholders stand for. Its strings
// hold placeholders of Secrets.
func (s *Scope) LateSecrets() map[string]task.LateSecret {
	if len(s.secrets.late) == 0 {
		return nil
	}
	return maps.Clone(s.secrets.late)
}

// LateTexts says how to make what its placeholders stand for. Its strings hold
// placeholders of Secrets.
func (s *Scope) LateTexts() map[string]task.LateText {
	if len(s.secrets.texts) == 0 {
		return nil
	}
	return maps.Clone(s.secrets.texts)
}

// Hidden says whether any placeholder was given out.
func (s *Scope) Hidden() bool {
	return len(s.secrets.byRef)+len(s.secrets.late)+len(s.secrets.texts) > 0
}

// secret is the handle of a secret by its reference, as a document in the scope
// has it.
func (acc access) secret(text string, from ref.Scope) (expr.Value, error) {
	return acc.secretNamed(text, from, false)
}

// secretNamed is secret, and says whether the text that is being resolved names
// it rather than a document on the way.
func (acc access) secretNamed(text string, from ref.Scope, byText bool) (expr.Value, error) {
	r, kept, err := acc.secretRef(text, from)
	if err != nil {
		return expr.Null(), fault.Wrap(err, "secret %q", text)
	}
	name := secret.Name(r)
	placeholder, known := acc.scope.secrets.kept[name]
	if !known {
		var fetched *task.LateSecret
		if kept != nil {
			fetched, err = acc.fetched(r, kept.Manager, connector.ValueReference, kept.Secret)
		} else {
			fetched, err = acc.elsewhereKept(r)
		}
		if err != nil {
			return expr.Null(), err
		}
		if fetched != nil {
			placeholder = acc.scope.secrets.lateSecret(*fetched).Text()
		}
		acc.scope.secrets.kept[name] = placeholder
	}
	acc.scope.secrets.name(name, byText)
	handle := expr.SecretRef(placeholder)
	if placeholder == "" {
		handle = acc.scope.secrets.of(name)
	}
	acc.scope.secrets.shown[handle.Text()] = fmt.Sprintf("<+secrets.getValue(%q)>", r.Text(acc.scope.Execution.Scope))
	return handle, nil
}

// secretRef is the reference of a secret, and where it is kept if it is named by
// that.
func (acc access) secretRef(text string, from ref.Scope) (ref.Ref, *connector.Kept, error) {
	kept, err := acc.scope.Connectors.Kept(text)
	if kept != nil || err != nil {
		return ref.Ref{Scope: from, ID: text}, kept, err
	}
	r, err := ref.Parse(text, from)
	return r, nil, err
}
