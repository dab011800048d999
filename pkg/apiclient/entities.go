package apiclient

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Document is an entity's document on its way to the server.
type Document struct {
	Scope  ref.Scope
	File   string // for findings
	YAML   []byte
	Strict bool
	// Version is the one that it was made from; nil: whatever is there.
	Version *int64
}

func (d Document) request(method, path string) request {
	q := scoped(d.Scope)
	set(q, "file", d.File)
	if d.Strict {
		q.Set("strict", "true")
	}
	version(q, d.Version)
	return request{method: method, path: path, query: q, body: bytes.NewReader(d.YAML), contentType: "application/yaml"}
}

func version(q url.Values, v *int64) {
	if v != nil {
		q.Set("version", strconv.FormatInt(*v, 10))
	}
}

// Save creates or updates an entity.
func (c *Client) Save(ctx context.Context, d Document) (api.SavedEntity, error) {
	return call[api.SavedEntity](ctx, c, d.request(http.MethodPut, "/v1/entities"))
}

// Validate says what Save would do, and changes nothing.
func (c *Client) Validate(ctx context.Context, d Document) (api.SavedEntity, error) {
	return call[api.SavedEntity](ctx, c, d.request(http.MethodPost, "/v1/entities:validate"))
}

// SaveAll creates or updates the entities of a set of documents, or says what
// that would do.
func (c *Client) SaveAll(ctx context.Context, set api.DocumentSet) (api.SavedSet, error) {
	return sendJSON[api.SavedSet](ctx, c, request{method: http.MethodPost, path: "/v1/entities:apply"}, set)
}

// EntityKey names an entity.
type EntityKey struct {
	Scope ref.Scope
	Kind  ref.Kind
	ID    string
	Env   string // an infrastructure definition's environment, as a reference; a trigger's or an input set's pipeline
}

func (k EntityKey) request(method string) request {
	q := scoped(k.Scope)
	set(q, "env", k.Env)
	return request{method: method, path: path("entities", string(k.Kind), k.ID), query: q}
}

// Entity gets an entity.
func (c *Client) Entity(ctx context.Context, k EntityKey) (api.Entity, error) {
	return call[api.Entity](ctx, c, k.request(http.MethodGet))
}

// EntityYAML gets an entity's document as it was saved.
func (c *Client) EntityYAML(ctx context.Context, k EntityKey) ([]byte, error) {
	r := k.request(http.MethodGet)
	r.accept = "application/yaml"
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "read the document of %s %s: %w", k.Kind, k.ID, err)
	}
	return doc, nil
}

// ResolvedEntity gets what an entity's document becomes with its templates.
func (c *Client) ResolvedEntity(ctx context.Context, k EntityKey) (api.ResolvedEntity, error) {
	r := k.request(http.MethodGet)
	r.path += "/resolved"
	return call[api.ResolvedEntity](ctx, c, r)
}

// Entities lists entities of a kind; the key's ID doesn't matter.
func (c *Client) Entities(ctx context.Context, k EntityKey, p Page) ([]api.Entity, string, error) {
	q := p.in(scoped(k.Scope))
	set(q, "env", k.Env)
	l, err := get[api.EntityList](ctx, c, path("entities", string(k.Kind)), q)
	return l.Entities, l.NextPageToken, err
}

// DeleteEntity deletes an entity; nil deletes any version.
func (c *Client) DeleteEntity(ctx context.Context, k EntityKey, v *int64) error {
	r := k.request(http.MethodDelete)
	version(r.query, v)
	_, err := call[struct{}](ctx, c, r)
	return err
}

// SetSecretFile sets the content of a SecretFile.
func (c *Client) SetSecretFile(ctx context.Context, scope ref.Scope, id string, content []byte) error {
	_, err := call[struct{}](ctx, c, request{
		method: http.MethodPut, path: path("secrets", id, "file"), query: scoped(scope),
		body: bytes.NewReader(content), contentType: "application/octet-stream",
	})
	return err
}

// SetStableTemplate makes a version of a template the stable one.
func (c *Client) SetStableTemplate(ctx context.Context, scope ref.Scope, id, label string) error {
	r := request{method: http.MethodPut, path: path("templates", id, "stable"), query: scoped(scope)}
	_, err := sendJSON[struct{}](ctx, c, r, api.StableVersion{VersionLabel: label})
	return err
}
