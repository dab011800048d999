package elastigroup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// groupsPath is where Spot has its groups:
// https://docs.spot.io/api/#tag/Elastigroup-AWS
const groupsPath = "/aws/ec2/group"

// client asks Spot, in one of its accounts. What a group is stays as Spot has
// it: there are more members than anybody lists.
type client struct {
	api     *restapi.Client
	account string
	// patience is the shortest pause after a request that came too soon.
	patience time.Duration
}

func newClient(a task.Server, via http.RoundTripper, patience time.Duration) *client {
	return &client{api: restapi.New(a, via), account: a.Account, patience: patience}
}

// document is a group in the form of Spot's own requests and answers.
type document = map[string]any

// group is what is known of a group that there is.
type group struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Capacity capacity `json:"capacity"`
	Compute  struct {
		Launch struct {
			Image    string   `json:"imageId"`
			Images   []image  `json:"images"`
			Balanced balanced `json:"loadBalancersConfig"`
			Tags     []tag    `json:"tags"`
		} `json:"launchSpecification"`
	} `json:"compute"`
	Scaling    rules `json:"scaling"`
	Scheduling rules `json:"scheduling"`
}

// capacity is how many machines a group has.
type capacity struct {
	Minimum int `json:"minimum"`
	Maximum int `json:"maximum"`
	Target  int `json:"target"`
}

type image struct {
	ID string `json:"id"`
}

// balanced are the load balancers before a group.
type balanced struct {
	LoadBalancers []balancer `json:"loadBalancers"`
}

// balancer is a target group, or a load balancer that has none.
type balancer struct {
	ARN  string `json:"arn,omitempty"`
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
}

// tag is one of a group's machines.
type tag struct {
	Key   string `json:"tagKey"`
	Value string `json:"tagValue"`
}

// execution is which one has made a group; empty: nothing says so.
func (g group) execution() string {
	for _, t := range g.Compute.Launch.Tags {
		if t.Key == aws.ExecutionTag {
			return t.Value
		}
	}
	return ""
}

// rules are what scales a group by itself: policies by the ways to do so, and
// tasks.
type rules map[string]any

// there says whether something scales.
func (r rules) there() bool {
	for _, v := range r {
		switch v := v.(type) {
		case []any:
			if len(v) > 0 {
				return true
			}
		case map[string]any:
			if len(v) > 0 {
				return true
			}
		}
	}
	return false
}

// machine is one that a group has, or is about to have.
type machine struct {
	ID     string    `json:"instanceId"` // empty: it has none yet
	Spot   string    `json:"spotInstanceRequestId"`
	Type   string    `json:"instanceType"`
	Zone   string    `json:"availabilityZone"`
	IP     string    `json:"privateIp"`
	Status string    `json:"status"`
	Since  time.Time `json:"createdAt"`
}

// health is how a machine is.
type health struct {
	ID        string `json:"instanceId"`
	Health    string `json:"healthStatus"`
	LifeCycle string `json:"lifeCycle"`
}

// healthy is the only health that is good.
const healthy = "HEALTHY"

// list lists the groups of the account.
func (c *client) list(ctx context.Context) ([]group, error) {
	return items[group](ctx, c, http.MethodGet, "", nil)
}

// create makes a group.
func (c *client) create(ctx context.Context, g document) (group, error) {
	made, err := items[group](ctx, c, http.MethodPost, "", document{"group": g})
	if err == nil && len(made) != 1 {
		err = fault.New(fault.Unavailable, "Spot answers with %d groups; want the one that it has made", len(made)).Causing(fault.Unknown)
	}
	if err != nil {
		return group{}, err
	}
	return made[0], nil
}

// update changes some members of a group; others stay.
func (c *client) update(ctx context.Context, id string, changes document) error {
	_, err := items[group](ctx, c, http.MethodPut, "/"+url.PathEscape(id), document{"group": changes})
	return err
}

// remove deletes a group and its machines. One that isn't there is fine.
func (c *client) remove(ctx context.Context, id string) error {
	_, err := items[json.RawMessage](ctx, c, http.MethodDelete, "/"+url.PathEscape(id), document{})
	if status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// machines are those of a group.
func (c *client) machines(ctx context.Context, id string) ([]machine, error) {
	return items[machine](ctx, c, http.MethodGet, "/"+url.PathEscape(id)+"/status", nil)
}

// healths are how the machines of a group are.
func (c *client) healths(ctx context.Context, id string) ([]health, error) {
	return items[health](ctx, c, http.MethodGet, "/"+url.PathEscape(id)+"/instanceHealthiness", nil)
}

// answer is what Spot says to a request.
type answer[T any] struct {
	Response struct {
		Items []T `json:"items"`
	} `json:"response"`
}

// items does a request, and gives the items of the answer.
func items[T any](ctx context.Context, c *client, method, path string, body document) ([]T, error) {
	r := restapi.Request{Method: method, Path: groupsPath + path, Query: url.Values{"accountId": {c.account}}, Once: true}
	if body != nil {
		r.JSON = body
	}
	got, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	var a answer[T]
	if err := json.Unmarshal(got.Body, &a); err != nil {
		return nil, fault.New(fault.Unavailable, "%s %s: the answer isn't the JSON that was expected: %w", method, r.Path, err).Causing(fault.Unknown)
	}
	return a.Response.Items, nil
}

// Spot counts the requests of 60 s, and lets none through that comes before its
// time: https://docs.spot.io/administration/api/?id=rate-limit
const (
	limited     = time.Minute
	reset       = "X-RateLimit-Reset" // seconds
	tries       = 4                   // of what went wrong on the way
	reporting   = 15 * time.Second    // is left of a step's time to say how things stood
	longestTurn = 2 * limited
)

// do does a request. One that came too soon has done nothing, and is sent again
// when Spot says so; one that only reads is, too, where Spot is out of reach.
func (c *client) do(ctx context.Context, r restapi.Request) (restapi.Answer, error) {
	var until time.Time
	if end, ok := ctx.Deadline(); ok {
		until = end.Add(-min(reporting, time.Until(end)/2))
	}
	for try := 1; ; try++ {
		a, err := c.api.Do(ctx, r)
		if err == nil || ctx.Err() != nil || !again(r.Method, err, try) {
			return a, refused(err)
		}
		pause := c.pause(err, try)
		if !until.IsZero() && time.Now().Add(pause).After(until) {
			return a, refused(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// again says whether a request is sent once more.
func again(method string, err error, try int) bool {
	switch status(err) {
	case http.StatusTooManyRequests:
		return true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	case 0:
		if fault.CodeOf(err) != fault.Unavailable { // something that a person has to mend
			return false
		}
	default:
		return false
	}
	return method == http.MethodGet && try < tries
}

// pause is the time before the next try.
func (c *client) pause(err error, try int) time.Duration {
	pause := min(c.patience<<min(try-1, 10), limited)
	var s *restapi.StatusError
	if errors.As(err, &s) && s.Status == http.StatusTooManyRequests {
		if after, err := strconv.Atoi(s.Header.Get(reset)); err == nil && after >= 0 {
			return min(max(pause, time.Duration(after)*time.Second), longestTurn)
		}
	}
	return pause
}

// status is that of the answer which an error is about; 0: it is about none.
func status(err error) int {
	var s *restapi.StatusError
	if errors.As(err, &s) {
		return s.Status
	}
	return 0
}

// refused says of an error what a person can do about it.
func refused(err error) error {
	switch status(err) {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return fault.New(fault.Invalid, "Spot refuses it: %w", err).Causing(fault.ConfigurationFailure)
	case http.StatusNotFound:
		return fault.New(fault.NotFound, "Spot has no such group: %w", err).Causing(fault.Unknown)
	case http.StatusUnauthorized:
		return fault.New(fault.Unavailable, "Spot doesn't take the connector's token: %w", err).Causing(fault.Authentication)
	case http.StatusForbidden:
		return fault.New(fault.Unavailable, "the connector's token may not do it in its account: %w", err).Causing(fault.Authorization)
	}
	if err != nil {
		return fmt.Errorf("ask Spot: %w", err)
	}
	return nil
}
