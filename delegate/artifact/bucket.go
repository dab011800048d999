package artifact

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/slipway-cd/slipway/delegate/google"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// bucket is one of Cloud Storage, by its JSON API ("Objects").
type bucket struct {
	spec   task.GoogleBucket
	t      http.RoundTripper
	client *restapi.Client // nil until it is needed
}

// object is what Cloud Storage says of an object.
type object struct {
	Name       string
	Updated    time.Time
	Generation string
}

func (b *bucket) open(ctx context.Context) error {
	if b.client != nil {
		return nil
	}
	var err error
	b.client, err = google.Storage(ctx, b.spec.Google, b.t)
	return err
}

func (b *bucket) path() string { return "/storage/v1/b/" + url.PathEscape(b.spec.Bucket) + "/o" }

func (b *bucket) versions(ctx context.Context) ([]version, error) {
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	var all []version
	query := url.Values{"fields": {"items(name,updated),nextPageToken"}}
	for len(all) < maxVersions {
		var page struct {
			Items []object
			Next  string `json:"nextPageToken"`
		}
		err := b.client.Get(ctx, b.path(), query, &page)
		if notThere(err) {
			return nil, missingArtifact("bucket "+b.spec.Bucket, err)
		}
		if err != nil {
			return nil, err
		}
		for _, o := range page.Items {
			all = append(all, version{id: o.Name, created: o.Updated})
		}
		if page.Next == "" {
			break
		}
		query.Set("pageToken", page.Next)
	}
	return sorted(all), nil
}

func (b *bucket) find(ctx context.Context, id string) (found, error) {
	if err := b.open(ctx); err != nil {
		return found{}, err
	}
	var o object
	err := b.client.Get(ctx, b.path()+"/"+url.PathEscape(id), nil, &o)
	if notThere(err) {
		return found{}, fault.New(fault.NotFound, "bucket %s has no object %s", b.spec.Bucket, id)
	}
	return found{Metadata: map[string]string{
		"artifactPath": id, "bucket": b.spec.Bucket, "fileName": path.Base(id), "generation": o.Generation, "url": "gs://" + b.spec.Bucket + "/" + id,
	}}, err
}
