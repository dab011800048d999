// Package address checks the addresses that a delegate is given: of web
// servers, of Git repositories and of registries of charts.
//
// Saving a connector checks what its document says. One that comes from an
// expression is known only when a task has begun, so whatever a delegate asks
// over a network goes by here first: an address mustn't make it read its own
// disk, or run a program. Whom an address belongs to isn't checked: whoever may
// write a pipeline may have its delegates speak to any host.
package address

import (
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Web reads the address of a web server. what names it in an error, e.g. "the
// connector's URL".
func Web(what, text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s can't be read: %w", what, errors.Unwrap(err)) // the whole error has all of it, and so a password in it
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fault.New(fault.Invalid, "%s is %q; want https:// or http:// and a host", what, u.Redacted())
	}
	return u, nil
}

var scpLike = regexp.MustCompile(`^[^/@\s:]+@[^/:\s]+:`)

// Git checks the URL of a repository: it refuses what git would take for a
// folder of this machine or for a program.
func Git(text string) error {
	clean := text != "" && text[0] != '-' && !strings.ContainsAny(text, "\r\n\x00")
	for _, scheme := range []string{"http://", "https://", "ssh://"} {
		if rest, ok := strings.CutPrefix(text, scheme); ok && clean && rest != "" && rest[0] != '-' && rest[0] != '/' {
			return nil
		}
	}
	if clean && scpLike.MatchString(text) {
		return nil
	}
	return fault.New(fault.Invalid, "the repository's URL is %q; want one that starts with https://, http:// or ssh://, or git@host:path", text)
}

// Registry reads the address of a registry of charts, and gives it without its
// scheme, as references to charts begin.
func Registry(text string) (string, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "oci", text
	}
	if scheme != "oci" && scheme != "https" || rest == "" || strings.ContainsAny(rest[:1], "/.-@") || strings.Contains(rest, "://") || strings.ContainsAny(rest, " \r\n\x00") {
		return "", fault.New(fault.Invalid, "the registry of charts is %q; want one such as oci://registry.example.com/charts", text)
	}
	return rest, nil
}
