package clusteraccess

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/slipway-cd/slipway/delegate/azure"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

const (
	// aksServer is the application of all clusters that know users by Entra.
	aksServer = "6dae42f8-4368-4678-94ff-3960e28e3630"
	// azureToken is how long an access token is used; it is good for an hour.
	azureToken = 50 * time.Minute
	aksVersion = "2024-09-01" // of the API
)

func aks(ctx context.Context, c task.AKS, t http.RoundTripper, now time.Time) (access, error) {
	token, err := azure.Token(ctx, c.Azure, azure.Management(c.Azure), t)
	if err != nil {
		return access{}, err
	}
	action := "listClusterUserCredential"
	if c.Admin {
		action = "listClusterAdminCredential"
	}
	client := restapi.New(task.Server{URL: azure.Management(c.Azure), Auth: task.AuthBearer, Token: token}, t)
	var doc struct {
		Kubeconfigs []struct{ Value []byte }
	}
	path := "/subscriptions/" + url.PathEscape(c.Subscription) + "/resourceGroups/" + url.PathEscape(c.ResourceGroup) +
		"/providers/Microsoft.ContainerService/managedClusters/" + url.PathEscape(c.Name) + "/" + action
	r := restapi.Request{Method: http.MethodPost, Path: path, Query: url.Values{"api-version": {aksVersion}}}
	if err := client.JSON(ctx, r, &doc); err != nil {
		return access{}, err
	}
	if len(doc.Kubeconfigs) == 0 {
		return access{}, fault.New(fault.Unavailable, "Azure gives no credentials for it").Causing(fault.Authorization)
	}
	a, err := readKubeconfig(doc.Kubeconfigs[0].Value)
	if err != nil {
		return access{}, err
	}
	a.expires = now.Add(azureToken)
	if a.token == "" && len(a.cert) == 0 { // it knows its users by Entra
		a.token, err = azure.Token(ctx, c.Azure, aksServer, t)
	}
	return a, err
}
