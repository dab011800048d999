package resolve

import (
	"strconv"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// defaultSSHPort is that of a key that says none (semantics/entities §10).
const defaultSSHPort = 22

// SSHKey resolves a secret of type SSHKey: who logs in, with the key as a
// placeholder, at which port. The reference has been resolved already.
func (s *Scope) SSHKey(name string) (task.SSH, error) {
	r, err := ref.Parse(name, s.Execution.Scope)
	if err != nil {
		return task.SSH{}, fault.New(fault.Invalid, "secret %q: %w", name, err)
	}
	return s.access().sshKey(r)
}

func (acc access) sshKey(r ref.Ref) (task.SSH, error) {
	doc, err := acc.scope.documents().raw(ref.Secret, r)
	if fault.Is(err, fault.NotFound) {
		return task.SSH{}, fault.New(fault.NotFound, "secret %q isn't in %s", r.ID, r.Scope)
	}
	if err != nil {
		return task.SSH{}, err
	}
	if kind := text(doc.Get("type")); kind != "SSHKey" {
		return task.SSH{}, fault.New(fault.Invalid, "secret %q is of type %s; want SSHKey", r.ID, kind)
	}
	out := task.SSH{Port: defaultSSHPort}
	if port := text(doc.At("spec", "port")); port != "" {
		if out.Port, err = strconv.Atoi(port); err != nil {
			return task.SSH{}, fault.New(fault.Invalid, "the port of secret %q is %q; want a number", r.ID, port)
		}
	}
	out.User, out.Key, out.Passphrase, err = acc.login(doc, r.Scope)
	return out, err
}

// login is who logs in with a secret of type SSHKey. What its document names is
// in the document's own scope.
func (acc access) login(doc *yamldoc.Node, of ref.Scope) (user, key, passphrase string, err error) {
	credential := doc.At("spec", "auth", "spec", "spec")
	if key, err = acc.secretFrom(credential.Get("key"), of); err == nil {
		passphrase, err = acc.secretFrom(credential.Get("encryptedPassphrase"), of)
	}
	return text(credential.Get("userName")), key, passphrase, err
}

// secretFrom is the placeholder of a secret that a document of a scope names;
// empty if the key is absent.
func (acc access) secretFrom(n *yamldoc.Node, from ref.Scope) (string, error) {
	if n == nil || n.Value == "" {
		return "", nil
	}
	v, err := acc.secret(n.Value, from)
	return v.Text(), err
}
