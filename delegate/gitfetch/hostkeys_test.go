package gitfetch_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// sshHost lets nobody in, after it has shown its key.
func sshHost(t *testing.T, address string) (at string, key ssh.Signer) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	key, err = ssh.NewSignerFromSigner(private)
	check(t, err)
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
		return nil, fmt.Errorf("nobody")
	}}
	config.AddHostKey(key)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _, _, _ = ssh.NewServerConn(c, config) // it lets nobody in
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String(), key
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fetchBySSH gives the error of a fetch from a host.
func fetchBySSH(t *testing.T, address, cache string, keys gitfetch.HostKeys) error {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	check(t, err)
	g := task.Git{URL: "ssh://git@" + address + "/app.git", Branch: "main", SSHKey: string(pem.EncodeToMemory(block))}
	_, err = gitfetch.New(cache, keys).Fetch(t.Context(), g, "s")
	return err
}

func TestHostsAreChecked(t *testing.T) {
	t.Parallel()
	address, key := sshHost(t, "127.0.0.1:0")
	_, port, err := net.SplitHostPort(address)
	check(t, err)
	err = fetchBySSH(t, address, t.TempDir(), gitfetch.HostKeys{})
	if !fault.Is(err, fault.Unauthenticated) || !strings.Contains(err.Error(), "isn't known to this delegate") || !strings.Contains(err.Error(), "`ssh-keyscan -p "+port+" 127.0.0.1`") {
		t.Errorf("an unknown host gave %v", err)
	}
	file := filepath.Join(t.TempDir(), "known")
	check(t, os.WriteFile(file, []byte(knownhosts.Line([]string{knownhosts.Normalize(address)}, key.PublicKey())+"\n"), 0o600))
	cache := filepath.Join(t.TempDir(), "with a blank")
	for name, keys := range map[string]gitfetch.HostKeys{"of a file": {File: file}, "accepted": {AcceptNew: true}} {
		if err := fetchBySSH(t, address, cache, keys); err == nil || !strings.Contains(err.Error(), "Permission denied") {
			t.Errorf("a host whose key is %s gave %v; want to be let in no further", name, err)
		}
	}
	if err := fetchBySSH(t, address, cache, gitfetch.HostKeys{}); err == nil || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("a host whose key was kept gave %v", err)
	}
}

func TestAHostWithAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	address, _ := sshHost(t, "127.0.0.1:0")
	_, other := sshHost(t, "127.0.0.1:0")
	file := filepath.Join(t.TempDir(), "known")
	check(t, os.WriteFile(file, []byte(knownhosts.Line([]string{knownhosts.Normalize(address)}, other.PublicKey())+"\n"), 0o600))
	err := fetchBySSH(t, address, t.TempDir(), gitfetch.HostKeys{File: file, AcceptNew: true})
	if !fault.Is(err, fault.Unauthenticated) || !strings.Contains(err.Error(), "shows another key") {
		t.Errorf("it gave %v", err)
	}
}

func TestPublicHostsAreKnown(t *testing.T) {
	t.Parallel()
	known, err := knownhosts.New("known_hosts")
	check(t, err)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	other, err := ssh.NewSignerFromSigner(private)
	check(t, err)
	for _, host := range []string{"github.com", "gitlab.com", "bitbucket.org", "ssh.dev.azure.com", "vs-ssh.visualstudio.com"} {
		err := known(host+":22", &net.TCPAddr{}, other.PublicKey())
		if err == nil || !strings.Contains(err.Error(), "mismatch") {
			t.Errorf("%s with a key of nobody's gave %v", host, err)
		}
	}
}

// The fingerprints are those of the hosts' own pages, which known_hosts names.
func TestPublicHostsHaveTheKeysThatTheyPublish(t *testing.T) {
	t.Parallel()
	published := []string{
		"bitbucket.org SHA256:FC73VB6C4OQLSCrjEayhMp9UMxS97caD/Yyi2bhW/J0",
		"bitbucket.org SHA256:ybgmFkzwOSotHTHLJgHO0QN8L0xErw6vd0VhFA9m3SM",
		"github.com SHA256:p2QAMXNIC1TJYWeIOttrVc98/R1BUFWu3/LiyKgUfQM",
		"github.com SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU",
		"github.com SHA256:uNiVztksCsDhcc0u9e8BujQXVUpKZIDTMczCvj3tD2s",
		"gitlab.com SHA256:HbW3g8zUjNSksFbqTiUWPWg2Bq1x8xdGUrliXFzSnUw",
		"gitlab.com SHA256:eUXGGm1YGsMAS7vkcx6JOJdOGHPem5gQp4taiCfCLB8",
		"gitlab.com SHA256:ROQFvPThGrW4RuWLoL9tq9I9zJ42fK4XywyRtbOz/EQ",
		"ssh.dev.azure.com SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og",
		"vs-ssh.visualstudio.com SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og",
	}
	rest, err := os.ReadFile("known_hosts")
	check(t, err)
	var known []string
	for {
		_, hosts, key, _, after, err := ssh.ParseKnownHosts(rest)
		if errors.Is(err, io.EOF) {
			break
		}
		check(t, err)
		for _, host := range hosts {
			known = append(known, host+" "+ssh.FingerprintSHA256(key))
		}
		rest = after
	}
	if diff := cmp.Diff(published, known); diff != "" {
		t.Errorf("published (-), built in (+):\n%s", diff)
	}
}

func TestHostKeyFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, unknown, err string }{
		{"", "strict", ""}, {"", "accept-new", ""}, {"", "no", `--git-ssh-host-keys is "no"`}, {"/not/there", "strict", "--git-known-hosts"},
	} {
		keys, err := gitfetch.ParseHostKeys(tt.file, tt.unknown)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || keys.AcceptNew != (tt.unknown == "accept-new") {
			t.Errorf("%+v gave %+v, %v", tt, keys, err)
		}
	}
}

// Whatever an expression has made of a connector's URL, git reads nothing of
// the delegate's disk and runs nothing.
func TestOnlyHostsAreFetchedFrom(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	h.commit(t, "one")
	ran := filepath.Join(t.TempDir(), "ran")
	for _, url := range []string{
		"file://" + h.work, h.work, "ext::sh -c touch% " + ran, "--upload-pack=touch " + ran, "-oProxyCommand=x@host:path", "git://host/path", "host:path",
		"ssh://-oProxyCommand=touch", "https://", "", "https://host/\nremote",
	} {
		_, err := gitfetch.New(t.TempDir(), gitfetch.HostKeys{}).Fetch(t.Context(), task.Git{URL: url, Branch: "main"}, "s")
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "want one that starts with") {
			t.Errorf("%q gave %v", url, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program was run")
	}
}
