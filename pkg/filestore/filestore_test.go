package filestore_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

func open(t *testing.T) *filestore.Files {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return filestore.New(filestore.Config{Store: s, Now: func() time.Time { return time.Unix(1, 0).UTC() }})
}

func key(path string) ref.File {
	return ref.File{Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}, Path: path}
}

func put(t *testing.T, f *filestore.Files, path, content string) {
	t.Helper()
	if _, _, err := f.Put(t.Context(), key(path), []byte(content), filestore.AnyVersion, audit.Author{Actor: "ann"}); err != nil {
		t.Fatal(err)
	}
}

// A folder reaches a delegate in as many answers as it needs, each file once.
func TestParts(t *testing.T) {
	t.Parallel()
	f := open(t)
	want := map[string]int{}
	for i := range 150 {
		name := fmt.Sprintf("sub/%03d.yaml", i)
		put(t, f, "/dir/"+name, "x")
		want[name] = 1
	}
	for _, name := range []string{"a", "b", "c"} {
		put(t, f, "/dir/large-"+name, strings.Repeat(name, 2<<20))
		want["large-"+name] = 2 << 20
	}
	put(t, f, "/other", "x")
	got, parts := map[string]int{}, 0
	for after := ""; ; parts++ {
		part, err := filestore.Part(t.Context(), f.Store, key("/dir"), after)
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, one := range part.Files {
			got[one.Name] += len(one.Content)
			size += len(one.Content)
		}
		if size > filestore.MaxFile || len(part.Files) == 0 {
			t.Errorf("a part has %d files with %d bytes", len(part.Files), size)
		}
		if after = part.Next; after == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files with their sizes (-want +got):\n%s", diff)
	}
	if parts > 3 {
		t.Errorf("they came in %d parts", parts+1)
	}
	one, err := filestore.Part(t.Context(), f.Store, key("/dir/sub/007.yaml"), "")
	if err != nil || len(one.Files) != 1 || one.Files[0].Name != "007.yaml" {
		t.Errorf("a file by itself is %+v: %v", one, err)
	}
	for _, path := range []string{"/none", "/dir/sub/007"} {
		if _, err := filestore.Part(t.Context(), f.Store, key(path), ""); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s, which isn't there, gave %v", path, err)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	f := open(t)
	put(t, f, "/a", "12345")
	if text, err := filestore.Text(t.Context(), f.Store, key("/a"), 5); err != nil || text != "12345" {
		t.Errorf("the text is %q: %v", text, err)
	}
	if _, err := filestore.Text(t.Context(), f.Store, key("/a"), 4); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a file that is too large gave %v", err)
	}
	if _, err := filestore.Text(t.Context(), f.Store, key("/b"), 4); !fault.Is(err, fault.NotFound) {
		t.Errorf("a file that isn't there gave %v", err)
	}
}
