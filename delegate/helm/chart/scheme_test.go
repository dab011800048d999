package chart_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A repository of charts is on a web server or in a registry, and so are its
// charts: neither is a folder of the delegate.
func TestRepositoriesAreOnServers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	index := "apiVersion: v1\nentries:\n  web: [{apiVersion: v2, name: web, version: 1.0.0, urls: ['file://" + folder + "/web-1.0.0.tgz']}]\n"
	if err := os.WriteFile(filepath.Join(folder, "index.yaml"), []byte(index), 0o600); err != nil {
		t.Fatal(err)
	}
	leads := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer leads.Close()
	for name, tt := range map[string]struct {
		place task.ChartRepo
		says  string
	}{
		"a folder":                 {task.ChartRepo{URL: "file://" + folder}, "the URL of the repository of charts is"},
		"a folder as a registry":   {task.ChartRepo{URL: "oci://file://" + folder, OCI: true}, "the registry of charts is"},
		"an index that leads here": {task.ChartRepo{URL: leads.URL}, "the chart's address in the repository's index is"},
	} {
		if _, err := fetched(t, nil, tt.place, "1.0.0"); fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v; want that %q", name, err, tt.says)
		}
	}
}
