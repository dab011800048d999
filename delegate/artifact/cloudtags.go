package artifact

import (
	"context"
	"net/url"
	"strconv"
	"time"

	googleregistry "github.com/google/go-containerregistry/pkg/v1/google"

	"github.com/slipway-cd/slipway/delegate/azure"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/task"
)

// googleTags lists tags as Google's registries do: each image with its tags
// and the time when it came.
func (r *registry) googleTags(ctx context.Context) ([]version, error) {
	list, err := googleregistry.List(r.repo, googleregistry.WithContext(ctx), googleregistry.WithTransport(r.t), googleregistry.WithAuth(r.auth))
	if err != nil {
		return nil, r.explain(err)
	}
	var all []version
	timed := map[string]bool{}
	for _, image := range list.Manifests {
		for _, tag := range image.Tags {
			all = append(all, version{id: tag, created: image.Uploaded})
			timed[tag] = true
		}
	}
	for _, tag := range list.Tags {
		if !timed[tag] {
			all = append(all, version{id: tag})
		}
	}
	return sorted(all), nil
}

// azurePage is how many tags Azure gives at once.
const azurePage = 1000

// azureTags lists tags as Azure's registries do, with the time of their last
// change.
func (r *registry) azureTags(ctx context.Context) ([]version, error) {
	config, err := r.auth.Authorization()
	if err != nil {
		return nil, err
	}
	host, repo := r.repo.RegistryStr(), r.repo.RepositoryStr()
	token, err := azure.RegistryAccess(ctx, config.Password, host, repo, r.t)
	if err != nil {
		return nil, err
	}
	client := restapi.New(task.Server{URL: "https://" + host, Auth: task.AuthBearer, Token: token}, r.t)
	var all []version
	query := url.Values{"n": {strconv.Itoa(azurePage)}, "orderby": {"timedesc"}}
	for len(all) < maxVersions {
		var page struct {
			Tags []struct {
				Name           string
				LastUpdateTime time.Time
			}
		}
		err := client.Get(ctx, "/acr/v1/"+repo+"/_tags", query, &page)
		if notThere(err) {
			return nil, missingArtifact(r.spec.Image, err)
		}
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tags {
			all = append(all, version{id: t.Name, created: t.LastUpdateTime})
		}
		if len(page.Tags) < azurePage {
			break
		}
		query.Set("last", page.Tags[len(page.Tags)-1].Name)
	}
	return sorted(all), nil
}
