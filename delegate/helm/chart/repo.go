package chart

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/getter"
	"helm.sh/helm/v4/pkg/registry"
	"helm.sh/helm/v4/pkg/repo/v1"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/diskcache"
	"github.com/slipway-cd/slipway/delegate/google"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/transport"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// Repos keeps charts that were downloaded from repositories below a folder:
// each version once, whatever number of steps need it. It is for many
// goroutines.
type Repos struct {
	// Via is how requests to clouds and registries are sent; nil: as their
	// libraries do.
	Via http.RoundTripper

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
	find(ctx context.Context, version string) (string, error)
	get(ctx context.Context, version string) ([]byte, error)
}

// Fetch brings a manifest's chart here, from a repository of charts or from
// Git. A version that isn't named is chosen once for each stage of an
// execution, so that all of its steps deploy one.
func (r *Repos) Fetch(ctx context.Context, source manifest.Source, m *origin.Manifest, flags origin.HelmFlags) (manifest.Files, error) {
	if m.Store.Charts == nil {
		return beside(ctx, source, m)
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
	if err := r.login(ctx, &place); err != nil {
		return manifest.Files{}, unavailable(place, m.Chart.Name, err)
	}
	a, err := r.open(ctx, place, m.Chart.Name, scratch, flags)
	if err != nil {
		return manifest.Files{}, unavailable(place, m.Chart.Name, err)
	}
	version, err := r.version(ctx, a, source.Stage+"\n"+place.URL+"\n"+m.Chart.Name, wanted(m.Chart, flags))
	if err != nil {
		return manifest.Files{}, unavailable(place, m.Chart.Name, err)
	}
	folderName, err := key(place, m.Chart.Name, version)
	if err != nil {
		return manifest.Files{}, err
	}
	dir := filepath.Join(r.dir, folderName)
	if !r.kept(dir) {
		if err := r.download(ctx, a, version, dir); err != nil {
			return manifest.Files{}, unavailable(place, m.Chart.Name, err)
		}
	}
	_, _ = fmt.Fprintf(source.Log, "Fetched chart %s %s from %s\n", m.Chart.Name, version, place.URL) // as all logs: the agent reports what it can't write
	folder := filepath.Join(dir, filepath.Base(m.Chart.Name))
	return manifest.Files{Root: folder, Folder: folder}, nil
}

// Version gives the version of a chart that a constraint means now, the newest if
// it is empty.
func (r *Repos) Version(ctx context.Context, place task.ChartRepo, name, want string, flags origin.HelmFlags) (string, error) {
	scratch, err := os.MkdirTemp("", "slipway-chart-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the index of a repository: %w", err)
	}
	defer os.RemoveAll(scratch)
	if err := r.login(ctx, &place); err != nil {
		return "", unavailable(place, name, err)
	}
	a, err := r.open(ctx, place, name, scratch, flags)
	if err != nil {
		return "", unavailable(place, name, err)
	}
	version, err := a.find(ctx, want)
	if err != nil {
		return "", unavailable(place, name, err)
	}
	return version, nil
}

// kept says whether a chart is there already, and makes room for it if not.
func (r *Repos) kept(dir string) bool {
	r.mu.Lock() // so that none goes that somebody is about to use
	defer r.mu.Unlock()
	if diskcache.Use(dir) {
		return true
	}
	diskcache.Prune(r.dir, time.Now())
	return false
}

// wanted is the version that a manifest asks for.
func wanted(c *origin.Chart, flags origin.HelmFlags) string {
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
func (r *Repos) version(ctx context.Context, a archive, pin, want string) (string, error) {
	pin += "\n" + want
	r.mu.Lock()
	known, ok := r.pinned[pin]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	found, err := a.find(ctx, want)
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
func key(place task.ChartRepo, name, version string) (string, error) {
	if place.AWS != nil || place.Google != nil {
		place.Username, place.Password = "", "" // they change with each login
	}
	doc, err := json.Marshal(place) //nolint:gosec // only its hash is kept
	if err != nil {
		return "", fmt.Errorf("name the folder of a chart: %w", err)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(doc), name, version}, "\n")))
	return hex.EncodeToString(sum[:16]), nil
}

// download unpacks a version and moves it into place. Two that do so at once
// do the same.
func (r *Repos) download(ctx context.Context, a archive, version, dir string) error {
	data, err := a.get(ctx, version)
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

// login fills in the user name and the password of a cloud's registry.
func (r *Repos) login(ctx context.Context, place *task.ChartRepo) error {
	switch {
	case place.AWS != nil:
		cfg, err := aws.ConfigOver(ctx, *place.AWS, r.Via)
		if err != nil {
			return err
		}
		got, err := aws.Login(ctx, cfg)
		if err != nil {
			return err
		}
		place.Username, place.Password = got.User, got.Password
		if place.URL == "" {
			place.URL = strings.TrimSuffix("oci://"+strings.TrimPrefix(got.URL, "https://")+"/"+place.Folder, "/")
		}
	case place.Google != nil:
		got, err := google.Login(ctx, *place.Google, r.Via)
		if err != nil {
			return err
		}
		place.Username, place.Password = google.RegistryUser, got.Token
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
func (r *Repos) open(ctx context.Context, place task.ChartRepo, name, scratch string, flags origin.HelmFlags) (archive, error) {
	switch {
	case place.OCI:
		return r.openRegistry(ctx, place, name, scratch, flags)
	case place.S3 != nil:
		b, err := aws.OpenBucket(ctx, *place.S3, r.Via)
		return filed{b, place.Folder, name}, err
	case place.GCS != nil:
		b, err := google.OpenBucket(ctx, *place.GCS, r.Via)
		return filed{b, place.Folder, name}, err
	}
	if _, err := address.Web("the URL of the repository of charts", place.URL); err != nil {
		return nil, err
	}
	entry := &repo.Entry{
		Name: "charts", URL: place.URL, Username: place.Username, Password: place.Password,
		InsecureSkipTLSVerify: flags.InsecureTLS, PassCredentialsAll: flags.PassEverywhere,
	}
	charts, err := repo.NewChartRepository(entry, getters(ctx, flags.Timeout, flags.InsecureTLS, place.Over))
	if err != nil {
		return nil, fault.New(fault.Invalid, "the repository of charts %s: %w", place.URL, err)
	}
	charts.CachePath = scratch
	return &indexed{repo: charts, name: name, over: place.Over, everywhere: flags.PassEverywhere, options: []getter.Option{
		getter.WithURL(place.URL), getter.WithBasicAuth(place.Username, place.Password),
		getter.WithInsecureSkipVerifyTLS(flags.InsecureTLS), getter.WithPassCredentialsAll(flags.PassEverywhere),
	}}, nil
}

// indexed is a chart of an HTTP server with an index.
type indexed struct {
	repo    *repo.ChartRepository
	name    string
	options []getter.Option
	over    *task.Over
	// everywhere has the host that the index names for the chart given what the
	// repository's is.
	everywhere bool
	index      *repo.IndexFile
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

func (i *indexed) find(_ context.Context, version string) (string, error) {
	found, err := i.entry(version)
	if err != nil {
		return "", err
	}
	return found.Version, nil
}

func (i *indexed) get(ctx context.Context, version string) ([]byte, error) {
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
	at, err := address.Web("the chart's address in the repository's index", url)
	if err != nil {
		return nil, err
	}
	options := i.options
	if own, err := address.Web("the URL of the repository of charts", i.repo.Config.URL); i.over != nil && !i.everywhere && (err != nil || own.Host != at.Host || own.Scheme != at.Scheme) {
		via, err := bounded(ctx, false, &task.Over{Proxy: i.over.Proxy, NoProxy: i.over.NoProxy})
		if err != nil {
			return nil, err
		}
		options = append(slices.Clone(options), getter.WithTransport(via))
	}
	data, err := i.repo.Client.Get(url, options...)
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

func (r *Repos) openRegistry(ctx context.Context, place task.ChartRepo, name, scratch string, flags origin.HelmFlags) (archive, error) {
	at, err := address.Registry(place.URL)
	if err != nil {
		return nil, err
	}
	options := []registry.ClientOption{
		registry.ClientOptCredentialsFile(filepath.Join(scratch, "registry.json")), registry.ClientOptWriter(&bytes.Buffer{}),
	}
	if place.Username != "" || place.Password != "" {
		options = append(options, registry.ClientOptBasicAuth(place.Username, place.Password))
	}
	if flags.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	var via http.RoundTripper = registry.NewTransport(false)
	switch {
	case flags.InsecureTLS:
		via = unchecked()
	case place.Over != nil:
		if via, err = transport.New(place.Over); err != nil {
			return nil, err
		}
	case r.Via != nil:
		via = r.Via
	}
	options = append(options, boundTo(ctx, via))
	client, err := registry.NewClient(options...)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the registry of charts %s: %w", place.URL, err)
	}
	return stored{client, at + "/" + name}, nil
}

func (s stored) find(_ context.Context, version string) (string, error) {
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

func (s stored) get(_ context.Context, version string) ([]byte, error) {
	got, err := s.client.Pull(s.ref + ":" + strings.ReplaceAll(version, "+", "_"))
	if err != nil {
		return nil, err
	}
	return got.Chart.Data, nil
}

// unchecked is a client that takes any certificate, as a flag asks for.
func unchecked() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // --insecure-skip-tls-verify
	}
}

// bound ends requests with a context. Helm's client of registries knows none,
// and would wait for ever for one that has gone silent.
type bound struct {
	ctx context.Context //nolint:containedctx // a client lives for one call
	via http.RoundTripper
}

func boundTo(ctx context.Context, via http.RoundTripper) registry.ClientOption {
	return registry.ClientOptHTTPClient(&http.Client{Transport: bound{ctx, via}})
}
