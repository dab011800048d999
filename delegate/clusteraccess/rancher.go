package clusteraccess

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// rancherToken is how long a token of Rancher's is used. Each kubeconfig that
// is asked for leaves a token behind, which is good for a day or more.
const rancherToken = 6 * time.Hour

func rancher(ctx context.Context, c task.Rancher, t http.RoundTripper, now time.Time) (access, error) {
	client := restapi.New(c.Server, t)
	var list struct {
		Data []struct{ ID, Name string }
	}
	if err := client.Get(ctx, "/v3/clusters", url.Values{"name": {c.Name}}, &list); err != nil {
		return access{}, err
	}
	id := ""
	for _, found := range list.Data {
		if found.Name == c.Name || found.ID == c.Name {
			id = found.ID
		}
	}
	if id == "" {
		return access{}, fault.New(fault.NotFound, "Rancher knows no such cluster, or the connector may not see it").Causing(fault.Unknown)
	}
	var doc struct{ Config string }
	r := restapi.Request{
		Method: http.MethodPost, Path: "/v3/clusters/" + url.PathEscape(id), Query: url.Values{"action": {"generateKubeconfig"}}, JSON: struct{}{},
	}
	if err := client.JSON(ctx, r, &doc); err != nil {
		return access{}, err
	}
	a, err := readKubeconfig([]byte(doc.Config))
	a.expires = now.Add(rancherToken)
	return a, err
}
