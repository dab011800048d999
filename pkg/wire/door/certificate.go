package door

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Certificate is a certificate and its key in files. When they change, new
// connections get the new one; a pair that can't be used, as while it is being
// written, leaves the one before in use.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    [2]stamp
}

// stamp says whether a file is the one that was read.
type stamp struct {
	modified time.Time
	size     int64
}

// LoadCertificate reads a certificate with its chain and its key, in PEM.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	seen, err := c.look()
	if err == nil {
		err = c.load()
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "the certificate %s with the key %s can't be used: %w", certFile, keyFile, err)
	}
	c.seen = seen
	return c, nil
}

// Config is for servers. HTTP/1.1 alone is spoken: with HTTP/2 the bounds of
// this package would be of connections that carry many requests.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(hello.Context()), nil },
	}
}

// get looks at the files at each handshake, which costs far more than that.
func (c *Certificate) get(ctx context.Context) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, err := c.look()
	if err == nil && seen == c.seen {
		return c.current
	}
	if err == nil {
		c.seen = seen // one that is wrong is told once
		err = c.load()
	}
	if err != nil {
		c.log.WarnContext(ctx, "the certificate has changed and can't be used; the one before stays", "error", err)
	} else {
		c.log.InfoContext(ctx, "the certificate has changed", "file", c.certFile, "until", c.current.Leaf.NotAfter)
	}
	return c.current
}

func (c *Certificate) look() (seen [2]stamp, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return seen, fmt.Errorf("look at the certificate's files: %w", err)
		}
		seen[i] = stamp{info.ModTime(), info.Size()}
	}
	return seen, nil
}

func (c *Certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err == nil {
		c.current = &pair
	}
	return err
}
