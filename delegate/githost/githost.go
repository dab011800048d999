// Package githost makes pull requests on Git hosts, looks at them and merges them:
// GitHub's, GitLab's merge requests, those of Azure Repos and of Bitbucket.
//
// It speaks the hosts' public APIs and knows no repository's content: branches are
// pushed by delegate/gitfetch.
package githost

import (
	"context"
	"errors"
	"net/http"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// State is how a pull request is.
type State string

// The states.
const (
	Open   State = "open"
	Merged State = "merged"
	Closed State = "closed"
)

// Pull is a pull request.
type Pull struct {
	Number int
	URL    string // for people
	State  State
	Head   string // the last commit of its branch
	Commit string // on the target, once it is merged
	// Ready says that it can be merged now, Conflict that it never can as it is.
	// Neither: Why says what is missing.
	Ready, Conflict bool
	Why             string
}

// Proposal is a pull request to be made.
type Proposal struct {
	Title, Text  string
	Branch, Base string
}

// Way is how a pull request is merged.
type Way struct {
	Squash bool
	Delete bool // its branch
	Title  string
	Branch string
	Head   string // what is merged: another commit since is refused
}

// Host is one repository's pull requests.
type Host struct {
	api interface {
		find(ctx context.Context, branch, base string) (*Pull, error)
		create(ctx context.Context, p Proposal) (Pull, error)
		get(ctx context.Context, number int) (Pull, error)
		merge(ctx context.Context, number int, how Way) error
		remove(ctx context.Context, branch string) error
	}
}

// New makes a Host. Requests are sent over t; nil is a transport with net/http's
// defaults.
func New(h task.GitHost, t http.RoundTripper) (*Host, error) {
	c := client{restapi.New(h.Server, t), h.Repository}
	switch h.Type {
	case "Github":
		return &Host{github{c}}, nil
	case "Gitlab":
		return &Host{gitlab{c}}, nil
	case "AzureRepo":
		return newAzure(c)
	case "Bitbucket":
		return &Host{bitbucket{c}}, nil
	}
	return nil, fault.New(fault.Unsupported, "pull requests of a connector of the type %s can't be made by this delegate", h.Type)
}

// client asks a host's API about a repository.
type client struct {
	*restapi.Client

	repository string
}

func (c client) send(ctx context.Context, method, path string, body, out any) error {
	return c.JSON(ctx, restapi.Request{Method: method, Path: path, JSON: body}, out)
}

// status is that of an answer which refuses; 0: it is none.
func status(err error) int {
	var answer *restapi.StatusError
	if errors.As(err, &answer) {
		return answer.Status
	}
	return 0
}

// Find finds the pull request of a branch, open or merged; nil: there is none.
func (h *Host) Find(ctx context.Context, branch, base string) (*Pull, error) {
	return h.api.find(ctx, branch, base)
}

// Open finds the pull request of a branch, or makes it.
func (h *Host) Open(ctx context.Context, p Proposal) (Pull, error) {
	there, err := h.api.find(ctx, p.Branch, p.Base)
	if err != nil {
		return Pull{}, err
	}
	if there != nil {
		return *there, nil
	}
	made, err := h.api.create(ctx, p)
	if code := status(err); code == http.StatusConflict || code == http.StatusUnprocessableEntity { // somebody was quicker
		if there, again := h.api.find(ctx, p.Branch, p.Base); again == nil && there != nil {
			return *there, nil
		}
	}
	return made, err
}

// Get looks at a pull request.
func (h *Host) Get(ctx context.Context, number int) (Pull, error) { return h.api.get(ctx, number) }

// Merge asks for a merge. Whether it is merged by now, Get says.
func (h *Host) Merge(ctx context.Context, number int, how Way) error {
	return h.api.merge(ctx, number, how)
}

// Delete deletes a branch, unless it is gone.
func (h *Host) Delete(ctx context.Context, branch string) error {
	err := h.api.remove(ctx, branch)
	if code := status(err); code == http.StatusNotFound || code == http.StatusUnprocessableEntity {
		return nil
	}
	return err
}

// NotYet says whether a merge was refused that may be possible later: a check has
// yet to end, or the host is busy with it.
func NotYet(err error) bool {
	switch status(err) {
	case http.StatusMethodNotAllowed, http.StatusLocked, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return false
}
