package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// File is what is known of a file of the file store.
type File struct {
	Path      string    `json:"path" doc:"From the root of its scope, e.g. /manifests/web.yaml"`
	Org       string    `json:"org,omitempty"`
	Project   string    `json:"project,omitempty"`
	Version   int64     `json:"version" doc:"1 for the first save"`
	Size      int64     `json:"size" doc:"In bytes"`
	SHA256    string    `json:"sha256" doc:"Of the content, in hexadecimal digits"`
	UpdatedBy string    `json:"updatedBy"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// FileContent is a file with its content.
type FileContent struct {
	File
	Content []byte `json:"content" doc:"In base64"`
}

// SavedFile says what a save did.
type SavedFile struct {
	File
	Change filestore.Change `json:"change" enum:"created,configured,unchanged"`
}

// FileList is a part of the list of a folder's files.
type FileList struct {
	Files         []File `json:"files" nullable:"false"`
	NextPageToken string `json:"nextPageToken,omitempty"`
}

func fileOf(f store.File) File {
	return File{
		Path: f.Key.Path, Org: f.Key.Scope.Org, Project: f.Key.Scope.Project, Version: f.Version, Size: f.Size, SHA256: f.Hash,
		UpdatedBy: f.UpdatedBy, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
	}
}

func (s *Server) files() {
	tags := []string{"Files"}
	handle(s, action.FileView, huma.Operation{
		OperationID: "listFiles", Method: http.MethodGet, Path: "/v1/files", Tags: tags, Summary: "List the files of a folder and of those in it",
	}, s.listFiles)
	handle(s, action.FileView, huma.Operation{
		OperationID: "getFile", Method: http.MethodGet, Path: "/v1/files/content", Tags: tags, Summary: "Get a file with its content",
	}, s.getFile)
	handle(s, action.FileEdit, huma.Operation{
		OperationID: "putFile", Method: http.MethodPut, Path: "/v1/files/content", Tags: tags, MaxBodyBytes: filestore.MaxFile + 1,
		Summary: "Create a file or replace its content",
	}, inTurn(s, s.putFile), func(api huma.API, op *huma.Operation) {
		api.OpenAPI().Paths[op.Path].Put.RequestBody.Required = false // the framework wants one, but a file may be empty
	})
	handle(s, action.FileDelete, huma.Operation{
		OperationID: "deleteFile", Method: http.MethodDelete, Path: "/v1/files/content", Tags: tags, Summary: "Delete a file",
	}, s.deleteFile)
}

func (s *Server) listFiles(ctx context.Context, in *struct {
	Scoped
	Paged
	Folder string `query:"folder" maxLength:"512" default:"/" doc:"The folder's path"`
}) (*struct{ Body FileList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := filePath(in.Folder, scope)
	if err != nil {
		return nil, err
	}
	found, next, err := s.Store.ListFiles(ctx, folder, in.page())
	if err != nil {
		return nil, err
	}
	out := FileList{Files: make([]File, len(found)), NextPageToken: next}
	for i, f := range found {
		out.Files[i] = fileOf(f)
	}
	return &struct{ Body FileList }{out}, nil
}

// filePath reads a path of the scope that the request is about.
func filePath(path string, scope ref.Scope) (ref.File, error) {
	f, err := ref.ParseFile(path, scope)
	if err != nil {
		return ref.File{}, invalid("%w", err)
	}
	if f.Scope != scope {
		return ref.File{}, invalid("path %q names a scope; org and project say where the request goes", path)
	}
	return f, nil
}

// OfFile names a file in the query.
type OfFile struct {
	Scoped
	Path string `query:"path" required:"true" maxLength:"512" doc:"From the root of the scope, e.g. /manifests/web.yaml"`
}

func (in OfFile) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Scope: scope, ID: in.Path}, err
}

func (in OfFile) key(ctx context.Context) (ref.File, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return ref.File{}, err
	}
	if err := ref.CheckFile(in.Path); err != nil {
		return ref.File{}, invalid("%w", err)
	}
	return ref.File{Scope: scope, Path: in.Path}, nil
}

func (s *Server) getFile(ctx context.Context, in *OfFile) (*struct{ Body FileContent }, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	f, content, err := s.Store.FileContent(ctx, key)
	return &struct{ Body FileContent }{FileContent{File: fileOf(f), Content: content}}, err
}

func (s *Server) putFile(ctx context.Context, in *struct {
	OfFile
	Versioned
	RawBody []byte `contentType:"application/octet-stream"`
}) (*struct{ Body SavedFile }, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Catalog.Found(ctx, author(ctx), key.Scope); err != nil {
		return nil, err
	}
	f, change, err := s.Files.Put(ctx, key, slices.Clone(in.RawBody), in.Version, author(ctx))
	return &struct{ Body SavedFile }{SavedFile{File: fileOf(f), Change: change}}, err
}

func (s *Server) deleteFile(ctx context.Context, in *struct {
	OfFile
	Versioned
	Force bool `query:"force" doc:"Delete it although documents name it or a folder that it is in"`
}) (*nothing, error) {
	key, err := in.key(ctx)
	if err != nil {
		return nil, err
	}
	return nil, s.Files.Delete(ctx, key, in.Version, in.Force, author(ctx))
}
