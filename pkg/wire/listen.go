package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/wire/door"
)

// listen opens the server's door. Plain HTTP stays on the machine unless
// somebody says that it may leave it: tokens and secrets go over it.
func listen(ctx context.Context, cfg ServeConfig) (l net.Listener, scheme string, err error) {
	if (cfg.TLSCert == "") != (cfg.TLSKey == "") {
		return nil, "", fault.New(fault.Invalid, "a certificate and its key come together: --tls-cert and --tls-key")
	}
	var cert *door.Certificate
	if cfg.TLSCert != "" {
		if cert, err = door.LoadCertificate(cfg.TLSCert, cfg.TLSKey, cfg.Log); err != nil {
			return nil, "", err
		}
	}
	tcp, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, "", fmt.Errorf("listen: %w", err)
	}
	at, _ := tcp.Addr().(*net.TCPAddr)
	bounded := &door.Listener{Listener: tcp, Log: cfg.Log, Most: door.Most, PerRemote: door.PerRemote}
	switch {
	case cert != nil:
		return tls.NewListener(bounded, cert.Config()), "https", nil
	case cfg.Insecure || at != nil && at.IP.IsLoopback():
		return bounded, "http", nil
	}
	return nil, "", errors.Join(fault.New(fault.Invalid, "%s can be reached from other machines, and without TLS whoever is on the way reads tokens and secrets; "+
		"give --tls-cert and --tls-key, listen at 127.0.0.1, or, behind a proxy that speaks TLS, give --insecure", tcp.Addr()), tcp.Close())
}
