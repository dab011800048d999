package source

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/slipway-cd/slipway/delegate/diskcache"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// The media types of the one layer that an artifact has: files, or a chart.
const (
	layerFiles = "application/vnd.oci.image.layer.v1.tar+gzip"
	layerChart = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// maxUnpacked is how many bytes an artifact may have unpacked.
const maxUnpacked = 100 << 20

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// artifact is where a source in a registry is.
func (s *Sources) artifact(ctx context.Context, r repository, src *gitops.Source) (name.Repository, []remote.Option, error) {
	var how []name.Option
	if r.PlainHTTP {
		how = append(how, name.Insecure)
	}
	at, err := name.NewRepository(strings.TrimPrefix(src.RepoURL, "oci://"), how...)
	if err != nil {
		return name.Repository{}, nil, fault.New(fault.Invalid, "found the address %s; want one such as oci://registry.example.com/team/app: %w", src.RepoURL, err)
	}
	who, err := s.login(ctx, r)
	if err != nil {
		return name.Repository{}, nil, err
	}
	as := authn.Anonymous
	switch {
	case who.token != "":
		as = &authn.Bearer{Token: who.token}
	case who.user != "" || who.password != "":
		as = &authn.Basic{Username: who.user, Password: who.password}
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuth(as)}
	via, err := r.via()
	if via != nil {
		options = append(options, remote.WithTransport(via))
	}
	return at, options, err
}

// digest is the digest of the manifest that a source in a registry means: of a tag,
// or of the highest version among the tags. A plus in a version is an underscore in
// its tag.
func (s *Sources) digest(ctx context.Context, src *gitops.Source, r repository, since time.Time) (string, error) {
	if digestForm.MatchString(src.TargetRevision) {
		return src.TargetRevision, nil
	}
	at, options, err := s.artifact(ctx, r, src)
	if err != nil {
		return "", err
	}
	question := strings.Join([]string{"artifact", r.id, src.TargetRevision}, "\n")
	a, err := s.ask(ctx, question, since, func(a *answer) {
		tag := src.TargetRevision
		if tag == "" || ranges.MatchString(tag) {
			if tag, a.err = newestTag(at, tag, options); a.err != nil {
				return
			}
		}
		var found *v1.Descriptor
		if found, a.err = remote.Head(at.Tag(strings.ReplaceAll(tag, "+", "_")), options...); a.err == nil {
			a.revision = found.Digest.String()
		}
	})
	if err != nil {
		return "", refused(src, err)
	}
	return a.revision, nil
}

func newestTag(at name.Repository, constraint string, options []remote.Option) (string, error) {
	tags, err := remote.List(at, options...)
	if err != nil {
		return "", err
	}
	for i, tag := range tags {
		tags[i] = strings.ReplaceAll(tag, "_", "+")
	}
	if constraint == "" {
		constraint = "*"
	}
	return highest(tags, constraint)
}

// refused says of a registry's error what it means.
func refused(src *gitops.Source, err error) error {
	var answered *transport.Error
	switch {
	case fault.CodeOf(err) != fault.Internal:
		return fault.Wrap(err, "%s", src.RepoURL)
	case errors.As(err, &answered) && answered.StatusCode == 404:
		return fault.New(fault.NotFound, "revision %q not found in %s", src.TargetRevision, src.RepoURL)
	case errors.As(err, &answered) && (answered.StatusCode == 401 || answered.StatusCode == 403):
		return fault.New(fault.Unavailable, "%s: %w", src.RepoURL, err).Causing(fault.Authentication)
	}
	return fault.New(fault.Unavailable, "%s: %w", src.RepoURL, err).Causing(fault.Connectivity, fault.Unknown)
}

// openArtifact gives the files of an artifact.
func (s *Sources) openArtifact(ctx context.Context, src *gitops.Source, r repository, digest string) (*Files, error) {
	if !digestForm.MatchString(digest) {
		return nil, fault.New(fault.Invalid, "found %q for a revision of %s; want a digest", digest, src.RepoURL)
	}
	at, options, err := s.artifact(ctx, r, src)
	if err != nil {
		return nil, err
	}
	if _, err := s.ask(ctx, strings.Join([]string{"open", r.id, digest}, "\n"), time.Time{}, func(a *answer) {
		_, a.err = remote.Head(at.Digest(digest), options...) // who may not read it doesn't get what others read
	}); err != nil {
		return nil, refused(src, err)
	}
	dir := filepath.Join(s.artifacts, strings.TrimPrefix(digest, "sha256:"))
	if !diskcache.Use(dir) {
		diskcache.Prune(s.artifacts, time.Now())
		if err := s.unpack(at.Digest(digest), options, dir); err != nil {
			return nil, refused(src, err)
		}
	}
	return &Files{URL: r.URL, Revision: digest, root: digest + ":.", objects: folder{dir, digest}, seen: map[string]string{}}, nil
}

// unpack downloads an artifact into a new folder. Two that do so at once do the same.
func (s *Sources) unpack(ref name.Digest, options []remote.Option, dir string) error {
	image, err := remote.Image(ref, options...)
	if err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	if len(layers) != 1 {
		return fault.New(fault.Invalid, "the artifact %s has %d layers; want one", ref.DigestStr(), len(layers))
	}
	kind, err := layers[0].MediaType()
	if err != nil {
		return err
	}
	if kind != layerFiles && kind != layerChart {
		return fault.New(fault.Invalid, "the layer of artifact %s is a %s; want %s or %s", ref.DigestStr(), kind, layerFiles, layerChart)
	}
	packed, err := layers[0].Compressed()
	if err != nil {
		return err
	}
	defer func() { _ = packed.Close() }() // it was only read
	if err := os.MkdirAll(s.artifacts, 0o700); err != nil {
		return fmt.Errorf("make the cache of artifacts: %w", err)
	}
	work, err := os.MkdirTemp(s.artifacts, "unpack-")
	if err != nil {
		return fmt.Errorf("make the cache of artifacts: %w", err)
	}
	defer os.RemoveAll(work)
	if err := expand(packed, work, kind == layerChart); err != nil {
		return err
	}
	if err := os.Rename(work, dir); err != nil && !diskcache.Use(dir) {
		return fmt.Errorf("move the artifact into place: %w", err)
	}
	return nil
}

// expand writes an archive into a folder, and nothing outside of it. A chart's own
// folder is left out.
func expand(packed io.Reader, dir string, chart bool) error {
	z, err := gzip.NewReader(packed)
	if err != nil {
		return fault.New(fault.Invalid, "the artifact can't be unpacked: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // files were closed
	archive := tar.NewReader(z)
	left := int64(maxUnpacked)
	for files := 0; ; files++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fault.New(fault.Invalid, "the artifact can't be unpacked: %w", err)
		}
		at, err := inside(h.Name)
		if err != nil {
			return err
		}
		if chart {
			_, at, _ = strings.Cut(at, "/")
		}
		if at == "" || at == "." {
			continue
		}
		if left -= h.Size; left < 0 || files >= MaxFiles {
			return fault.New(fault.TooLarge, "the artifact has more than %d MiB or %d files", maxUnpacked>>20, MaxFiles).Causing(fault.ResourceLimitsFailure)
		}
		if err := place(root, at, h, archive); err != nil {
			return fault.New(fault.Invalid, "unpack %s: %w", at, err)
		}
	}
}

func place(root *os.Root, at string, h *tar.Header, text io.Reader) error {
	if h.Typeflag == tar.TypeDir {
		return root.MkdirAll(at, 0o700)
	}
	if err := root.MkdirAll(path.Dir(at), 0o700); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		to := path.Dir(at) + "/" + h.Linkname
		if _, err := inside(to); err != nil || path.IsAbs(h.Linkname) {
			return fault.New(fault.Invalid, "it is a link that leads out of the artifact, to %s", h.Linkname)
		}
		return root.Symlink(h.Linkname, at)
	case tar.TypeReg:
		f, err := root.OpenFile(at, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fs.FileMode(0o600))
		if err != nil {
			return err
		}
		_, err = io.CopyN(f, text, h.Size)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		return err
	}
	return fault.New(fault.Invalid, "it is neither a file nor a folder nor a link")
}
