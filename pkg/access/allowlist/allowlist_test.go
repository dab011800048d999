package allowlist_test

import (
	"net/netip"
	"testing"

	"github.com/slipway-cd/slipway/pkg/access/allowlist"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"203.0.113.7", "203.0.113.7/32"},
		{"203.0.113.0/24", "203.0.113.0/24"},
		{"0.0.0.0/0", "0.0.0.0/0"},
		{"2001:db8::7", "2001:db8::7/128"},
		{"2001:db8::/32", "2001:db8::/32"},
		{"::ffff:203.0.113.7", "203.0.113.7/32"},
		{"::ffff:203.0.113.0/120", ""},
		{"203.0.113.7/24", ""}, // which would let in more than is written, or less
		{"203.0.113", ""},
		{"203.0.113.007", ""},
		{"fe80::1%eth0", ""},
		{"203.0.113.0/33", ""},
		{"office.example.com", ""},
		{"", ""},
	} {
		got, err := allowlist.Parse(c.text)
		if (err == nil) != (c.want != "") || err == nil && got.String() != c.want {
			t.Errorf("%q is %s, %v; want %q", c.text, got, err, c.want)
		}
	}
}

func TestAdmitted(t *testing.T) {
	t.Parallel()
	list := func(enabled bool, block string, of ...allowlist.Source) allowlist.List {
		p, err := allowlist.Parse(block)
		if err != nil {
			t.Fatal(err)
		}
		return allowlist.List{Enabled: enabled, Of: of, Block: p}
	}
	office, six := list(true, "203.0.113.0/24", allowlist.UI, allowlist.API), list(true, "2001:db8::/32", allowlist.API)
	for _, c := range []struct {
		name    string
		lists   []allowlist.List
		address string
		source  allowlist.Source
		want    bool
	}{
		{"no list", nil, "198.51.100.1", allowlist.API, true},
		{"none in force", []allowlist.List{list(false, "203.0.113.0/24", allowlist.API)}, "198.51.100.1", allowlist.API, true},
		{"of the other source alone", []allowlist.List{six}, "198.51.100.1", allowlist.UI, true},
		{"in it", []allowlist.List{office}, "203.0.113.7", allowlist.API, true},
		{"in it, as IPv6 writes it", []allowlist.List{office}, "::ffff:203.0.113.7", allowlist.UI, true},
		{"not in it", []allowlist.List{office}, "203.0.114.7", allowlist.API, false},
		{"in another", []allowlist.List{office, six}, "2001:db8::1", allowlist.API, true},
		{"in another of the other source", []allowlist.List{office, six}, "2001:db8::1", allowlist.UI, false},
		{"in one that isn't in force", []allowlist.List{office, list(false, "198.51.100.1", allowlist.API)}, "198.51.100.1", allowlist.API, false},
		{"one that can't be read", []allowlist.List{allowlist.Closed()}, "203.0.113.7", allowlist.UI, false},
		{"nobody knows from where", []allowlist.List{list(true, "0.0.0.0/0", allowlist.API)}, "", allowlist.API, false},
	} {
		address, _ := netip.ParseAddr(c.address)
		if got := allowlist.Admitted(c.lists, allowlist.Origin{Address: address, Source: c.source}); got != c.want {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
	}
}
