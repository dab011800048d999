package gitops

import (
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// NormalURL is a repository's URL in the one form in which two can be compared:
// git@host:path is ssh://git@host/path, scheme and host are in lower case, and there
// is neither .git nor a slash at the end, nor a user in one of HTTP.
func NormalURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if host, path, ok := strings.Cut(text, ":"); ok && !strings.Contains(text, "://") && !strings.Contains(host, "/") {
		text = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(text)
	if err != nil { // whose text has all of it, a password included
		return "", fault.New(fault.Invalid, "found a repository URL that can't be read; want one such as https://example.com/team/app.git")
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if strings.HasPrefix(u.Scheme, "http") {
		u.User = nil
	}
	u.Path, u.RawPath = bare(u.Path), bare(u.RawPath)
	return u.String(), nil
}

func bare(path string) string { return strings.TrimSuffix(strings.TrimRight(path, "/"), ".git") }
