// Package directory is an LDAP directory on loopback, of a few entries that the
// test names. It answers binds and searches, and has no other way to be changed than
// the test's.
package directory

import (
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
	"github.com/hashicorp/go-hclog"
	"github.com/jimlambrt/gldap"

	"github.com/slipway-cd/slipway/internal/testport"
)

// The names that a directory begins with, and who searches.
const (
	People       = "ou=people,dc=example,dc=com"
	Groups       = "ou=groups,dc=example,dc=com"
	SearchDN     = "cn=search,dc=example,dc=com"
	SearchSecret = "s3arch"
)

// Entry is one of the directory.
type Entry struct {
	DN         string
	Password   string // empty: none lets it in
	Attributes map[string][]string
}

// Directory is one.
type Directory struct {
	Port int
	CA   string // of its certificate, as PEM
	tb   testing.TB
	own  *tls.Config

	mu      sync.Mutex
	entries []Entry
	Asked   []string // what it was asked, without passwords
}

// New starts one: with TLS from the first byte on, or with plain ones.
func New(tb testing.TB, secure bool) *Directory {
	tb.Helper()
	lender := httptest.NewTLSServer(nil) // whose certificate is of this machine
	tb.Cleanup(lender.Close)
	free, err := testport.Free(1)
	if err != nil {
		tb.Fatal(err)
	}
	at := netip.MustParseAddrPort(free[0])
	d := &Directory{
		tb: tb, Port: int(at.Port()), own: &tls.Config{Certificates: lender.TLS.Certificates, MinVersion: tls.VersionTLS12},
		CA: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw})),
	}
	server, err := gldap.NewServer(gldap.WithLogger(hclog.NewNullLogger()))
	if err != nil {
		tb.Fatal(err)
	}
	mux, err := gldap.NewMux()
	if err != nil {
		tb.Fatal(err)
	}
	for _, err := range []error{mux.Bind(d.bind), mux.Search(d.search), mux.ExtendedOperation(d.startTLS, gldap.ExtendedOperationStartTLS), server.Router(mux)} {
		if err != nil {
			tb.Fatal(err)
		}
	}
	var with []gldap.Option
	if secure {
		with = append(with, gldap.WithTLSConfig(d.own))
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(at.String(), with...) }()
	tb.Cleanup(func() {
		if err := server.Stop(); err != nil {
			tb.Error(err)
		}
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	for !server.Ready() {
		select {
		case err := <-ended:
			tb.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	return d
}

// Set gives the directory its entries.
func (d *Directory) Set(entries ...Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append([]Entry{{DN: SearchDN, Password: SearchSecret}}, entries...)
}

// Without takes an entry out of the directory.
func (d *Directory) Without(dn string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = slices.DeleteFunc(d.entries, func(e Entry) bool { return e.DN == dn })
}

// Questions is what the directory was asked.
func (d *Directory) Questions() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.Asked...)
}

func (d *Directory) asked(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Asked = append(d.Asked, what)
}

func (d *Directory) bind(w *gldap.ResponseWriter, r *gldap.Request) {
	answer := r.NewBindResponse(gldap.WithResponseCode(gldap.ResultInvalidCredentials))
	m, err := r.GetSimpleBindMessage()
	if err != nil {
		d.tb.Error(err)
		return
	}
	d.asked("bind " + m.UserName)
	d.mu.Lock()
	for _, e := range d.entries {
		if strings.EqualFold(e.DN, m.UserName) && e.Password != "" && e.Password == string(m.Password) {
			answer.SetResultCode(gldap.ResultSuccess)
		}
	}
	d.mu.Unlock()
	_ = w.Write(answer) // whoever asks may have gone
}

func (d *Directory) startTLS(w *gldap.ResponseWriter, r *gldap.Request) {
	answer := r.NewExtendedResponse(gldap.WithResponseCode(gldap.ResultSuccess))
	answer.SetResponseName(gldap.ExtendedOperationStartTLS)
	d.asked("start TLS")
	if w.Write(answer) == nil {
		_ = r.StartTLS(d.own) // whoever doesn't trust it goes
	}
}

func (d *Directory) search(w *gldap.ResponseWriter, r *gldap.Request) {
	done := r.NewSearchDoneResponse(gldap.WithResponseCode(gldap.ResultSuccess))
	m, err := r.GetSearchMessage()
	if err != nil {
		d.tb.Error(err)
		return
	}
	d.asked("search " + m.BaseDN + " " + m.Filter)
	filter, err := ldap.CompileFilter(m.Filter)
	if err != nil {
		done.SetResultCode(gldap.ResultFilterError)
		_ = w.Write(done)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	found := int64(0)
	for _, e := range d.entries {
		if !strings.HasSuffix(strings.ToLower(e.DN), strings.ToLower(m.BaseDN)) || !holds(filter, e) {
			continue
		}
		if found++; m.SizeLimit > 0 && found > m.SizeLimit {
			done.SetResultCode(gldap.ResultSizeLimitExceeded)
			break
		}
		_ = w.Write(r.NewSearchResponseEntry(e.DN, gldap.WithAttributes(e.Attributes)))
	}
	_ = w.Write(done)
}

// holds says whether an entry is what a filter asks for.
func holds(f *ber.Packet, e Entry) bool {
	switch uint64(f.Tag) {
	case ldap.FilterAnd:
		for _, part := range f.Children {
			if !holds(part, e) {
				return false
			}
		}
		return true
	case ldap.FilterOr:
		for _, part := range f.Children {
			if holds(part, e) {
				return true
			}
		}
		return false
	case ldap.FilterNot:
		return !holds(f.Children[0], e)
	case ldap.FilterPresent:
		return len(values(e, f.Data.String())) > 0
	case ldap.FilterEqualityMatch:
		name, want := f.Children[0].Value, f.Children[1].Value
		for _, v := range values(e, text(name)) {
			if strings.EqualFold(v, text(want)) {
				return true
			}
		}
	}
	return false
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func values(e Entry, name string) []string {
	if strings.EqualFold(name, "objectClass") {
		return []string{"person", "groupOfNames"}
	}
	for n, all := range e.Attributes {
		if strings.EqualFold(n, name) {
			return all
		}
	}
	return nil
}
