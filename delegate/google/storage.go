package google

import (
	"context"
	"net/http"
	"net/url"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Storage makes a client for Cloud Storage's JSON API. Requests are sent over
// t; nil is net/http's default.
func Storage(ctx context.Context, g task.Google, t http.RoundTripper) (*restapi.Client, error) {
	login, err := Login(ctx, g, t)
	if err != nil {
		return nil, err
	}
	return restapi.New(task.Server{URL: "https://storage.googleapis.com", Auth: task.AuthBearer, Token: login.Token}, t), nil
}

// Bucket is one of Cloud Storage, whose objects are files ("Objects" of the
// JSON API). It needs the rights storage.objects.list and storage.objects.get.
type Bucket struct {
	client *restapi.Client
	name   string
}

// OpenBucket readies the access to a bucket. Requests are sent over t; nil is
// net/http's default.
func OpenBucket(ctx context.Context, b task.GoogleBucket, t http.RoundTripper) (Bucket, error) {
	client, err := Storage(ctx, b.Google, t)
	return Bucket{client, b.Bucket}, err
}

func (b Bucket) path() string { return "/storage/v1/b/" + url.PathEscape(b.name) + "/o" }

// Keys lists the objects whose names begin with a prefix, but not those in
// folders below it.
func (b Bucket) Keys(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	query := url.Values{"fields": {"items(name),nextPageToken"}, "delimiter": {"/"}, "prefix": {prefix}}
	for {
		var page struct {
			Items []struct{ Name string }
			Next  string `json:"nextPageToken"`
		}
		if err := b.client.Get(ctx, b.path(), query, &page); err != nil {
			return nil, err
		}
		for _, o := range page.Items {
			keys = append(keys, o.Name)
		}
		if page.Next == "" {
			return keys, nil
		}
		query.Set("pageToken", page.Next)
	}
}

// Get reads an object.
func (b Bucket) Get(ctx context.Context, key string) ([]byte, error) {
	a, err := b.client.Do(ctx, restapi.Request{Method: http.MethodGet, Path: b.path() + "/" + url.PathEscape(key), Query: url.Values{"alt": {"media"}}})
	return a.Body, err
}
