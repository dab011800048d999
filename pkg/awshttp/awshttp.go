// Package awshttp is the HTTP client that AWS's SDK gets here: its own, but for
// the bodies of requests.
//
// The SDK closes a request's body once it has the answer. net/http may still look
// for the body's end then, and smithy's body, which knows WriteTo, says that it
// has failed where others say that they have ended. net/http closes the
// connection, the answer can't be read, and the SDK sends the request again,
// although AWS has done it already.
package awshttp

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awstransport "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Client wraps a client of the SDK; nil is the SDK's own.
func Client(next aws.HTTPClient) aws.HTTPClient {
	if next == nil {
		next = awstransport.NewBuildableClient()
	}
	return client{next}
}

type client struct{ next aws.HTTPClient }

// Do sends a request, whose body can be read and nothing else.
func (c client) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.next.Do(r)
}
