package shell

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// dialFor bounds how long a host has to answer and to let the user in.
const dialFor = 30 * time.Second

// dial logs in to a host.
func dial(ctx context.Context, t task.SSH, hosts *knownHosts) (*ssh.Client, error) {
	key, err := signer(t)
	if err != nil {
		return nil, err
	}
	if t.Host == "" || t.User == "" {
		return nil, fault.New(fault.Invalid, "the host is %q and the user %q; want both", t.Host, t.User)
	}
	address := net.JoinHostPort(t.Host, strconv.Itoa(t.Port))
	config := &ssh.ClientConfig{User: t.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: hosts.check}
	if config.HostKeyAlgorithms, err = hosts.algorithms(address); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialFor)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "host %s is out of reach: %w", address, err)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // ends the handshake
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		_ = conn.Close() // the handshake's error says why
		return nil, refused(address, t.User, err)
	}
	return ssh.NewClient(c, channels, requests), nil
}

func signer(t task.SSH) (ssh.Signer, error) {
	var key ssh.Signer
	var err error
	if t.Passphrase != "" {
		key, err = ssh.ParsePrivateKeyWithPassphrase([]byte(t.Key), []byte(t.Passphrase))
	} else {
		key, err = ssh.ParsePrivateKey([]byte(t.Key))
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "the private key can't be read: %w", err)
	}
	return key, nil
}

// refused says why a host didn't let the user in.
func refused(address, user string, err error) error {
	var changed *knownhosts.KeyError
	switch {
	case errors.As(err, &changed):
		return fault.New(fault.Invalid, "host %s has another key than the one that this delegate knows: %w", address, err).Causing(fault.Authentication)
	case strings.Contains(err.Error(), "unable to authenticate"):
		return fault.New(fault.Unauthenticated, "host %s doesn't let %s in: %w", address, user, err)
	}
	return fault.New(fault.Unavailable, "host %s: %w", address, err).Causing(fault.Connectivity)
}

// knownHosts remembers the keys of hosts: that of a new host is taken as it
// is, another key of a known host is refused. It is for many goroutines.
type knownHosts struct {
	folder string
	mu     sync.Mutex
}

func (k *knownHosts) file() string { return filepath.Join(k.folder, "known_hosts") }

// read reads what is remembered.
func (k *knownHosts) read() (ssh.HostKeyCallback, error) {
	if err := os.MkdirAll(k.folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of known hosts: %w", err)
	}
	f, err := os.OpenFile(k.file(), os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the known hosts: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return knownhosts.New(k.file())
}

// check checks a host's key (ssh.HostKeyCallback).
func (k *knownHosts) check(address string, remote net.Addr, key ssh.PublicKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, err := k.read()
	if err != nil {
		return err
	}
	err = known(address, remote, key)
	var unknown *knownhosts.KeyError
	if !errors.As(err, &unknown) || len(unknown.Want) > 0 {
		return err
	}
	f, err := os.OpenFile(k.file(), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("remember the host's key: %w", err)
	}
	_, err = fmt.Fprintln(f, knownhosts.Line([]string{knownhosts.Normalize(address)}, key))
	return errors.Join(err, f.Close())
}

// algorithms are those of the keys that are known of a host, so that it shows
// one of these; nil for a new host.
func (k *knownHosts) algorithms(address string) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, err := k.read()
	if err != nil {
		return nil, err
	}
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	nobodys, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	var unknown *knownhosts.KeyError
	if err := known(address, &net.TCPAddr{}, nobodys); !errors.As(err, &unknown) {
		return nil, err
	}
	var list []string
	for _, w := range unknown.Want {
		if w.Key.Type() == ssh.KeyAlgoRSA {
			list = append(list, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		}
		list = append(list, w.Key.Type())
	}
	return list, nil
}
