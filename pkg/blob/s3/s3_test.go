package s3_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	blob "github.com/slipway-cd/slipway/pkg/blob/s3"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// objects answers as S3 does to the two requests that matter here. How S3
// itself answers is tested where the whole of AWS is played.
type objects struct {
	mu     sync.Mutex
	bodies map[string][]byte
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	body, found := o.bodies[r.URL.Path]
	switch {
	case r.Method == http.MethodPut && r.URL.Query().Has("tagging"):
		if !found {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>none</Message></Error>`)
			return
		}
		sent, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Contains(sent, []byte("<Key>"+blob.RetiredTag+"</Key><Value>yes</Value>")) {
			w.WriteHeader(http.StatusForbidden)
		}
	case r.Method == http.MethodPut:
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o.bodies[r.URL.Path] = sent
	case !found:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>none</Message></Error>`)
	case r.URL.Path == "/bucket/broken":
		w.WriteHeader(http.StatusForbidden)
	default:
		_, _ = w.Write(body)
	}
}

func open(t *testing.T) *blob.Bucket {
	t.Helper()
	server := httptest.NewServer(&objects{bodies: map[string][]byte{"/bucket/broken": nil}})
	t.Cleanup(server.Close)
	return blob.New(s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), UsePathStyle: true,
		Credentials:                credentials.NewStaticCredentialsProvider("test", "test", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	}), "bucket")
}

func TestObjectsAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	b := open(t)
	want := bytes.Repeat([]byte("\x00\xff bytes\n"), 100_000)
	for range 2 {
		if err := b.Put(t.Context(), "sha256/ab", want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Get(t.Context(), "sha256/ab")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back as %d bytes, %v", len(want), len(got), err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	b := open(t)
	if _, err := b.Get(t.Context(), "none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("an object that isn't there is the error %v, want one with the code %s", err, fault.NotFound)
	}
	if _, err := b.Get(t.Context(), "broken"); err == nil || fault.Is(err, fault.NotFound) {
		t.Errorf("an object that may not be read is the error %v, want one with another code than %s", err, fault.NotFound)
	}
}

// What is retired is still there: the bucket's rules remove it.
func TestRetire(t *testing.T) {
	t.Parallel()
	b := open(t)
	if err := b.Put(t.Context(), "blobs/a", []byte("a")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"blobs/a", "blobs/a", "blobs/never"} {
		if err := b.Retire(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if got, err := b.Get(t.Context(), "blobs/a"); err != nil || string(got) != "a" {
		t.Errorf("a retired object is read as %q, %v", got, err)
	}
}
