// Package allowlist says from where requests may come: what the IP allow lists of an
// account come to.
//
// It is pure. Who reads the lists is pkg/access/grants, and what a request comes from
// is found out by pkg/api.
package allowlist

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Source is by what somebody asks, in Harness's words.
type Source string

// The sources: the console, with its login, and programs, with a token.
const (
	UI  Source = "UI"
	API Source = "API"
)

// Sources lists them.
func Sources() []Source { return []Source{UI, API} }

// List is an IP allow list: of each source that it names it lets in who comes from one
// of its addresses.
type List struct {
	Enabled bool
	Of      []Source
	Block   netip.Prefix
}

// Closed is a list that can't be read: it lets nobody in, because nobody knows any more
// whom it was to keep out.
func Closed() List { return List{Enabled: true, Of: Sources()} }

// Parse reads an address, or a block of them.
func Parse(text string) (netip.Prefix, error) {
	bad := fmt.Errorf("found %.60q; want an address such as 203.0.113.7 or 2001:db8::7, or a block such as 203.0.113.0/24", text)
	if !strings.Contains(text, "/") {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.Zone() != "" {
			return netip.Prefix{}, bad
		}
		ip = ip.Unmap()
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	block, err := netip.ParsePrefix(text)
	if err != nil || block.Addr().Is4In6() {
		return netip.Prefix{}, bad
	}
	if block != block.Masked() {
		return netip.Prefix{}, fmt.Errorf("found %s, which begins in the middle of a block; want %s", block, block.Masked())
	}
	return block, nil
}

// Origin is where a request comes from. Its zero value is Slipway itself.
type Origin struct {
	Address netip.Addr
	Source  Source
}

// Shown is the address for people.
func (o Origin) Shown() string {
	if !o.Address.IsValid() {
		return "an unknown address"
	}
	return o.Address.Unmap().String()
}

// Admitted says whether lists let somebody in: a source that no list in force names is
// open to everybody.
func Admitted(lists []List, from Origin) bool {
	closed := false
	for _, l := range lists {
		if !l.Enabled || !slices.Contains(l.Of, from.Source) {
			continue
		}
		if closed = true; l.Block.IsValid() && l.Block.Contains(from.Address.Unmap().WithZone("")) {
			return true
		}
	}
	return !closed
}
