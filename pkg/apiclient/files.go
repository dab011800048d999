package apiclient

import (
	"bytes"
	"context"
	"net/http"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
)

func ofFile(method string, f ref.File) request {
	q := scoped(f.Scope)
	q.Set("path", f.Path)
	return request{method: method, path: path("files", "content"), query: q}
}

// Files lists the files of a folder and of those in it, by path.
func (c *Client) Files(ctx context.Context, folder ref.File, p Page) ([]api.File, string, error) {
	q := p.in(scoped(folder.Scope))
	q.Set("folder", folder.Path)
	l, err := get[api.FileList](ctx, c, path("files"), q)
	return l.Files, l.NextPageToken, err
}

// File gets a file with its content.
func (c *Client) File(ctx context.Context, f ref.File) (api.FileContent, error) {
	return call[api.FileContent](ctx, c, ofFile(http.MethodGet, f))
}

// PutFile creates a file or replaces its content.
func (c *Client) PutFile(ctx context.Context, f ref.File, content []byte) (api.SavedFile, error) {
	r := ofFile(http.MethodPut, f)
	r.body, r.contentType = bytes.NewReader(content), "application/octet-stream"
	return call[api.SavedFile](ctx, c, r)
}

// DeleteFile deletes a file; one that documents name only if that is forced.
func (c *Client) DeleteFile(ctx context.Context, f ref.File, forced bool) error {
	r := ofFile(http.MethodDelete, f)
	if forced {
		r.query.Set("force", "true")
	}
	_, err := call[struct{}](ctx, c, r)
	return err
}
