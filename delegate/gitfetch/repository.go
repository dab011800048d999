package gitfetch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/delegate/diskcache"
	"github.com/slipway-cd/slipway/delegate/transport"
	"github.com/slipway-cd/slipway/delegate/watchdog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// repository is how one is reached, and where it is kept: its objects, without
// the contents of files that nobody asked for, and a folder for each commit.
type repository struct {
	url    string
	dir    string
	env    []string
	limits Limits
}

// sparsely has git bring the contents of those files alone that are asked for.
func sparsely(g task.Git) [][2]string {
	return [][2]string{
		{"remote.origin.url", g.URL}, {"remote.origin.promisor", "true"}, {"remote.origin.partialclonefilter", "blob:none"},
		{"core.sparseCheckout", "true"}, {"core.sparseCheckoutCone", "false"},
	}
}

// access readies the credentials of a repository, with settings of git's; done
// removes what was written for it.
func (f *Fetcher) access(g task.Git, settings ...[2]string) (r repository, done func(), err error) {
	if err := address.Git(g.URL); err != nil {
		return repository{}, nil, err
	}
	r = repository{url: g.URL, dir: filepath.Join(f.dir, short(g.URL)), limits: f.Limits}
	r.env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_LITERAL_PATHSPECS=1", "GIT_ALLOW_PROTOCOL="+protocols, "LC_ALL=C")
	config := append([][2]string{{"core.bare", "false"}, {"gc.auto", "0"}}, settings...)
	dir, forget, err := purse(g)
	if err != nil {
		return repository{}, nil, err
	}
	defer func() {
		if err != nil {
			forget()
		}
	}()
	switch {
	case g.SSHKey != "":
		extra, err := f.ssh(g, dir)
		if err != nil {
			return repository{}, nil, err
		}
		r.env = append(r.env, extra)
	case g.Password != "":
		basic := base64.StdEncoding.EncodeToString([]byte(user(g) + ":" + g.Password))
		config = append(config, [2]string{"http.extraHeader", "Authorization: Basic " + basic})
	case g.Token != "":
		config = append(config, [2]string{"http.extraHeader", "Authorization: Bearer " + g.Token})
	}
	if carries(g) {
		config = append(config, [2]string{"http.followRedirects", "false"})
	}
	if g.Over != nil {
		more, err := overHTTP(g.Over, dir)
		if err != nil {
			return repository{}, nil, err
		}
		r.env = append(r.env, more...)
		if g.Over.Proxy != "" {
			config = append(config, [2]string{"http.proxy", g.Over.Proxy})
		}
	}
	for i, c := range config {
		r.env = append(r.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, c[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, c[1]))
	}
	r.env = append(r.env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config)))
	return r, forget, nil
}

// user is who fetches with a password.
func user(g task.Git) string { return cmp.Or(g.Username, "git") }

// objects is the folder of what was fetched.
func (r repository) objects() string { return filepath.Join(r.dir, "objects.git") }

// kept names a commit that was fetched, so that the next fetch needn't bring
// what hasn't changed since.
func kept(commit string) string { return "refs/slipway/" + commit }

// anew removes objects that are so old that what came in since takes more
// space than fetching the newest commits again takes time.
func (r repository) anew(now time.Time) error {
	begun, err := os.Stat(filepath.Join(r.objects(), "HEAD")) // written once
	if err == nil && now.Sub(begun.ModTime()) > diskcache.Unused {
		return os.RemoveAll(r.objects())
	}
	return nil
}

// errLocked is that git found a file that keeps others out.
var errLocked = errors.New("the fetched objects are locked")

// bring fetches a commit and writes its files at paths into a new folder.
func (r repository) bring(ctx context.Context, g task.Git, commit string, paths []string, dir string) error {
	if err := r.download(ctx, g, commit); err != nil {
		return err
	}
	return r.checkout(ctx, commit, paths, dir)
}

// download fetches a commit, but not the contents of its files: checkout
// fetches those that it needs. A host that can't leave them out sends all.
func (r repository) download(ctx context.Context, g task.Git, commit string) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("make the cache of repositories: %w", err)
	}
	if err := r.anew(time.Now()); err != nil {
		return fmt.Errorf("clear the cache of repositories: %w", err)
	}
	if _, err := r.git(ctx, "init", "--quiet", "--bare", "--template=", r.objects()); err != nil {
		return err
	}
	if _, err := r.in(r.objects()).git(ctx, "rev-parse", "--quiet", "--verify", kept(commit)); err == nil {
		return nil
	}
	// Not every host gives commits by their id: the branch's tip comes next.
	if err := r.fetch(ctx, commit); err == nil || ctx.Err() != nil {
		return r.keep(ctx, commit, err)
	}
	name := refName(g)
	if name == "" {
		name = "HEAD"
	}
	return r.keep(ctx, commit, r.fetch(ctx, name))
}

func (r repository) fetch(ctx context.Context, what string) error {
	_, err := r.in(r.objects()).git(ctx, "fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "--", "origin", what)
	return err
}

// keep remembers a commit after a fetch, unless that failed or brought another.
func (r repository) keep(ctx context.Context, commit string, err error) error {
	if err != nil {
		return err
	}
	got, err := r.in(r.objects()).git(ctx, "rev-parse", "FETCH_HEAD^{commit}")
	if err != nil {
		return err
	}
	if got = strings.TrimSpace(got); got != commit {
		return fault.New(fault.NotFound, "%s doesn't give the commit %s by its id, and the branch's last is %s by now", r.url, commit, got)
	}
	_, err = r.in(r.objects()).git(ctx, "update-ref", kept(commit), commit)
	return err
}

// in is the repository with some of git's own places set.
func (r repository) in(objects string, more ...string) repository {
	r.env = append(append(r.env[:len(r.env):len(r.env)], "GIT_DIR="+objects), more...)
	return r
}

// tooMuch says of git's words that it met a bound.
func tooMuch(said string) bool {
	for _, words := range []string{"Out of memory", "out of memory", "Cannot allocate memory", "File too large", "cannot create thread", "cannot create async thread"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// lingering is how long git has to end once it is stopped.
const lingering = 2 * time.Second

// maxSaid bounds what a command may answer that isn't asked for files.
const maxSaid = 256 << 20

// git runs one command. Its errors name the repository and what git said.
func (r repository) git(ctx context.Context, args ...string) (string, error) {
	out, err := r.run(ctx, nil, maxSaid, args...)
	return string(out), err
}

// bounded keeps so much and no more.
type bounded struct {
	bytes.Buffer

	most int
	over bool
}

// Write keeps a part (io.Writer).
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		b.over = true
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

// errTooLong is that a command answers with more than is taken.
var errTooLong = errors.New("git's answer is too long")

func (r repository) tooLong(command string, most int) error {
	return fault.New(fault.TooLarge, "git %s of %s: found more than %d bytes", command, r.url, most).Causing(fault.ResourceLimitsFailure, fault.Unknown)
}

// run runs one command with an input, and takes so many bytes of its answer.
func (r repository) run(ctx context.Context, input io.Reader, most int, args ...string) ([]byte, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fault.New(fault.Unavailable, "the delegate has no git command; install git where it runs")
	}
	cmd := command(ctx, r.limits, args...)
	cmd.Env, cmd.WaitDelay = watchdog.Environ(ctx, r.env), lingering
	together(cmd)
	stdout, stderr := bounded{most: most}, bytes.Buffer{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if stdout.over {
		return nil, r.tooLong(args[0], most)
	}
	said := strings.TrimSpace(stderr.String())
	if tooMuch(said) {
		return nil, fault.New(fault.TooLarge, "git %s of %s: the repository takes more than %d MiB of memory, or %d MiB in one file: %s",
			args[0], r.url, r.limits.Memory>>20, r.limits.File>>20, said).Causing(fault.ResourceLimitsFailure, fault.Unknown)
	}
	if refused := refusedHost(said); refused != nil {
		return nil, fmt.Errorf("git %s of %s: %w", args[0], r.url, refused)
	}
	if strings.Contains(said, "requested URL returned error: 30") {
		return nil, fault.New(fault.Unavailable, "git %s of %s: %w: %s", args[0], r.url, errMoved, said)
	}
	if strings.Contains(said, "lock") && strings.Contains(said, "File exists") {
		return nil, fault.New(fault.Unavailable, "git %s of %s: %w: %s", args[0], r.url, errLocked, said)
	}
	failure := fault.New(fault.Unavailable, "git %s of %s: %s", args[0], r.url, said)
	for _, denied := range []string{"Authentication failed", "could not read Username", "Permission denied", "HTTP 401", "HTTP 403"} {
		if strings.Contains(said, denied) {
			return nil, failure.Causing(fault.Authentication)
		}
	}
	return nil, failure.Causing(fault.Connectivity, fault.Unknown)
}

// carries says whether something goes to the host that others mustn't get.
func carries(g task.Git) bool {
	return g.Password != "" || g.Token != "" || g.Over != nil && g.Over.ClientCertPEM != ""
}

// purse makes a folder for what opens the repository and goes to git in files. It
// lives as long as the fetch; none is made where nothing does.
func purse(g task.Git) (dir string, done func(), err error) {
	if g.SSHKey == "" && (g.Over == nil || g.Over.CAPEM == "" && g.Over.ClientCertPEM == "") {
		return "", func() {}, nil
	}
	if dir, err = os.MkdirTemp("", "slipway-git-"); err != nil {
		return "", nil, fmt.Errorf("make a folder for what opens the repository: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // the system clears its temporary folder, too
}

// overHTTP is git's environment for a host that isn't reached as others are. It goes
// before git's settings, and before what the delegate's own environment says.
func overHTTP(over *task.Over, dir string) (env []string, err error) {
	if over.Insecure {
		env = append(env, "GIT_SSL_NO_VERIFY=1")
	}
	if over.Proxy != "" {
		env = append(env, "NO_PROXY="+over.NoProxy, "no_proxy="+over.NoProxy)
	}
	files := []struct{ name, text string }{{"GIT_SSL_CERT", over.ClientCertPEM}, {"GIT_SSL_KEY", over.ClientKeyPEM}}
	if over.CAPEM != "" {
		files = append(files, struct{ name, text string }{"GIT_SSL_CAINFO", transport.Authorities(over.CAPEM)})
	}
	for _, f := range files {
		if f.text == "" {
			continue
		}
		file := filepath.Join(dir, f.name)
		if err := os.WriteFile(file, []byte(f.text), 0o600); err != nil {
			return nil, fmt.Errorf("write a certificate for git: %w", err)
		}
		env = append(env, f.name+"="+file)
	}
	return env, nil
}

// ssh has git use the key, which it takes from a file.
func (f *Fetcher) ssh(g task.Git, dir string) (env string, err error) {
	if g.Over != nil && g.Over.Proxy != "" {
		return "", fault.New(fault.Unsupported, "repository %s is reached by SSH and has a proxy; proxies are for https:// alone", g.URL)
	}
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte(strings.TrimSpace(g.SSHKey)+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the SSH key: %w", err)
	}
	hosts := "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
	if g.Over == nil || !g.Over.Insecure {
		if hosts, err = f.hosts.options(dir, f.dir, g.KnownHosts); err != nil {
			return "", err
		}
	}
	command := fmt.Sprintf("ssh -i %s -o IdentitiesOnly=yes -o BatchMode=yes %s", file, hosts)
	if g.SSHUser != "" {
		command += " -l " + shellQuote(g.SSHUser)
	}
	return "GIT_SSH_COMMAND=" + command, nil
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
