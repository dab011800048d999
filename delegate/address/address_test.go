package address_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// elsewhere are addresses that no task may use, whatever it does.
func elsewhere() []string {
	return []string{
		"", "file:///etc/passwd", "FILE:///etc/passwd", "/etc/passwd", "../x", "ftp://host/x", "gopher://host", "unix:///run/docker.sock", "http:///x", "://host",
		"-oProxyCommand=x://host", "ext::sh -c x", "oci://file:///etc",
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for kind, tt := range map[string]struct {
		check func(string) error
		good  []string
		bad   []string
	}{
		"web": {
			func(text string) error { _, err := address.Web("the URL", text); return err },
			[]string{"https://host", "http://host:8080/path?q", "HTTPS://host", " https://host ", "http://[::1]/x"},
			[]string{"host", "host:443", "http:", "https:host", "data:text/plain,x", "oci://host", "ssh://host", "http://ho st", "git@host:path"},
		},
		"git": {
			address.Git,
			[]string{"https://host/x.git", "http://host/x", "ssh://git@host/x", "git@host:path/x.git"},
			[]string{"git://host/x", "host:path", "https://-x", "-u@host:path", "git@host:path\nx"},
		},
		"registry": {
			func(text string) error { _, err := address.Registry(text); return err },
			[]string{"oci://host/charts", "host/charts", "https://host", "host:5000"},
			[]string{"http://host/charts", "oci://", "oci:///charts", "ssh://host", "git://host", "oci://ho st"},
		},
	} {
		for _, text := range tt.good {
			if err := tt.check(text); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		for _, text := range append(elsewhere(), tt.bad...) {
			if err := tt.check(text); fault.CodeOf(err) != fault.Invalid {
				t.Errorf("%s: %q is taken, %v", kind, text, err)
			}
		}
	}
	if _, err := address.Web("the URL", "ftp://user:word@host"); err == nil || strings.Contains(err.Error(), "word") {
		t.Errorf("a password is shown: %v", err)
	}
	if got, err := address.Registry("oci://host/charts"); got != "host/charts" || err != nil {
		t.Errorf("the registry is %q, %v", got, err)
	}
}
