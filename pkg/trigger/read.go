package trigger

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Read reads a delivery. Bitbucket may tell of several changes at once: each
// is an event. Most deliveries are one.
func Read(d Delivery) ([]Event, error) {
	if len(d.Body) > MaxBytes {
		return nil, fault.New(fault.TooLarge, "the delivery has %d bytes; at most %d are read", len(d.Body), MaxBytes)
	}
	body, err := content(d)
	if err != nil {
		return nil, err
	}
	event := Event{Source: d.Source, Header: d.Header.Public(), Body: body}
	switch d.Source {
	case Github:
		return one(readGithub(event, d.Header.Get("X-GitHub-Event")))
	case Gitlab:
		return one(readGitlab(event, d.Header.Get("X-Gitlab-Event")))
	case Bitbucket:
		return readBitbucket(event, d.Header.Get("X-Event-Key"))
	}
	return one(event, nil)
}

func one(e Event, err error) ([]Event, error) {
	if err != nil {
		return nil, err
	}
	return []Event{e}, nil
}

// content is the text that a delivery is about. GitHub can send it as the
// field of a form.
func content(d Delivery) (string, error) {
	if !utf8.Valid(d.Body) {
		return "", invalid("the delivery isn't UTF-8 text")
	}
	if d.Source != Github || !strings.HasPrefix(d.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return string(d.Body), nil
	}
	form, err := url.ParseQuery(string(d.Body))
	if err != nil || form.Get("payload") == "" {
		return "", invalid("the delivery is a form without the field payload")
	}
	return form.Get("payload"), nil
}

// decode reads the parts of a payload that triggers know.
func decode[T any](e Event) (T, error) {
	var p T
	if err := json.Unmarshal([]byte(e.Body), &p); err != nil {
		return p, invalid("the payload of %s can't be read: %w", e.Source, err)
	}
	return p, nil
}

// pushed takes in which branch or tag a ref names.
func (e *Event) pushed(ref string) {
	e.Ref = ref
	if tag, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
		e.Tag, e.TargetBranch = tag, tag
		return
	}
	e.TargetBranch = strings.TrimPrefix(ref, "refs/heads/")
}

// commit is the files of one, as GitHub and GitLab tell them.
type commit struct {
	Added    []string `json:"added"`
	Modified []string `json:"modified"`
	Removed  []string `json:"removed"`
}

func (e *Event) changed(commits []commit, complete bool) {
	for _, c := range commits {
		e.Files = append(e.Files, slices.Concat(c.Added, c.Modified, c.Removed)...)
	}
	slices.Sort(e.Files)
	e.Files, e.FilesKnown = slices.Compact(e.Files), complete
}

// urls are those that there are.
func urls(list ...string) []string {
	return slices.DeleteFunc(list, func(u string) bool { return u == "" })
}

// Location is what the URLs of one repository have in common, however it is
// reached: the host and the path, e.g. "github.com/acme/web" of
// "git@github.com:acme/Web.git".
func Location(address string) string {
	address = strings.TrimSpace(address)
	if _, rest, ok := strings.Cut(address, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		host = host[strings.LastIndex(host, "@")+1:]
		if name, port, ok := strings.Cut(host, ":"); ok && strings.Trim(port, "0123456789") == "" {
			host = name
		}
		address = host + "/" + path
	} else if host, path, ok := strings.Cut(address, ":"); ok { // git@host:path
		address = host[strings.LastIndex(host, "@")+1:] + "/" + strings.TrimLeft(path, "/")
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimRight(address, "/"), ".git"))
}

// capital is a host's word as triggers spell it, e.g. Created.
func capital(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}
