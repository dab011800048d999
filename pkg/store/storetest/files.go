package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func fileCases() []testCase {
	return []testCase{
		{"a file comes back as it was saved", saveFile},
		{"a file that isn't there is not found", noFile},
		{"a file is replaced only from the version that was read", replaceFile},
		{"one of many saves of a file wins", raceFiles},
		{"a folder lists its files by path, page by page", listFiles},
		{"a file is deleted only as the version that was read", deleteFile},
		{"a file isn't deleted while it or a folder around it is named", deleteNamedFile},
		{"a file and a new reference to its folder are never both gone and there", raceDeleteAndReferFile},
		{"past versions of files can be read", pastFiles},
		{"files of scopes are apart", filesApart},
	}
}

func (b *bench) file(path, content string) (store.File, []byte) {
	sum := sha256.Sum256([]byte(content))
	return store.File{
		Key: ref.File{Scope: b.scope(), Path: path}, Size: int64(len(content)), Hash: hex.EncodeToString(sum[:]),
		UpdatedBy: "ann", CreatedAt: at(0), UpdatedAt: at(0),
	}, []byte(content)
}

// put saves a new file and gives it as it is stored.
func (b *bench) put(path, content string) store.File {
	b.Helper()
	f, body := b.file(path, content)
	saved, err := b.Store.SaveFile(b.ctx(), f, body, b.record(audit.Create, path))
	b.ok(err)
	return saved
}

func saveFile(b *bench) {
	for path, content := range map[string]string{"/empty": "", "/a b/ä#%.yaml": "x: 1\n", "/large.bin": string(bytes.Repeat([]byte{0, 255, '\n'}, 400_000))} {
		want, body := b.file(path, content)
		saved := b.put(path, content)
		want.Version = 1
		same(b, "the saved file", want, saved)
		known, err := b.Store.File(b.ctx(), want.Key)
		b.ok(err)
		same(b, "what is known of it", want, known)
		got, read, err := b.Store.FileContent(b.ctx(), want.Key)
		b.ok(err)
		same(b, "the file", want, got)
		if !bytes.Equal(read, body) {
			b.Errorf("%s has %d bytes, which aren't the %d that were saved", path, len(read), len(body))
		}
	}
	b.audited(audit.Create, audit.Create, audit.Create)
}

func noFile(b *bench) {
	b.put("/dir/a", "x")
	for _, path := range []string{"/b", "/dir", "/dir/a/b"} {
		key := ref.File{Scope: b.scope(), Path: path}
		_, err := b.Store.File(b.ctx(), key)
		b.refused(err, fault.NotFound)
		_, _, err = b.Store.FileContent(b.ctx(), key)
		b.refused(err, fault.NotFound)
		b.refused(b.Store.DeleteFile(b.ctx(), key, 1, false, b.record(audit.Delete, path)), fault.NotFound)
	}
	b.audited(audit.Create)
}

func replaceFile(b *bench) {
	first := b.put("/a", "one")
	next, body := b.file("/a", "two")
	_, err := b.Store.SaveFile(b.ctx(), next, body, b.record(audit.Create, "/a"))
	b.refused(err, fault.StaleVersion)
	next.Version, next.CreatedAt, next.UpdatedAt, next.UpdatedBy = first.Version, at(9), at(9), "bob"
	saved, err := b.Store.SaveFile(b.ctx(), next, body, b.record(audit.Update, "/a"))
	b.ok(err)
	next.Version, next.CreatedAt = 2, at(0)
	same(b, "the file as saved again", next, saved)
	_, err = b.Store.SaveFile(b.ctx(), first, []byte("one"), b.record(audit.Update, "/a"))
	b.refused(err, fault.StaleVersion)
	got, content, err := b.Store.FileContent(b.ctx(), first.Key)
	b.ok(err)
	same(b, "the file", next, got)
	same(b, "its content", "two", string(content))
	b.audited(audit.Create, audit.Update)
}

func raceFiles(b *bench) {
	f, body := b.file("/a", "one")
	b.oneWins(fault.StaleVersion, func(int) error {
		_, err := b.Store.SaveFile(b.ctx(), f, body, b.record(audit.Create, "/a"))
		return err
	})
	b.audited(audit.Create)
}

func listFiles(b *bench) {
	// "." and "0" stand on both sides of "/".
	for _, path := range []string{"/a.yaml", "/dir/b", "/dir.x", "/dir", "/dir0", "/dir/a/z", "/dir/a", "/dir/aa", "/dir0/c", "/z"} {
		b.put(path, path)
	}
	for folder, want := range map[string][]string{
		"/":      {"/a.yaml", "/dir", "/dir.x", "/dir/a", "/dir/a/z", "/dir/aa", "/dir/b", "/dir0", "/dir0/c", "/z"},
		"/dir":   {"/dir/a", "/dir/a/z", "/dir/aa", "/dir/b"},
		"/dir/a": {"/dir/a/z"},
		"/none":  nil,
	} {
		for limit := range len(want) + 1 {
			found := everyPage(b, limit+1, func(p store.Page) ([]store.File, string, error) {
				return b.Store.ListFiles(b.ctx(), ref.File{Scope: b.scope(), Path: folder}, p)
			})
			var got []string
			for _, f := range found {
				got = append(got, f.Key.Path)
				same(b, "size of "+f.Key.Path, int64(len(f.Key.Path)), f.Size)
			}
			same(b, "files of "+folder, want, got)
		}
	}
}

func deleteFile(b *bench) {
	f := b.put("/a", "one")
	b.refused(b.Store.DeleteFile(b.ctx(), f.Key, 2, false, b.record(audit.Delete, "/a")), fault.StaleVersion)
	b.ok(b.Store.DeleteFile(b.ctx(), f.Key, 1, false, b.record(audit.Delete, "/a")))
	_, err := b.Store.File(b.ctx(), f.Key)
	b.refused(err, fault.NotFound)
	same(b, "version of a new file of the name", int64(1), b.put("/a", "two").Version)
	b.audited(audit.Create, audit.Delete, audit.Create)
}

func deleteNamedFile(b *bench) {
	f := b.put("/k8s/a/b#%.yaml", "one")
	elsewhere := f.Key
	elsewhere.Scope.Project = ""
	for _, c := range []struct {
		named   ref.File
		refused bool
	}{
		{f.Key, true},
		{ref.File{Scope: f.Key.Scope, Path: "/k8s/a"}, true},
		{ref.File{Scope: f.Key.Scope, Path: "/k8s"}, true},
		{ref.File{Scope: f.Key.Scope, Path: "/"}, true},
		{ref.File{Scope: f.Key.Scope, Path: "/k8s/a/b"}, false},
		{ref.File{Scope: f.Key.Scope, Path: "/k8s/a/b#%.yaml/c"}, false},
		{elsewhere, false},
	} {
		e := b.save(b.entity(ref.Service, "web", store.FileTarget(c.named)))
		same(b, "what it names", []store.EntityKey{store.FileTarget(c.named)}, e.Refs)
		err := b.Store.DeleteFile(b.ctx(), f.Key, f.Version, false, b.record(audit.Delete, "f"))
		if c.refused {
			b.refused(err, fault.Referenced)
			if said := fmt.Sprint(detailsOf(err)); !strings.Contains(said, `service "web"`) || !strings.Contains(said, "names "+c.named.Path) {
				b.Errorf("named as %s: the details don't say so: %s", c.named, said)
			}
		} else {
			b.ok(err)
			f = b.put("/k8s/a/b#%.yaml", "one")
		}
		b.ok(b.Store.DeleteEntity(b.ctx(), e.Key, e.Version, b.record(audit.Delete, "web")))
	}
	b.save(b.entity(ref.Service, "web", store.FileTarget(f.Key)))
	b.ok(b.Store.DeleteFile(b.ctx(), f.Key, f.Version, true, b.record(audit.Delete, "f")))
	deep := b.put(strings.Repeat("/d", 40), "as deep as a path may be")
	b.ok(b.Store.DeleteFile(b.ctx(), deep.Key, deep.Version, false, b.record(audit.Delete, "deep")))
}

func raceDeleteAndReferFile(b *bench) {
	f := b.put("/k8s/web.yaml", "one")
	folder := store.FileTarget(ref.File{Scope: f.Key.Scope, Path: "/k8s"})
	b.deleteOrRefer(folder, func(r audit.Record) error {
		return b.Store.DeleteFile(b.ctx(), f.Key, f.Version, false, r)
	}, func() error {
		_, err := b.Store.File(b.ctx(), f.Key)
		return err
	})
}

func pastFiles(b *bench) {
	b.put("/dir/same", "one")
	changed, other := b.put("/dir/a", "one"), b.put("/dir.x", "one")
	for i, content := range []string{"two", "three"} {
		next, body := b.file("/dir/a", content)
		next.Version, next.UpdatedAt = changed.Version, at(10*(i+1))
		var err error
		changed, err = b.Store.SaveFile(b.ctx(), next, body, b.record(audit.Update, "/dir/a"))
		b.ok(err)
	}
	gone := b.record(audit.Delete, "/dir/a")
	gone.Time = at(30)
	b.ok(b.Store.DeleteFile(b.ctx(), changed.Key, changed.Version, false, gone))
	gone.Time = at(5)
	b.ok(b.Store.DeleteFile(b.ctx(), other.Key, other.Version, false, gone))
	for _, c := range []struct {
		of   string
		at   int
		want []string
	}{
		{"/dir/a", 0, []string{"/dir/a one"}},
		{"/dir/a", 9, []string{"/dir/a one"}},
		{"/dir/a", 10, []string{"/dir/a two"}},
		{"/dir", 29, []string{"/dir/a three"}},
		{"/dir", 30, nil},
		{"/", 4, []string{"/dir.x one", "/dir/a one"}},
		{"/dir.x", 4, []string{"/dir.x one"}},
		{"/dir.x", 5, nil},
		{"/dir/same", 0, nil},
		{"/dir", -1, nil},
	} {
		found, err := b.Store.PastFiles(b.ctx(), ref.File{Scope: b.scope(), Path: c.of}, at(c.at))
		b.ok(err)
		var got []string
		for _, f := range found {
			content, err := b.Store.PastContent(b.ctx(), f)
			b.ok(err)
			same(b, "size of "+f.Key.Path, int64(len(content)), f.Size)
			got = append(got, f.Key.Path+" "+string(content))
		}
		same(b, fmt.Sprintf("%s at %d", c.of, c.at), c.want, got)
	}
	_, err := b.Store.PastContent(b.ctx(), changed)
	b.refused(err, fault.NotFound)
}

func filesApart(b *bench) {
	scopes := []ref.Scope{{Account: b.account}, {Account: b.account, Org: "default"}, b.scope()}
	for _, s := range scopes {
		f, body := b.file("/a", s.String())
		f.Key.Scope = s
		_, err := b.Store.SaveFile(b.ctx(), f, body, b.record(audit.Create, "/a"))
		b.ok(err)
	}
	for _, s := range scopes {
		_, content, err := b.Store.FileContent(b.ctx(), ref.File{Scope: s, Path: "/a"})
		b.ok(err)
		same(b, "content", s.String(), string(content))
		list, _, err := b.Store.ListFiles(b.ctx(), ref.File{Scope: s, Path: "/"}, store.Page{})
		b.ok(err)
		same(b, "files of the scope", 1, len(list))
	}
}
