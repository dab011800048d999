package awshttp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slipway-cd/slipway/pkg/awshttp"
)

// seen is a client that keeps the requests that it gets.
type seen struct{ request *http.Request }

// Do answers with nothing.
func (s *seen) Do(r *http.Request) (*http.Response, error) {
	s.request = r
	return httptest.NewRecorder().Result(), nil
}

// send sends a request by the client.
func send(t *testing.T, by *seen, r *http.Request) {
	t.Helper()
	resp, err := awshttp.Client(by).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

// A body of the SDK that was closed early has ended, and hasn't failed.
func TestClosedBodies(t *testing.T) {
	t.Parallel()
	in, err := smithyhttp.NewStackRequest().(*smithyhttp.Request).SetStream(bytes.NewReader([]byte("{}")))
	if err != nil {
		t.Fatal(err)
	}
	in.URL.Scheme, in.URL.Host = "http", "127.0.0.1"
	got := &seen{}
	built := in.Build(context.Background())
	raw := built.Body
	send(t, got, built)
	body := got.request.Body
	if text, err := io.ReadAll(body); err != nil || string(text) != "{}" {
		t.Fatalf("the body reads %q, %v", text, err)
	}
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, body); n != 0 || err != nil {
		t.Errorf("after its end it gives %d bytes, %v; want its end", n, err)
	}
	if _, err := io.Copy(io.Discard, raw); err == nil {
		t.Error("the SDK's own body ends as others do: this package is needed no more")
	}
}

// What has no body stays so.
func TestNoBody(t *testing.T) {
	t.Parallel()
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		got := &seen{}
		if send(t, got, &http.Request{Body: body}); got.request.Body != body {
			t.Errorf("the body is %v; want %v", got.request.Body, body)
		}
	}
}
