package artifact

import (
	"context"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// nexus is a component of Nexus 3, by its search (REST API, "Search").
type nexus struct {
	spec   lookup.Nexus
	name   string
	client *restapi.Client
}

// component is what Nexus says of one version.
type component struct {
	Name    string
	Version string
	Assets  []struct {
		DownloadURL  string `json:"downloadUrl"`
		Path         string
		Checksum     struct{ SHA256 string }
		LastModified time.Time
	}
}

// id is the version; a raw component has none but its name.
func (n *nexus) id(c component) string {
	if n.spec.Format == "raw" {
		return c.Name
	}
	return c.Version
}

// query asks for the versions of the component; of all of them if id is empty.
func (n *nexus) query(id string) url.Values {
	q := url.Values{"repository": {n.spec.Repository}}
	set := func(key, value string) {
		if value != "" {
			q.Set(key, value)
		}
	}
	switch n.spec.Format {
	case "maven":
		q.Set("format", "maven2")
		set("maven.groupId", n.spec.Group)
		set("maven.artifactId", n.spec.Artifact)
		set("maven.classifier", n.spec.Classifier)
		set("maven.extension", n.spec.Extension)
	case "raw":
		q.Set("format", "raw")
		set("group", n.spec.Group)
		set("name", id)
		return q
	case "npm":
		q.Set("format", "npm")
		scope, name, scoped := strings.Cut(strings.TrimPrefix(n.spec.Package, "@"), "/")
		if scoped {
			q.Set("group", scope)
			q.Set("name", name)
		} else {
			q.Set("name", n.spec.Package)
		}
	default:
		q.Set("format", n.spec.Format)
		q.Set("name", n.spec.Package)
	}
	set("version", id)
	return q
}

// search calls f for each component, and stops when it says so.
func (n *nexus) search(ctx context.Context, id string, f func(component) bool) error {
	q := n.query(id)
	for seen := 0; seen < maxVersions; {
		var page struct {
			Items []component
			Next  string `json:"continuationToken"`
		}
		if err := n.client.Get(ctx, "/service/rest/v1/search", q, &page); err != nil {
			return err
		}
		for _, c := range page.Items {
			if seen++; f(c) {
				return nil
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Set("continuationToken", page.Next)
	}
	return nil
}

func (n *nexus) versions(ctx context.Context) ([]version, error) {
	var all []version
	err := n.search(ctx, "", func(c component) bool {
		v := version{id: n.id(c)}
		for _, a := range c.Assets {
			if a.LastModified.After(v.created) {
				v.created = a.LastModified
			}
		}
		all = append(all, v)
		return false
	})
	if err == nil && len(all) == 0 {
		return nil, missingArtifact(n.name, fault.New(fault.NotFound, "repository %s has no such component", n.spec.Repository))
	}
	return sorted(all), err
}

func (n *nexus) find(ctx context.Context, id string) (found, error) {
	var f found
	hit := false
	err := n.search(ctx, id, func(c component) bool {
		if n.id(c) != id {
			return false
		}
		hit, f = true, n.found(c, id)
		return true
	})
	if err == nil && !hit {
		err = fault.New(fault.NotFound, "%s has no version %s", n.name, id)
	}
	return f, err
}

func (n *nexus) found(c component, id string) found {
	f := found{Metadata: map[string]string{"version": id, "repository": n.spec.Repository}}
	for _, a := range c.Assets {
		if n.spec.Extension != "" && !strings.HasSuffix(a.Path, "."+strings.TrimPrefix(n.spec.Extension, ".")) {
			continue
		}
		f.Metadata["url"], f.Metadata["path"], f.Metadata["fileName"] = a.DownloadURL, a.Path, path.Base(a.Path)
		if n.spec.Format == "docker" && a.Checksum.SHA256 != "" {
			f.Digest = "sha256:" + a.Checksum.SHA256
		}
		break
	}
	if n.spec.Image != "" {
		f.Image = lookup.ImageName(n.spec.Image, id, "")
		f.Metadata = map[string]string{"tag": id, "image": f.Image, "url": f.Image, "SHA": f.Digest, "SHAV2": f.Digest}
	}
	return f
}
