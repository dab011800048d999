package artifact

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// registry is a repository of a registry that speaks the OCI distribution API.
type registry struct {
	spec task.ImageRegistry
	repo name.Repository
	t    http.RoundTripper
}

func newRegistry(spec task.ImageRegistry, t http.RoundTripper) (*registry, error) {
	_, host, _ := strings.Cut(spec.Server.URL, "://")
	var options []name.Option
	if strings.HasPrefix(spec.Server.URL, "http://") {
		options = append(options, name.Insecure)
	}
	repo, err := name.NewRepository(host+"/"+strings.Trim(spec.Repository, "/"), options...)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the image %s: %w", spec.Image, err)
	}
	return &registry{spec: spec, repo: repo, t: t}, nil
}

func (r *registry) options(ctx context.Context) []remote.Option {
	auth := authn.Anonymous
	if r.spec.Server.Auth == task.AuthBasic {
		auth = &authn.Basic{Username: r.spec.Server.Username, Password: r.spec.Server.Password}
	}
	return []remote.Option{remote.WithContext(ctx), remote.WithTransport(r.t), remote.WithAuth(auth)}
}

// versions lists the tags in the lexical order of Harness, backwards: the API
// has no times.
func (r *registry) versions(ctx context.Context) ([]version, error) {
	puller, err := remote.NewPuller(r.options(ctx)...)
	if err != nil {
		return nil, r.explain(err)
	}
	lister, err := puller.Lister(ctx, r.repo)
	if err != nil {
		return nil, r.explain(err)
	}
	var tags []string
	for len(tags) < maxVersions && lister.HasNext() {
		page, err := lister.Next(ctx)
		if err != nil {
			return nil, r.explain(err)
		}
		tags = append(tags, page.Tags...)
	}
	return lexical(tags), nil
}

// lexical puts versions without times in order, the newest first.
func lexical(ids []string) []version {
	slices.Sort(ids)
	slices.Reverse(ids)
	var out []version
	for _, id := range ids[:min(len(ids), maxVersions)] {
		out = append(out, version{id: id})
	}
	return out
}

func (r *registry) find(ctx context.Context, id string) (found, error) {
	f := found{}
	f.Image = task.ImageName(r.spec.Image, id, "")
	tag, err := name.NewTag(r.repo.String() + ":" + id)
	if err != nil {
		return f, fault.New(fault.Invalid, "the tag %q: %w", id, err)
	}
	tag.Repository = r.repo
	desc, err := remote.Get(tag, r.options(ctx)...)
	if err != nil {
		return f, r.explain(err)
	}
	f.Digest = desc.Digest.String()
	f.Metadata = map[string]string{"SHA": f.Digest, "SHAV2": f.Digest, "image": f.Image, "url": f.Image, "tag": id}
	f.Label = labels(desc)
	return f, nil
}

// labels are those of an image's configuration; none of what isn't an image
// that this platform could run, such as a chart.
func labels(desc *remote.Descriptor) map[string]string {
	var image v1.Image
	image, err := desc.Image()
	if err != nil {
		return nil
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil
	}
	return config.Config.Labels
}

// explain gives an error of the registry its code and its failure types.
func (r *registry) explain(err error) error {
	var e *transport.Error
	if !errors.As(err, &e) {
		return fault.New(fault.Unavailable, "ask the registry for %s: %w", r.spec.Image, err).Causing(fault.Connectivity, fault.RetryableTransientFailure)
	}
	switch {
	case e.StatusCode == http.StatusNotFound:
		return fault.New(fault.NotFound, "%s: %w", r.spec.Image, err).Causing(fault.Unknown)
	case e.StatusCode == http.StatusUnauthorized:
		return fault.New(fault.Unavailable, "the registry of %s doesn't let the connector in: %w", r.spec.Image, err).Causing(fault.Authentication)
	case e.StatusCode == http.StatusForbidden:
		return fault.New(fault.Unavailable, "the connector may not read %s: %w", r.spec.Image, err).Causing(fault.Authorization)
	case e.Temporary():
		return fault.New(fault.Unavailable, "ask the registry for %s: %w", r.spec.Image, err).Causing(fault.Connectivity, fault.RetryableTransientFailure)
	}
	return fault.New(fault.Unavailable, "ask the registry for %s: %w", r.spec.Image, err).Causing(fault.Unknown)
}
