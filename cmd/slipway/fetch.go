package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// What may be fetched from an address: somebody else's server must not keep a
// command waiting, or fill its memory.
const (
	fetchLimit     = 5 << 20 // bytes
	fetchTimeout   = time.Minute
	fetchRedirects = 5
)

// fetchDocuments reads the file at an address. It goes over https, or over
// http to this very machine; so must every address that it is sent on to.
func fetchDocuments(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err == nil {
		err = fetchable(req.URL)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "%q can't be read: %w", address, cause(err))
	}
	client := http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) > fetchRedirects {
			return fmt.Errorf("it is sent on more than %d times", fetchRedirects)
		}
		return fetchable(next.URL)
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%q can't be read: %w", address, cause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fault.New(fault.Invalid, "%q can't be read: its server answers %s", address, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, fetchLimit+1))
	switch {
	case err != nil:
		return nil, fault.New(fault.Invalid, "%q can't be read: %w", address, err)
	case len(data) > fetchLimit:
		return nil, fault.New(fault.TooLarge, "%q has more than %d bytes, which is the limit", address, fetchLimit)
	}
	return data, nil
}

// fetchable says why an address is never read.
func fetchable(u *url.URL) error {
	switch {
	case u.User != nil:
		return errors.New("it holds a user or a password, which would be shown")
	case u.Scheme == "https" && u.Host != "":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("want an address that begins with https://, not %s://", u.Scheme)
	}
	if loopback(u.Hostname()) {
		return nil
	}
	return errors.New("over plain http only this machine is asked; want https://")
}

// cause is an error of the HTTP client without the address.
func cause(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
