package shell

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-cd/slipway/pkg/task"
)

// host is an SSH server on the loopback that runs commands as sshd does: by
// the user's shell, each in a session of its own.
type host struct {
	login task.SSH // who may log in

	mu       sync.Mutex
	commands int
	key      ssh.Signer // the server's
}

func newHost(t *testing.T) *host {
	t.Helper()
	private, public := keyPair(t)
	h := &host{key: serverKey(t)}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	h.login = task.SSH{Host: "127.0.0.1", Port: n, User: "ada", Key: private}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			go h.serve(conn, public)
		}
	}()
	return h
}

// keyPair is a user's key: the private one in PEM, and the public one.
func keyPair(t *testing.T) (string, ssh.PublicKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), key
}

func serverKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// becomeAnother gives the host another key, as somebody in between has.
func (h *host) becomeAnother(t *testing.T) {
	t.Helper()
	key := serverKey(t)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.key = key
}

func (h *host) ran() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.commands
}

func (h *host) serve(conn net.Conn, user ssh.PublicKey) {
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != "ada" || string(key.Marshal()) != string(user.Marshal()) {
			return nil, errors.New("unknown")
		}
		return &ssh.Permissions{}, nil
	}}
	h.mu.Lock()
	config.AddHostKey(h.key)
	h.mu.Unlock()
	c, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return // the client tells
	}
	defer c.Close()
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go h.session(channel, requests)
	}
}

func (h *host) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for r := range requests {
		var p struct{ Command string }
		if r.Type != "exec" || ssh.Unmarshal(r.Payload, &p) != nil {
			_ = r.Reply(false, nil)
			continue
		}
		_ = r.Reply(true, nil)
		h.mu.Lock()
		h.commands++
		h.mu.Unlock()
		status := execute(p.Command, channel)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
		return
	}
}

func execute(command string, channel ssh.Channel) uint32 {
	cmd := exec.Command("/bin/sh", "-c", command) // ends by itself or by a signal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = channel, channel, channel.Stderr()
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return uint32(exit.ExitCode())
	}
	return 255
}
