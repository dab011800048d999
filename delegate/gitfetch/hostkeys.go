package gitfetch

import (
	_ "embed" // the keys of public hosts
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// HostKeys says which SSH hosts are who they say they are. Known are always the
// public Git hosts, and what the user's and the machine's own known_hosts say.
type HostKeys struct {
	// File is a known_hosts file of the delegate's; empty for none.
	File string
	// AcceptNew takes the key of a host that was never seen as it is, and keeps
	// it. Else such a host is refused.
	AcceptNew bool
}

// The ways to treat a host that isn't known, as flags name them.
const (
	HostKeysStrict    = "strict"
	HostKeysAcceptNew = "accept-new"
)

// ParseHostKeys reads flags.
func ParseHostKeys(file, unknown string) (HostKeys, error) {
	if unknown != HostKeysStrict && unknown != HostKeysAcceptNew {
		return HostKeys{}, fault.New(fault.Invalid, "--git-ssh-host-keys is %q; want %s or %s", unknown, HostKeysStrict, HostKeysAcceptNew)
	}
	if file != "" {
		if _, err := os.Stat(file); err != nil {
			return HostKeys{}, fault.New(fault.Invalid, "--git-known-hosts: %w", err)
		}
	}
	return HostKeys{File: file, AcceptNew: unknown == HostKeysAcceptNew}, nil
}

//go:embed known_hosts
var publicHosts string

// seenFile is where the keys that were accepted are kept, below the cache.
const seenFile = "known_hosts"

// options are those of ssh, with the public keys, and those that the repository is
// given with, in a file below dir.
func (k HostKeys) options(dir, cache, given string) (string, error) {
	public := filepath.Join(dir, "public_hosts")
	if err := os.WriteFile(public, []byte(publicHosts+"\n"+given+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the keys of public hosts: %w", err)
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", fmt.Errorf("make the cache of repositories: %w", err)
	}
	seen, check := filepath.Join(cache, seenFile), "yes"
	if k.AcceptNew {
		check = "accept-new" // ssh writes to the first file
	}
	files := []string{seen, public}
	if k.File != "" {
		files = append(files, k.File)
	}
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".ssh", "known_hosts"))
	}
	var quoted []string
	for _, f := range files {
		quoted = append(quoted, `"`+f+`"`)
	}
	return "-o StrictHostKeyChecking=" + check + " -o " + shellQuote("UserKnownHostsFile="+strings.Join(quoted, " ")), nil
}

// The words in which ssh refuses a host.
var (
	unknownHost = regexp.MustCompile(`No \S+ host key is known for (\S+) and you have requested strict checking`)
	changedHost = regexp.MustCompile(`(?s)REMOTE HOST IDENTIFICATION HAS CHANGED.*Host key for (\S+) has changed`)
)

// refusedHost is the error of a host whose key isn't the one that is known; nil
// for all else that git says.
func refusedHost(said string) error {
	if m := changedHost.FindStringSubmatch(said); m != nil {
		return fault.New(fault.Unauthenticated, "the SSH host %s shows another key than the one that is known: somebody may have taken its place. "+
			"If it was changed by its owner, correct the line in the known_hosts file of --git-known-hosts or of the delegate's user, or in the one in its cache", m[1])
	}
	m := unknownHost.FindStringSubmatch(said)
	if m == nil {
		return nil
	}
	scan := m[1]
	if host, port, ok := strings.Cut(strings.TrimPrefix(scan, "["), "]:"); ok {
		scan = "-p " + port + " " + host
	}
	return fault.New(fault.Unauthenticated, "the SSH host %s isn't known to this delegate, so anybody could be there: compare what `ssh-keyscan %s` prints with what the host's "+
		"owner publishes, and put it into the file of --git-known-hosts (the chart's git.knownHosts) or into ~/.ssh/known_hosts of the delegate's user; "+
		"--git-ssh-host-keys=accept-new takes the first key that a host shows", m[1], scan)
}

// protocols are how git may fetch, whatever a URL, a redirect or a repository
// says: not from the delegate's own disk, and not by running a program.
const protocols = "http:https:ssh"
