// Package awsdoc reads manifests that are documents of AWS's API: it fetches
// their files, has their expressions resolved and makes of each the input of a
// call, as the SDK has it.
//
// What is done with an input is its lane's executor's. Where the files of other
// manifests come from is delegate/manifest's, which this uses.
package awsdoc

import (
	"context"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// What the paths of a store in a bucket may name: objects, and bytes of all.
const (
	maxObjects = 1000
	maxBytes   = 64 << 20
)

// Source fetches the manifests of one task.
type Source struct {
	Git   *gitfetch.Fetcher
	Stage string // an execution's stage, for which a branch is resolved once
	Env   executor.Env
	Log   io.Writer
	// Accesses are the delegate's, for the files in buckets; Execution is who asks.
	Accesses  *aws.Accesses
	Execution string
	// Known are values of names that only the task knows, such as targetGroupArn:
	// in the files <+name> is the value. See swimlane.ManifestKind.Later.
	Known map[string]string
}

// known puts the values of names that only the task knows in their places.
func (s Source) known(text string) string {
	for name, value := range s.Known {
		text = regexp.MustCompile(`<\+\s*`+regexp.QuoteMeta(name)+`\s*>`).ReplaceAllLiteralString(text, value)
	}
	return text
}

// resolve has the expressions of texts resolved, but those names.
func (s Source) resolve(ctx context.Context, texts map[string]string) (map[string]string, error) {
	own := make(map[string]string, len(texts))
	for name, text := range texts {
		own[name] = s.known(text)
	}
	return s.Env.Resolve(ctx, own)
}

// File is a fetched file with its expressions resolved. It may hold secrets.
type File struct {
	Manifest string // the identifier of the manifest
	Name     string // in the manifest
	Text     string
}

// Fetch reads the files of manifests, one after the other.
func (s Source) Fetch(ctx context.Context, manifests ...lane.Manifest) ([]File, error) {
	var out []File
	for _, m := range manifests {
		files, err := s.one(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("manifest %s: %w", m.ID, err)
		}
		for _, f := range files {
			out = append(out, File{Manifest: m.ID, Name: f.Name, Text: f.Text})
		}
	}
	return out, nil
}

func (s Source) one(ctx context.Context, m lane.Manifest) ([]manifest.File, error) {
	from := manifest.Source{
		Git: s.Git, Stage: s.Stage, JSON: true, Resolve: s.resolve, Files: s.Env.Files, Dir: s.Env.Dir, Log: s.Log,
	}
	m.Store.Inline = s.known(m.Store.Inline) // the rest of it is resolved
	if m.Store.S3 == nil {
		return from.All(ctx, m.ID, m.Store)
	}
	files, err := s.objects(ctx, *m.Store.S3)
	if err != nil {
		return nil, err
	}
	return files, from.Resolved(ctx, files)
}

// objects reads files of a bucket.
func (s Source) objects(ctx context.Context, from task.S3Objects) ([]manifest.File, error) {
	bucket, err := s.Accesses.OpenBucket(ctx, from, s.Execution)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, p := range from.Paths {
		p = strings.TrimPrefix(p, "/")
		if p != "" && !strings.HasSuffix(p, "/") {
			keys = append(keys, p)
			continue
		}
		below, err := bucket.Keys(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, key := range below {
			if ext := strings.ToLower(path.Ext(key)); ext == ".yaml" || ext == ".yml" || ext == ".json" {
				keys = append(keys, key)
			}
		}
	}
	if len(keys) > maxObjects {
		return nil, fault.New(fault.TooLarge, "s3://%s: the paths name %d objects; the limit is %d", from.Bucket, len(keys), maxObjects)
	}
	var files []manifest.File
	left := maxBytes
	for _, key := range keys {
		text, err := bucket.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		if left -= len(text); left < 0 {
			return nil, fault.New(fault.TooLarge, "s3://%s: the objects that the paths name have more than %d MiB", from.Bucket, maxBytes>>20)
		}
		files = append(files, manifest.File{Name: path.Base(key), Place: key, Text: string(text)})
	}
	_, _ = fmt.Fprintf(s.Log, "Fetched %d files of s3://%s\n", len(files), from.Bucket) // the agent reports what it can't log
	return files, nil
}
