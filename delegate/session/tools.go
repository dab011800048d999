package session

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// asking bounds how long a program may take to say its version.
const asking = 30 * time.Second

// versions are how programs are asked for their versions.
func versions() map[string][]string {
	return map[string][]string{
		"sam": {"--version"}, "serverless": {"--version"}, "sls": {"--version"}, "osls": {"--version"}, "cdk": {"--version"},
		"docker": {"version", "--format", "{{.Client.Version}}"}, "node": {"--version"}, "npm": {"--version"},
	}
}

var version = regexp.MustCompile(`\d+(\.\d+)+`)

// Tools lists the programs on the machine's PATH that steps may run, each as
// name=version, and what the machine is, as os=... and arch=...
func (s *Sessions) Tools(ctx context.Context) []string {
	var mu sync.Mutex
	var all sync.WaitGroup
	found := []string{"os=" + runtime.GOOS, "arch=" + runtime.GOARCH}
	for name, args := range versions() {
		file := s.LookPath(name)
		if file == "" {
			continue
		}
		all.Go(func() {
			v := ""
			if s.LookPath("node") != "" {
				v = installed(file, name)
			}
			if v == "" {
				v = s.versionOf(ctx, file, args)
			}
			if v != "" {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, name+"="+v)
			}
		})
	}
	all.Wait()
	slices.Sort(found)
	return found
}

// packages are the npm packages of programs whose version is their package's: to
// start one takes up to a second of a processor.
func packages() map[string]string { return map[string]string{"npm": "npm", "cdk": "aws-cdk"} }

// installed is the version of a program as the package says that npm has installed
// it from; empty if it comes from elsewhere.
func installed(file, name string) string {
	script, err := filepath.EvalSymlinks(file)
	wanted := packages()[name]
	if err != nil || wanted == "" {
		return ""
	}
	doc, err := os.ReadFile(filepath.Join(filepath.Dir(script), "..", "package.json"))
	if err != nil {
		return ""
	}
	var p struct{ Name, Version string }
	if json.Unmarshal(doc, &p) != nil || p.Name != wanted {
		return ""
	}
	return version.FindString(p.Version)
}

func (s *Sessions) versionOf(ctx context.Context, file string, args []string) string {
	ctx, stop := context.WithTimeout(ctx, asking)
	defer stop()
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Env, cmd.WaitDelay = s.Base(), time.Second
	out, err := cmd.Output()
	if err != nil {
		return "" // a program that can't say its version doesn't work
	}
	return version.FindString(string(out))
}

// LookPath finds a program on the delegate's PATH; empty if it isn't there.
func (s *Sessions) LookPath(name string) string {
	for _, dir := range filepath.SplitList(s.Variable("PATH")) {
		if file := filepath.Join(dir, name); filepath.IsAbs(file) && executable(file) {
			return file
		}
	}
	return ""
}

// Variable is a variable of the delegate's environment.
func (s *Sessions) Variable(name string) string {
	for _, kv := range slices.Backward(s.Environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// passed are the variables of the delegate's environment that programs get: where
// programs are, the language, proxies, and where AWS is if it is elsewhere.
func passed(name string) bool {
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY":
		return true
	}
	switch name {
	case "PATH", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "AWS_ENDPOINT_URL")
}

// Base is what of the delegate's environment programs get.
func (s *Sessions) Base() []string {
	var out []string
	for _, kv := range s.Environ {
		if name, _, _ := strings.Cut(kv, "="); passed(name) {
			out = append(out, kv)
		}
	}
	return out
}
