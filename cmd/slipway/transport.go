package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// loopback says whether a host is this machine and reached by nobody else.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// here says whether a host is this machine. One that listens everywhere is
// called by the address that it has told.
func here(host string) bool {
	ip := net.ParseIP(host)
	return loopback(host) || ip != nil && ip.IsUnspecified() || strings.HasSuffix(host, ".localhost")
}

// insecure says whether plain HTTP may leave the machine.
func (c *caller) insecure() (bool, error) {
	text := c.env("SLIPWAY_INSECURE")
	if c.flags.Insecure || text == "" {
		return c.flags.Insecure, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fault.New(fault.Invalid, "SLIPWAY_INSECURE is %q; want true or false", text)
	}
	return on, nil
}

// tls is how the server's certificate is checked; nil: as the system does.
func (s settings) tls() (*tls.Config, error) {
	if s.CAFile == "" {
		return nil, nil //nolint:nilnil // as http.Transport has it
	}
	doc, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, fault.New(fault.Invalid, "read the certificates of --ca-file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificates: %w", err)
	}
	if !pool.AppendCertsFromPEM(doc) {
		return nil, fault.New(fault.Invalid, "%s holds no certificate in PEM", s.CAFile)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
