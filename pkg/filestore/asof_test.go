package filestore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/store"
)

// What a stage sees stays the same whatever is saved and deleted meanwhile,
// and what it saves itself can be used in it.
func TestFilesAsOfAMoment(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0).UTC()
	f := open(t)
	f.Now = func() time.Time { return now }
	save := func(path, content string) {
		now = now.Add(time.Second)
		put(t, f, path, content)
	}
	remove := func(path string) {
		t.Helper()
		now = now.Add(time.Second)
		if err := f.Delete(t.Context(), key(path), filestore.AnyVersion, false, audit.Author{Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	save("/dir/changed", "old")
	save("/dir/changed", "then")
	save("/dir/deleted", "then")
	save("/dir/anew", "then")
	save("/dir/same", "then")
	save("/dir/gone", "before")
	remove("/dir/gone")
	moment := now
	save("/dir/changed", "later")
	save("/dir/changed", "last")
	remove("/dir/deleted")
	remove("/dir/anew")
	save("/dir/anew", "later")
	save("/dir/added", "later")
	save("/own/added", "later")

	then := filestore.AsOf(f.Store, func() time.Time { return moment })
	asIs := filestore.AsOf(f.Store, func() time.Time { return time.Time{} })
	for _, c := range []struct {
		path       string
		then, asIs map[string]string
	}{
		{
			"/dir", map[string]string{"anew": "then", "changed": "then", "deleted": "then", "same": "then"},
			map[string]string{"anew": "later", "changed": "last", "added": "later", "same": "then"},
		},
		{"/dir/changed", map[string]string{"changed": "then"}, map[string]string{"changed": "last"}},
		{"/dir/deleted", map[string]string{"deleted": "then"}, nil},
		{"/dir/anew", map[string]string{"anew": "then"}, map[string]string{"anew": "later"}},
		{"/dir/added", map[string]string{"added": "later"}, map[string]string{"added": "later"}},
		{"/own", map[string]string{"added": "later"}, map[string]string{"added": "later"}},
		{"/dir/gone", nil, nil},
	} {
		for name, view := range map[string]struct {
			files store.Files
			want  map[string]string
		}{"then": {then, c.then}, "as it is": {asIs, c.asIs}} {
			got, err := contents(t, view.files, c.path)
			if view.want == nil && fault.Is(err, fault.NotFound) {
				continue
			}
			if diff := cmp.Diff(view.want, got); diff != "" || err != nil {
				t.Errorf("%s, %s (-want +got):\n%s%v", c.path, name, diff, err)
			}
		}
	}
}

// contents are what a reference means, by name.
func contents(t *testing.T, files store.Files, path string) (map[string]string, error) {
	t.Helper()
	part, err := filestore.Part(t.Context(), files, key(path), "")
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	for _, one := range part.Files {
		got[one.Name] = string(one.Content)
	}
	return got, nil
}
