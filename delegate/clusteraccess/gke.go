package clusteraccess

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/slipway-cd/slipway/delegate/google"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// googleToken is how long an access token is used; it is good for an hour.
const googleToken = 50 * time.Minute

func gke(ctx context.Context, c task.GKE, t http.RoundTripper, now time.Time) (access, error) {
	login, err := google.Login(ctx, c.Google, t)
	if err != nil {
		return access{}, err
	}
	if login.Project == "" {
		return access{}, fault.New(fault.Invalid, "the delegate's credentials of Google Cloud name no project")
	}
	client := restapi.New(task.Server{URL: "https://container.googleapis.com", Auth: task.AuthBearer, Token: login.Token}, t)
	var doc struct {
		Endpoint   string
		Status     string
		MasterAuth struct {
			ClusterCACertificate []byte `json:"clusterCaCertificate"`
		}
	}
	path := "/v1/projects/" + url.PathEscape(login.Project) + "/locations/" + url.PathEscape(c.Location) + "/clusters/" + url.PathEscape(c.Name)
	if err := client.Get(ctx, path, nil, &doc); err != nil {
		return access{}, err
	}
	if doc.Endpoint == "" {
		return access{}, fault.New(fault.Unavailable, "it has no API yet; its status is %s", doc.Status).Causing(fault.Connectivity)
	}
	return access{
		url: "https://" + doc.Endpoint, token: login.Token, ca: doc.MasterAuth.ClusterCACertificate, expires: now.Add(googleToken),
	}, nil
}
