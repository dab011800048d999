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
	e, err := acc.scope.documents().saved(ref.Secret, r)
	if fault.Is(err, fault.NotFound) {
		return task.SSH{}, fault.New(fault.NotFound, "secret %q isn't in %s", r.ID, r.Scope)
	}
	if err != nil {
		return task.SSH{}, err
	}
	if kind := e.Secret.Type.Text; kind != "SSHKey" {
		return task.SSH{}, fault.New(fault.Invalid, "secret %q is of type %s; want SSHKey", r.ID, kind)
	}
	ssh := e.Secret.SSH
	out := task.SSH{Port: defaultSSHPort, User: ssh.User.Text}
	if port := ssh.Port.Text; port != "" {
		if out.Port, err = strconv.Atoi(port); err != nil {
			return task.SSH{}, fault.New(fault.Invalid, "the port of secret %q is %q; want a number", r.ID, port)
		}
	}
	if out.Key, err = acc.secretFrom(ssh.KeyRef, r.Scope); err == nil {
		out.Passphrase, err = acc.secretFrom(ssh.PassphraseRef, r.Scope)
	}
	return out, err
}

// secretFrom is the placeholder of a secret that a document of a scope names;
// empty if it names none.
func (acc access) secretFrom(name yamldoc.Field[string], from ref.Scope) (string, error) {
	if name.Text == "" {
		return "", nil
	}
	v, err := acc.secret(name.Text, from)
	return v.Text(), err
}
