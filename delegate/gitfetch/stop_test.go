package gitfetch_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/task"
)

// TestASilentHostHoldsNobodyUp: a fetch ends when it is stopped, also one that
// waits for another of the same repository.
func TestASilentHostHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-release
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	enough := errors.New("enough")
	fetch := func(ctx context.Context, ended chan<- error) {
		g := task.Git{URL: silent.URL + "/app.git", Commit: "0123456789012345678901234567890123456789"}
		_, err := f.Fetch(ctx, g, "s")
		ended <- err
	}
	first, stopFirst := context.WithCancelCause(t.Context())
	second, stopSecond := context.WithCancelCause(t.Context())
	one, two := make(chan error, 1), make(chan error, 1)
	go fetch(first, one)
	<-asked
	go fetch(second, two)
	stopSecond(enough)
	if err := <-two; !errors.Is(err, enough) {
		t.Errorf("the one that waits ended with %v", err)
	}
	stopFirst(enough)
	if err := <-one; !errors.Is(err, enough) {
		t.Errorf("the one that fetches ended with %v", err)
	}
}
