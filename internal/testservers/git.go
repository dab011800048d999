package testservers

import (
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/internal/gitserver"
)

// Git serves the Git repository in a folder over HTTP until the test ends, and
// gives its URL. What is committed there later is served, too.
func Git(tb testing.TB, dir string) string {
	tb.Helper()
	handler, err := gitserver.Handler(tb.Context(), filepath.Dir(dir))
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	return server.URL + "/" + filepath.Base(dir)
}
