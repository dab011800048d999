package chart

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/registry"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// bucket is one of S3 or Cloud Storage.
type bucket interface {
	Keys(ctx context.Context, prefix string) ([]string, error)
	Get(ctx context.Context, key string) ([]byte, error)
}

// filed is a chart whose versions are files in a folder of a bucket, as helm
// package names them: web-1.2.3.tgz. There may be an index, which nobody reads:
// the files are what there is.
type filed struct {
	bucket bucket
	folder string // without a slash at either end
	name   string
}

func (f filed) find(ctx context.Context, version string) (string, error) {
	versions, err := f.versions(ctx)
	if err != nil {
		return "", err
	}
	found, err := registry.GetTagMatchingVersionOrConstraint(versions, version)
	if err != nil {
		return "", fault.New(fault.NotFound, "the folder has no version %q of it, as a file %s-VERSION.tgz", version, f.name)
	}
	return found, nil
}

// versions are those that the folder has, the highest first.
func (f filed) versions(ctx context.Context) ([]string, error) {
	begin := f.key("")
	keys, err := f.bucket.Keys(ctx, begin)
	if err != nil {
		return nil, err
	}
	var all []*semver.Version
	for _, k := range keys {
		text, isChart := strings.CutSuffix(strings.TrimPrefix(k, begin), ".tgz")
		// web-2-1.0.0.tgz is of the chart web-2: what is lenient would read a version 2.
		if _, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v")); !isChart || err != nil {
			continue
		}
		if v, err := semver.NewVersion(text); err == nil {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *semver.Version) int { return b.Compare(a) })
	var out []string
	for _, v := range all {
		out = append(out, v.Original())
	}
	return out, nil
}

// key is the name of a version's file, up to its version for "".
func (f filed) key(version string) string {
	name := path.Join(f.folder, f.name) + "-"
	if version != "" {
		name += version + ".tgz"
	}
	return name
}

func (f filed) get(ctx context.Context, version string) ([]byte, error) {
	return f.bucket.Get(ctx, f.key(version))
}
