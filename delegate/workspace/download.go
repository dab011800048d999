package workspace

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

// unit is the command unit of the log of bringing files.
const unit = "Fetch Manifests"

// Config is what bringing files needs.
type Config struct {
	Sessions *session.Sessions
	Git      *gitfetch.Fetcher
	Accesses *aws.Accesses
	// Script runs the scripts that bring files; nil: none are run.
	Script executor.Executor
}

// NewDownload makes the executor of tasks that bring files.
func NewDownload(cfg Config) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, p, err := executor.Work[lane.Download](a)
		if err != nil {
			return task.Result{}, err
		}
		d := &download{Config: cfg, work: w, env: env, session: p.Session}
		if cfg.Script != nil {
			d.extract = manifest.NewExtractor(cfg.Script, a, env, unit)
		}
		outputs, err := d.all(ctx, p)
		if err != nil {
			_, _ = fmt.Fprintln(env.LogError(unit), err) // the agent reports what it can't log
			return task.Result{}, err
		}
		return executor.Succeed(outputs)
	}
}

// Bring puts manifests into folders of the workspace, for a task of another kind.
func Bring(ctx context.Context, cfg Config, w task.Work, env executor.Env, session string, manifests ...lane.Manifest) error {
	d := &download{Config: cfg, work: w, env: env, session: session}
	_, err := d.all(ctx, lane.Download{Manifests: manifests})
	return err
}

// Put writes a file into the workspace, which only its owner may read.
func Put(ctx context.Context, sessions *session.Sessions, id, name string, doc []byte) error {
	var b bytes.Buffer
	p := &pack{tar: tar.NewWriter(&b)}
	if err := p.file(path.Base(name), 0o600, int64(len(doc)), bytes.NewReader(doc)); err != nil {
		return err
	}
	if err := p.tar.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	err := sessions.Client(id).Put(ctx, path.Dir(name), &b)
	if fault.Is(err, fault.Unavailable) {
		return session.Gone(id, err)
	}
	return err
}

// maxTold bounds the files that the step's output names.
const maxTold = 1000

type download struct {
	Config
	work    task.Work
	env     executor.Env
	session string
	extract *manifest.Extractor
}

// all brings all that is asked for, and gives the step's outputs.
func (d *download) all(ctx context.Context, p lane.Download) (map[string]any, error) {
	outputs := map[string]any{}
	if p.Clone != nil {
		commit, err := d.clone(ctx, *p.Clone)
		if err != nil {
			return nil, err
		}
		outputs["commitId"], outputs["folder"] = commit, p.Clone.Into
	}
	files := []string{}
	for _, m := range p.Manifests {
		found, err := d.bring(ctx, m.ID, func(p *pack) error { return d.pack(ctx, p, m.Store) })
		if m.Optional && fault.Is(err, fault.NotFound) {
			_, _ = fmt.Fprintf(d.env.Log(unit), "%s is optional, and left out: %s\n", m.ID, err) // as below
			continue
		}
		if err != nil {
			return nil, fault.Wrap(err, "%s", m.ID)
		}
		files = append(files, found...)
	}
	if len(p.Manifests) > 0 {
		outputs["files"] = files[:min(len(files), maxTold)]
	}
	if len(p.Told) == 0 {
		return outputs, nil
	}
	texts, err := d.texts(ctx, p.Told)
	outputs["outputVariables"] = texts
	return outputs, err
}

// clone brings a repository with its history, and gives the commit.
func (d *download) clone(ctx context.Context, c lane.Clone) (string, error) {
	dir, err := d.env.Dir()
	if err == nil {
		dir, err = os.MkdirTemp(dir, "clone-")
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for the clone: %w", err)
	}
	defer os.RemoveAll(dir)
	commit, err := d.Git.Clone(ctx, c.Git, d.work.Execution+"/"+d.work.Stage, gitfetch.Depth{Commits: c.Depth, Tags: c.Tags}, dir)
	if err != nil {
		return "", err
	}
	_, _ = fmt.Fprintf(d.env.Log(unit), "Cloned %s at commit %s.\n", c.Git.URL, commit) // as below
	_, err = d.bring(ctx, c.Into, func(p *pack) error { return p.folder(dir) })
	return commit, err
}

// maxText bounds the texts of files that are outputs, in bytes, all together.
const maxText = 128 << 10

// texts reads files of the workspace, by their names.
func (d *download) texts(ctx context.Context, names []string) (map[string]string, error) {
	out, left := map[string]string{}, int64(maxText)
	for _, name := range names {
		text, err := Read(ctx, d.Sessions, d.session, name, left)
		if fault.Is(err, fault.TooLarge) {
			err = fault.New(fault.TooLarge, "the files of outputFilePathsContent have more than %d bytes together", maxText).Causing(fault.ConfigurationFailure)
		}
		if err != nil {
			return nil, err
		}
		out[path.Base(name)] = string(text)
		left -= int64(len(text))
	}
	return out, nil
}

// bring puts files into a folder of the workspace, and gives their names there.
func (d *download) bring(ctx context.Context, into string, fill func(*pack) error) ([]string, error) {
	dir, err := d.env.Dir()
	if err != nil {
		return nil, err
	}
	// The whole is there before any of it is sent: what fails leaves nothing half.
	f, err := os.CreateTemp(dir, "files-")
	if err != nil {
		return nil, fmt.Errorf("make a file for what is brought: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	p := &pack{tar: tar.NewWriter(f)}
	if err := fill(p); err != nil {
		return nil, err
	}
	if err := p.tar.Close(); err != nil {
		return nil, fmt.Errorf("pack the files: %w", err)
	}
	if len(p.names) == 0 {
		return nil, fault.New(fault.NotFound, "its store has no files there").Causing(fault.ConfigurationFailure)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the files: %w", err)
	}
	if err := d.Sessions.Client(d.session).Put(ctx, into, f); err != nil {
		if fault.Is(err, fault.Unavailable) {
			return nil, session.Gone(d.session, err)
		}
		return nil, err
	}
	_, _ = fmt.Fprintf(d.env.Log(unit), "Brought %d files into the folder %s of the workspace.\n", len(p.names), into) // the agent reports what it can't log
	for i, name := range p.names {
		p.names[i] = path.Join(into, name)
	}
	return p.names, nil
}

func (d *download) pack(ctx context.Context, p *pack, from task.Store) error {
	switch {
	case from.Git != nil:
		whole := *from.Git
		whole.Paths = nil
		files, err := d.Git.Fetch(ctx, whole, d.work.Execution+"/"+d.work.Stage)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(d.env.Log(unit), "Fetched commit %s of %s.\n", files.Commit, from.Git.URL) // as above
		return p.folder(files.Dir)
	case from.Files != nil:
		for _, named := range from.Files.Paths {
			files, err := d.env.Files(ctx, named)
			if err != nil {
				return err
			}
			for _, f := range files {
				if err := p.file(strings.TrimPrefix(f.Path, "/"), 0o644, int64(len(f.Content)), bytes.NewReader(f.Content)); err != nil {
					return err
				}
			}
		}
		return nil
	case from.S3 != nil:
		return d.objects(ctx, p, *from.S3)
	case from.Script != nil:
		return d.made(ctx, p, *from.Script)
	case from.Inline != "":
		return p.file(inlined, 0o644, int64(len(from.Inline)), strings.NewReader(from.Inline))
	}
	return fault.New(fault.Unsupported, "this delegate can't bring files of its store")
}

// inlined is the file of what stands in the service itself: only values do.
const inlined = "values.yaml"

// made packs what a script brings, at its path.
func (d *download) made(ctx context.Context, p *pack, x task.Extraction) error {
	root, err := d.extract.Folder(ctx, x)
	if err != nil {
		return err
	}
	at, err := manifest.Inside(root, x.Path)
	if err != nil {
		return err
	}
	f, err := os.Open(at)
	if err != nil {
		return fmt.Errorf("read what a script has made: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read what a script has made: %w", err)
	}
	if info.IsDir() {
		return p.folder(at)
	}
	return p.file(path.Base(x.Path), info.Mode(), info.Size(), f)
}

// objects packs objects of a bucket: those that are named, and all below the
// paths that end in a slash. Archives are unpacked where they lie.
func (d *download) objects(ctx context.Context, p *pack, from task.S3Objects) error {
	bucket, err := d.Accesses.OpenBucket(ctx, from, d.work.Execution)
	if err != nil {
		return err
	}
	for _, named := range from.Paths {
		keys := []string{strings.TrimPrefix(named, "/")}
		if keys[0] == "" || strings.HasSuffix(keys[0], "/") {
			if keys, err = bucket.Below(ctx, keys[0]); err != nil {
				return err
			}
		}
		for _, key := range keys {
			if strings.HasSuffix(key, "/") {
				continue // a console's mark of a folder
			}
			doc, err := bucket.Get(ctx, key)
			if err != nil {
				return err
			}
			if path.Ext(key) == ".zip" {
				err = p.archive(path.Dir(key), doc)
			} else {
				err = p.file(key, 0o644, int64(len(doc)), bytes.NewReader(doc))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// pack makes the tar of what is brought.
type pack struct {
	tar   *tar.Writer
	names []string
}

func (p *pack) file(name string, mode fs.FileMode, size int64, from io.Reader) error {
	if err := p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode.Perm()), Size: size}); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	if _, err := io.Copy(p.tar, from); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	p.names = append(p.names, name)
	return nil
}

// folder packs all that a folder has; a repository has folders that are empty.
func (p *pack) folder(dir string) error {
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: filepath.ToSlash(name), Mode: 0o755})
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(file)
			if err != nil {
				return err
			}
			return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: filepath.ToSlash(name), Linkname: target})
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f, err := os.Open(file) //nolint:gosec // the folder is the delegate's own
		if err != nil {
			return err
		}
		defer f.Close()
		return p.file(filepath.ToSlash(name), info.Mode(), info.Size(), f)
	})
	if err != nil {
		return fmt.Errorf("pack the files: %w", err)
	}
	return nil
}

// maxUnpacked bounds what an archive unpacks to, in bytes.
const maxUnpacked = 2 << 30

func (p *pack) archive(into string, doc []byte) error {
	z, err := zip.NewReader(bytes.NewReader(doc), int64(len(doc)))
	if err != nil {
		return fault.New(fault.Invalid, "it is no zip archive: %w", err)
	}
	left := uint64(maxUnpacked)
	for _, f := range z.File {
		if !f.Mode().IsRegular() {
			continue
		}
		if f.UncompressedSize64 > left {
			return fault.New(fault.TooLarge, "the archive unpacks to more than %d bytes", maxUnpacked)
		}
		left -= f.UncompressedSize64
		r, err := f.Open()
		if err != nil {
			return fmt.Errorf("unpack %s: %w", f.Name, err)
		}
		err = p.file(path.Join(into, f.Name), f.Mode(), int64(f.UncompressedSize64), io.LimitReader(r, int64(f.UncompressedSize64))) //nolint:gosec // below maxUnpacked
		_ = r.Close()                                                                                                                // its bytes were read
		if err != nil {
			return err
		}
	}
	return nil
}
