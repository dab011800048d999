package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
)

func TestDocumentsAreFetchedWithinBounds(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	body := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("#", n))) }
	}
	mux.HandleFunc("/good", body(3))
	mux.HandleFunc("/full", body(fetchLimit))
	mux.HandleFunc("/large", body(fetchLimit+1))
	mux.Handle("/away", http.RedirectHandler("http://192.0.2.1/x.yaml", http.StatusFound))
	mux.Handle("/file", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	for i := range fetchRedirects + 2 {
		mux.Handle(fmt.Sprintf("/on%d", i+1), http.RedirectHandler(fmt.Sprintf("/on%d", i), http.StatusFound))
	}
	mux.HandleFunc("/on0", body(4))
	for _, c := range []struct {
		address string
		bytes   int
		code    fault.Code
		why     string
	}{
		{server.URL + "/good", 3, "", ""},
		{server.URL + "/full", fetchLimit, "", ""},
		{server.URL + fmt.Sprintf("/on%d", fetchRedirects), 4, "", ""},
		{server.URL + "/large", 0, fault.TooLarge, "5242880 bytes, which is the limit"},
		{server.URL + fmt.Sprintf("/on%d", fetchRedirects+1), 0, fault.Invalid, "sent on more than 5 times"},
		{server.URL + "/none", 0, fault.Invalid, "its server answers 404 Not Found"},
		{server.URL + "/away", 0, fault.Invalid, "over plain http only this machine is asked"},
		{server.URL + "/file", 0, fault.Invalid, "begins with https://, not file://"},
		{"http://example.com/x.yaml", 0, fault.Invalid, "over plain http only this machine is asked"},
		{"http://localhost.example.com/x.yaml", 0, fault.Invalid, "over plain http only this machine is asked"},
		{"https://ann:secret@example.com/x.yaml", 0, fault.Invalid, "it holds a user or a password"},
		{"ftp://example.com/x.yaml", 0, fault.Invalid, "begins with https://, not ftp://"},
	} {
		data, err := fetchDocuments(t.Context(), c.address)
		if len(data) != c.bytes || fault.CodeOf(err) != c.code && err != nil || (err == nil) != (c.code == "") ||
			err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %d bytes, %v; want %d, %s %s", c.address, len(data), err, c.bytes, c.code, c.why)
		}
	}
}
