package chart

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/getter"
	"helm.sh/helm/v4/pkg/registry"
	"helm.sh/helm/v4/pkg/repo/v1"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Repos keeps charts that were downloaded from repositories below a folder:
// each version once, whatever number of steps need it. It is for many
// goroutines.
type Repos struct {
	dir string

	mu     sync.Mutex
	pinned map[string]string // stage and chart -> version
}

// maxPinned bounds how many stages' versions are remembered.
const maxPinned = 1000

// NewRepos makes a Repos over a folder, which is made when it is needed.
func NewRepos(dir string) *Repos { return &Repos{dir: dir, pinned: map[string]string{}} }

// archive finds the versions of one chart and downloads them.
type archive interface {
	// find gives the version that is meant, such as the newest.
	find(version string) (string, error)
	get(version string) ([]byte, error)
}

// Fetch brings a manifest's chart here, from a repository of charts or from
// Git. A version that isn't named is chosen once for each stage of an
// execution, so that all of its steps deploy one.
func (r *Repos) Fetch(ctx context.Context, source manifest.Source, m *task.Manifest, flags task.HelmFlags) (manifest.Files, error) {
	if m.Store.Charts == nil {
		return source.Fetch(ctx, m)
	}
	if m.Chart == nil || m.Chart.Name == "" {
		return manifest.Files{}, fault.New(fault.Invalid, "manifest %s doesn't name its chart", m.ID)
	}
	place := *m.Store.Charts
	scratch, err := os.MkdirTemp("", "slipway-chart-")
	if err != nil {
		return manifest.Files{}, fmt.Errorf("make a folder for a chart: %w", err)
	}
	defer os.RemoveAll(scratch)
	a, err := open(place, m.Chart.Name, scratch, flags)
	if err != nil {
		return manifest.Files{}, err
	}
	version, err := r.version(a, source.Stage+"\n"+place.URL+"\n"+m.Chart.Name, wanted(m.Chart, flags))
	if err != nil {
		return manifest.Files{}, unavailable(place, m.Chart.Name, err)
	}
	dir := filepath.Join(r.dir, key(place, m.Chart.Name, version))
	if _, err := os.Stat(dir); err != nil {
		if err := r.download(a, version, dir); err != nil {
			return manifest.Files{}, unavailable(place, m.Chart.Name, err)
		}
	}
	_, _ = fmt.Fprintf(source.Log, "Fetched chart %s %s from %s\n", m.Chart.Name, version, place.URL) // as all logs: the agent reports what it can't write
	folder := filepath.Join(dir, filepath.Base(m.Chart.Name))
	return manifest.Files{Root: folder, Folder: folder}, nil
}

// wanted is the version that a manifest asks for.
func wanted(c *task.Chart, flags task.HelmFlags) string {
	switch {
	case c.Version != "":
		return c.Version
	case flags.Version != "":
		return flags.Version
	case flags.Devel:
		return ">0.0.0-0"
	}
	return ""
}

// version resolves a version, once for each stage.
func (r *Repos) version(a archive, pin, want string) (string, error) {
	pin += "\n" + want
	r.mu.Lock()
	known, ok := r.pinned[pin]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	found, err := a.find(want)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pinned) >= maxPinned {
		clear(r.pinned)
	}
	r.pinned[pin] = found
	return found, nil
}

// key names the folder of a chart. Who may read it is a part of it, because
// somebody else may not.
func key(place task.ChartRepo, name, version string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{place.URL, place.Username, place.Password, name, version}, "\n")))
	return hex.EncodeToString(sum[:16])
}

// download unpacks a version and moves it into place. Two that do so at once
// do the same.
func (r *Repos) download(a archive, version, dir string) error {
	data, err := a.get(version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("make the cache of charts: %w", err)
	}
	work, err := os.MkdirTemp(r.dir, "unpack-")
	if err != nil {
		return fmt.Errorf("make the cache of charts: %w", err)
	}
	defer os.RemoveAll(work)
	if err := util.Expand(work, bytes.NewReader(data)); err != nil {
		return fault.New(fault.Invalid, "version %s can't be unpacked: %w", version, err)
	}
	if err := os.Rename(work, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			return fmt.Errorf("move the chart into place: %w", err)
		}
	}
	return nil
}

func unavailable(place task.ChartRepo, name string, err error) error {
	if code := fault.CodeOf(err); code != fault.Internal {
		return fault.New(code, "chart %s of %s: %w", name, place.URL, err)
	}
	failure := fault.New(fault.Unavailable, "chart %s of %s: %w", name, place.URL, err)
	for _, denied := range []string{"401", "403", "unauthorized", "denied"} {
		if strings.Contains(strings.ToLower(err.Error()), denied) {
			return failure.Causing(fault.Authentication)
		}
	}
	return failure.Causing(fault.Connectivity, fault.Unknown)
}

// open readies the access to one chart of a repository.
func open(place task.ChartRepo, name, scratch string, flags task.HelmFlags) (archive, error) {
	if place.OCI {
		return openRegistry(place, name, scratch, flags)
	}
	entry := &repo.Entry{
		Name: "charts", URL: place.URL, Username: place.Username, Password: place.Password,
		InsecureSkipTLSVerify: flags.InsecureTLS, PassCredentialsAll: flags.PassEverywhere,
	}
	r, err := repo.NewChartRepository(entry, getters())
	if err != nil {
		return nil, fault.New(fault.Invalid, "the repository of charts %s: %w", place.URL, err)
	}
	r.CachePath = scratch
	return &indexed{repo: r, name: name, options: []getter.Option{
		getter.WithURL(place.URL), getter.WithBasicAuth(place.Username, place.Password),
		getter.WithInsecureSkipVerifyTLS(flags.InsecureTLS), getter.WithPassCredentialsAll(flags.PassEverywhere),
	}}, nil
}

// indexed is a chart of an HTTP server with an index.
type indexed struct {
	repo    *repo.ChartRepository
	name    string
	options []getter.Option
	index   *repo.IndexFile
}

func (i *indexed) entry(version string) (*repo.ChartVersion, error) {
	if i.index == nil {
		path, err := i.repo.DownloadIndexFile()
		if err != nil {
			return nil, err
		}
		if i.index, err = repo.LoadIndexFile(path); err != nil {
			return nil, err
		}
	}
	found, err := i.index.Get(i.name, version)
	if err != nil {
		return nil, fault.New(fault.NotFound, "the repository has no version %q of it: %w", version, err)
	}
	return found, nil
}

func (i *indexed) find(version string) (string, error) {
	found, err := i.entry(version)
	if err != nil {
		return "", err
	}
	return found.Version, nil
}

func (i *indexed) get(version string) ([]byte, error) {
	found, err := i.entry(version)
	if err != nil {
		return nil, err
	}
	if len(found.URLs) == 0 {
		return nil, fault.New(fault.NotFound, "the repository's index has no address for version %s", version)
	}
	url, err := repo.ResolveReferenceURL(i.repo.Config.URL, found.URLs[0])
	if err != nil {
		return nil, err
	}
	data, err := i.repo.Client.Get(url, i.options...)
	if err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// stored is a chart of a registry.
type stored struct {
	client *registry.Client
	ref    string // without its tag
}

func openRegistry(place task.ChartRepo, name, scratch string, flags task.HelmFlags) (archive, error) {
	options := []registry.ClientOption{
		registry.ClientOptCredentialsFile(filepath.Join(scratch, "registry.json")), registry.ClientOptWriter(&bytes.Buffer{}),
	}
	if place.Username != "" || place.Password != "" {
		options = append(options, registry.ClientOptBasicAuth(place.Username, place.Password))
	}
	if flags.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	if flags.InsecureTLS {
		options = append(options, registry.ClientOptHTTPClient(unchecked()))
	}
	client, err := registry.NewClient(options...)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the registry of charts %s: %w", place.URL, err)
	}
	return stored{client, strings.TrimPrefix(place.URL, "oci://") + "/" + name}, nil
}

func (s stored) find(version string) (string, error) {
	tags, err := s.client.Tags(s.ref)
	if err != nil {
		return "", err
	}
	found, err := registry.GetTagMatchingVersionOrConstraint(tags, version)
	if err != nil {
		return "", fault.New(fault.NotFound, "the registry has no version %q of it: %w", version, err)
	}
	return found, nil
}

func (s stored) get(version string) ([]byte, error) {
	got, err := s.client.Pull(s.ref + ":" + strings.ReplaceAll(version, "+", "_"))
	if err != nil {
		return nil, err
	}
	return got.Chart.Data, nil
}

// unchecked is a client that takes any certificate, as a flag asks for.
func unchecked() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // --insecure-skip-tls-verify
	}}
}
