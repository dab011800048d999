package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/wire/door"
)

// listen opens the server's door, and says at which URL it is. Plain HTTP stays on the machine unless
// somebody says that it may leave it: tokens and secrets go over it.
func listen(ctx context.Context, cfg ServeConfig) (l net.Listener, at string, err error) {
	if (cfg.TLSCert == "") != (cfg.TLSKey == "") {
		return nil, "", fault.New(fault.Invalid, "a certificate and its key come together: --tls-cert and --tls-key")
	}
	speaks, err := speaksTLS(cfg)
	if err != nil {
		return nil, "", err
	}
	tcp, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, "", fmt.Errorf("listen: %w", err)
	}
	addr, _ := tcp.Addr().(*net.TCPAddr)
	bounded := &door.Listener{Listener: tcp, Log: cfg.Log, Most: door.Most, PerRemote: door.PerRemote}
	switch {
	case speaks != nil:
		return tls.NewListener(bounded, speaks), servedAt(cfg, tcp.Addr(), "https"), nil
	case cfg.Insecure || addr != nil && addr.IP.IsLoopback():
		return bounded, servedAt(cfg, tcp.Addr(), "http"), nil
	}
	return nil, "", errors.Join(fault.New(fault.Invalid, "%s can be reached from other machines, and without TLS whoever is on the way reads tokens and secrets; "+
		"give --tls-cert and --tls-key, or --acme-host, listen at 127.0.0.1, or, behind a proxy that speaks TLS, give --insecure", tcp.Addr()), tcp.Close())
}

// speaksTLS is how the server speaks TLS; nil: it doesn't.
func speaksTLS(cfg ServeConfig) (*tls.Config, error) {
	switch {
	case cfg.TLSCert != "" && cfg.ACME.Host != "":
		return nil, fault.New(fault.Invalid, "a certificate comes from files or from an authority: give --tls-cert and --tls-key, or --acme-host")
	case cfg.TLSCert != "":
		cert, err := door.LoadCertificate(cfg.TLSCert, cfg.TLSKey, cfg.Log)
		if err != nil {
			return nil, err
		}
		return cert.Config(), nil
	case cfg.ACME.Host != "":
		own := cfg.ACME
		own.Cache = filepath.Join(cfg.Data, "acme")
		if err := own.Check(); err != nil {
			return nil, err
		}
		return own.Config(cfg.Log), nil
	case cfg.ACME != door.ACME{}:
		return nil, fault.New(fault.Invalid, "--acme-email and --acme-directory say how the certificate of --acme-host is got, and that isn't given")
	}
	return nil, nil
}

// servedAt is the URL of the server: by its name where its certificate is for
// that, else by where it listens.
func servedAt(cfg ServeConfig, at net.Addr, scheme string) string {
	addr, tcp := at.(*net.TCPAddr)
	switch {
	case cfg.ACME.Host == "" || !tcp:
		return scheme + "://" + at.String()
	case addr.Port == 443:
		return scheme + "://" + cfg.ACME.Host
	}
	return fmt.Sprintf("%s://%s:%d", scheme, cfg.ACME.Host, addr.Port)
}
