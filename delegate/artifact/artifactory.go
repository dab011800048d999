package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// artifactory is an image or a folder of Artifactory, by its query language
// (REST API, "Artifactory Query Language").
type artifactory struct {
	spec   lookup.Artifactory
	name   string
	client *restapi.Client
}

// file is what Artifactory says of a file.
type file struct {
	Path     string
	Name     string
	Modified time.Time
	SHA256   string
}

// files asks for the files that are below the path, or those of an image's
// tags: each has its manifest in a folder of its name.
func (a *artifactory) files(ctx context.Context) ([]file, error) {
	below := strings.Trim(a.spec.Path, "/")
	names := map[string]any{"$match": "*"}
	if a.spec.Image != "" {
		names = map[string]any{"$match": "*manifest.json"}
	}
	criteria, err := json.Marshal(map[string]any{
		"repo": a.spec.Repository, "type": "file", "name": names,
		"$or": []any{map[string]any{"path": below}, map[string]any{"path": map[string]any{"$match": path.Join(below, "*")}}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the query: %w", err)
	}
	query := fmt.Sprintf(`items.find(%s).include("repo","path","name","modified","sha256").sort({"$desc":["modified"]}).limit(%d)`, criteria, maxVersions)
	var answer struct{ Results []file }
	r := restapi.Request{Method: http.MethodPost, Path: "/api/search/aql", Text: query}
	if err := a.client.JSON(ctx, r, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) == 0 {
		return nil, missingArtifact(a.name, fault.New(fault.NotFound, "repository %s has nothing there", a.spec.Repository))
	}
	return answer.Results, nil
}

// id is a file's version: an image's tag, or the path below the folder.
func (a *artifactory) id(f file) string {
	if a.spec.Image != "" {
		return path.Base(f.Path)
	}
	whole := path.Join(f.Path, f.Name)
	return strings.TrimPrefix(strings.TrimPrefix(whole, strings.Trim(a.spec.Path, "/")), "/")
}

// manifest says whether a file is what a tag stands for: the list of its
// platforms, or the manifest of the only one.
func (a *artifactory) manifest(f file) bool {
	return a.spec.Image == "" || f.Name == "manifest.json" || f.Name == "list.manifest.json"
}

func (a *artifactory) versions(ctx context.Context) ([]version, error) {
	files, err := a.files(ctx)
	if err != nil {
		return nil, err
	}
	var all []version
	seen := map[string]bool{}
	for _, f := range files {
		if id := a.id(f); a.manifest(f) && !seen[id] && !strings.HasPrefix(id, "sha256:") {
			seen[id] = true
			all = append(all, version{id: id, created: f.Modified})
		}
	}
	return sorted(all), nil
}

func (a *artifactory) find(ctx context.Context, id string) (found, error) {
	files, err := a.files(ctx)
	if err != nil {
		return found{}, err
	}
	var hit *file
	for _, f := range files {
		if a.id(f) == id && a.manifest(f) && (hit == nil || f.Name == "list.manifest.json") {
			hit = &f
		}
	}
	if hit == nil {
		return found{}, fault.New(fault.NotFound, "%s has no version %s", a.name, id)
	}
	if a.spec.Image != "" {
		image := lookup.ImageName(a.spec.Image, id, "")
		digest := "sha256:" + hit.SHA256
		return found{Image: image, Digest: digest, Metadata: map[string]string{"tag": id, "image": image, "url": image, "SHA": digest, "SHAV2": digest}}, nil
	}
	at := path.Join(hit.Path, hit.Name)
	return found{Metadata: map[string]string{
		"artifactPath": id, "path": at, "fileName": hit.Name, "SHA": hit.SHA256,
		"url": a.client.URL() + "/" + a.spec.Repository + "/" + at,
	}}, nil
}
