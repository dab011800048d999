package artifact

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/delegate/azure"
	"github.com/slipway-cd/slipway/delegate/google"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// registry is a repository of a registry that speaks the OCI distribution API.
type registry struct {
	spec lookup.Registry
	repo name.Repository
	t    http.RoundTripper
	auth authn.Authenticator // nil until it is needed
}

func newRegistry(spec lookup.Registry, t http.RoundTripper) (*registry, error) {
	at, err := address.Web("the registry's URL", spec.Server.URL)
	if err != nil {
		return nil, err
	}
	_, host, _ := strings.Cut(spec.Server.URL, "://")
	var options []name.Option
	if at.Scheme == "http" {
		options = append(options, name.Insecure)
	}
	repo, err := name.NewRepository(host+"/"+strings.Trim(spec.Repository, "/"), options...)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the image %s: %w", spec.Image, err)
	}
	return &registry{spec: spec, repo: repo, t: t}, nil
}

// login finds out who asks, once.
func (r *registry) login(ctx context.Context) error {
	user, password := r.spec.Server.Username, r.spec.Server.Password
	switch {
	case r.auth != nil:
		return nil
	case r.spec.Google != nil:
		access, err := google.Login(ctx, *r.spec.Google, r.t)
		if err != nil {
			return err
		}
		user, password = google.RegistryUser, access.Token
	case r.spec.Azure != nil:
		token, err := azure.Registry(ctx, *r.spec.Azure, r.repo.RegistryStr(), r.t)
		if err != nil {
			return err
		}
		user, password = azure.RegistryUser, token
	case r.spec.Server.Auth != task.AuthBasic:
		r.auth = authn.Anonymous
		return nil
	}
	r.auth = &authn.Basic{Username: user, Password: password}
	return nil
}

func (r *registry) options(ctx context.Context) ([]remote.Option, error) {
	err := r.login(ctx)
	return []remote.Option{remote.WithContext(ctx), remote.WithTransport(r.t), remote.WithAuth(r.auth)}, err
}

// versions lists the tags. Google and Azure say when each came.
func (r *registry) versions(ctx context.Context) ([]version, error) {
	if err := r.login(ctx); err != nil {
		return nil, err
	}
	switch {
	case r.spec.Google != nil:
		return r.googleTags(ctx)
	case r.spec.Azure != nil:
		return r.azureTags(ctx)
	}
	return r.tags(ctx)
}

// tags lists the tags in the lexical order of Harness, backwards: the API has
// no times.
func (r *registry) tags(ctx context.Context) ([]version, error) {
	options, err := r.options(ctx)
	if err != nil {
		return nil, err
	}
	puller, err := remote.NewPuller(options...)
	if err != nil {
		return nil, r.explain(err)
	}
	lister, err := puller.Lister(ctx, r.repo)
	if err != nil {
		return nil, r.explain(err)
	}
	var all []version
	for len(all) < maxVersions && lister.HasNext() {
		page, err := lister.Next(ctx)
		if err != nil {
			return nil, r.explain(err)
		}
		for _, tag := range page.Tags {
			all = append(all, version{id: tag})
		}
	}
	return sorted(all), nil
}

func (r *registry) find(ctx context.Context, id string) (found, error) {
	f := found{}
	f.Image = lookup.ImageName(r.spec.Image, id, "")
	tag, err := name.NewTag(r.repo.String() + ":" + id)
	if err != nil {
		return f, fault.New(fault.Invalid, "the tag %q: %w", id, err)
	}
	tag.Repository = r.repo
	options, err := r.options(ctx)
	if err != nil {
		return f, err
	}
	desc, err := remote.Get(tag, options...)
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
