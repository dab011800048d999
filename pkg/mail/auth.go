package mail

import (
	"errors"
	"net/smtp"
	"slices"
	"strings"
)

var errPlain = errors.New("a password isn't sent over a connection that isn't private")

func offers(ways, way string) bool { return slices.Contains(strings.Fields(ways), way) }

// loginAuth is AUTH LOGIN, which net/smtp doesn't have: the server asks for
// the name, then for the password.
type loginAuth struct {
	username, password string
	asked              int
}

// Start begins (smtp.Auth).
func (a *loginAuth) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS {
		return "", nil, errPlain
	}
	return "LOGIN", nil, nil
}

// Next answers the server's questions, whatever they are called.
func (a *loginAuth) Next(_ []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	a.asked++
	if a.asked == 1 {
		return []byte(a.username), nil
	}
	return []byte(a.password), nil
}
