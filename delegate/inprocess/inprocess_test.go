package inprocess_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/slipway-cd/slipway/delegate/inprocess"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo/{name}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Name", r.PathValue("name"))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%s, %s", r.Header.Get("Authorization"), body)
	})
	mux.HandleFunc("/broken", func(http.ResponseWriter, *http.Request) { panic("oh") })
	c := http.Client{Transport: inprocess.RoundTripper(mux)}

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://slipway/echo/a%2Fb", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer x")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if got := fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get("X-Name"), body); err != nil || got != "201 a/b Bearer x, body" {
		t.Errorf("answer %q, %v", got, err)
	}

	req, err = http.NewRequestWithContext(t.Context(), http.MethodGet, "http://slipway/broken", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(req); err == nil || !strings.Contains(err.Error(), "the handler broke: oh") { //nolint:bodyclose // there is none
		t.Errorf("error %v, want the handler's panic", err)
	}
}

func TestWebSocket(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		kind, message, err := conn.Read(r.Context())
		if err != nil {
			t.Error(err)
		}
		if err := conn.Write(r.Context(), kind, append([]byte("heard "), message...)); err != nil {
			t.Error(err)
		}
		if err := conn.Close(websocket.StatusNormalClosure, "bye"); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	opts := &websocket.DialOptions{HTTPClient: &http.Client{Transport: inprocess.RoundTripper(mux)}}

	conn, _, err := websocket.Dial(t.Context(), "http://slipway/socket", opts) //nolint:bodyclose // the library's
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("work")); err != nil {
		t.Fatal(err)
	}
	if _, got, err := conn.Read(t.Context()); err != nil || string(got) != "heard work" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the end is %v", err)
	}

	_, resp, err := websocket.Dial(t.Context(), "http://slipway/none", opts) //nolint:bodyclose // the library's
	if err == nil || resp.StatusCode != http.StatusTeapot {
		t.Errorf("a refused upgrade gave %v", err)
	}
}
