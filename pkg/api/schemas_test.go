package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestSchemasAreOpenAndCacheable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	get := func(path, etag string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil) // without a token
		if etag != "" {
			r.Header.Set("If-None-Match", etag)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	for _, name := range []string{"pipeline", "service", "slipway"} {
		w := get("/schema/"+name+".json", "")
		if w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) || w.Header().Get("Cache-Control") != "public, max-age=3600" {
			t.Errorf("%s: %d, cached by %q", name, w.Code, w.Header().Get("Cache-Control"))
		}
		if again := get("/schema/"+name+".json", w.Header().Get("Etag")); again.Code != http.StatusNotModified {
			t.Errorf("%s again: %d", name, again.Code)
		}
	}
	if w := get("/schema/nothing.json", ""); w.Code != http.StatusNotFound {
		t.Errorf("no kind: %d", w.Code)
	}
}
