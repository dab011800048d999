package resolve

import (
	"crypto/rand"
	"fmt"
	"maps"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/task"
)

// placeholders stand for secrets in texts. Each has a random part, so that a
// user can't write one down and have another secret put in its place.
type placeholders struct {
	nonce string
	byRef map[string]string
	pulls map[string]task.PullSecret // by placeholder
}

func newPlaceholders() *placeholders {
	return &placeholders{byRef: map[string]string{}, pulls: map[string]task.PullSecret{}}
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

// pull is the handle of a secret that a delegate makes.
func (p *placeholders) pull(s task.PullSecret) expr.Value {
	ph := fmt.Sprintf("⟦pull-%s-%d⟧", p.random(), len(p.pulls))
	p.pulls[ph] = s
	return expr.SecretRef(ph)
}

func (p *placeholders) random() string {
	if p.nonce == "" {
		p.nonce = rand.Text()[:16]
	}
	return p.nonce
}

// MailServer is the installation's mail server, its password a placeholder.
func (s *Scope) MailServer() (task.MailServer, error) {
	if s.Mail == nil {
		return task.MailServer{}, fault.New(fault.Unavailable, "this installation has no mail server; its operator can give it one (see docs/notifications.md)")
	}
	server := *s.Mail
	if server.Password == "" {
		return server, nil
	}
	v, err := s.secret(server.Password, s.Execution.Scope)
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

// PullSecrets says how to make what its placeholders stand for. Its strings
// hold placeholders of Secrets.
func (s *Scope) PullSecrets() map[string]task.PullSecret {
	if len(s.secrets.pulls) == 0 {
		return nil
	}
	return maps.Clone(s.secrets.pulls)
}

// Hidden says whether any placeholder was given out.
func (s *Scope) Hidden() bool { return len(s.secrets.byRef)+len(s.secrets.pulls) > 0 }

// secret is the handle of a secret by its reference, as written in the scope.
func (s *Scope) secret(text string, from ref.Scope) (expr.Value, error) {
	r, err := ref.Parse(text, from)
	if err != nil {
		return expr.Null(), fault.New(fault.Invalid, "secret %q: %w", text, err)
	}
	return s.secrets.of(secret.Name(r)), nil
}
