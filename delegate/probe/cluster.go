package probe

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// cluster asks a cluster's API for its version, for who asks, and for namespaces.
func (x *exam) cluster(ctx context.Context, c task.Cluster) {
	address, via, err := applying.Requests(c, fresh(x.cfg.Patience), func(base http.RoundTripper) http.RoundTripper {
		via := x.net.over(base)
		via.unchecked = !c.Inherit && c.Unchecked()
		return via
	})
	if err != nil {
		x.fail(probe.CheckConfiguration, "%s", err)
		return
	}
	api := clusterAPI{exam: x, client: &http.Client{Transport: via}, url: address, who: "the connector"}
	api.login(ctx)
	if !x.broken() {
		api.namespaces(ctx)
	}
}

// clusterAPI is the API of a cluster.
type clusterAPI struct {
	*exam

	client   *http.Client
	url, who string
	said     string // the message of the latest refusal
}

// maxDocument is how much of an answer is read, in bytes.
const maxDocument = 1 << 20

// ask sends a request; 0 if there is no answer, which is noted.
func (a *clusterAPI) ask(ctx context.Context, method, path, body string, out any) int {
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.fail(probe.CheckConfiguration, "masterUrl is %s; want a URL", shown(a.url))
		return 0
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		if !a.broken() {
			a.fail(probe.CheckLogin, "%s", err)
		}
		return 0
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		var refusal struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(doc, &refusal) // it is told only if it can be read
		a.said = refusal.Message
		return resp.StatusCode
	}
	if err == nil {
		err = json.Unmarshal(doc, out)
	}
	if err != nil {
		a.fail(probe.CheckAnswer, "%s %s of %s answers with what no API of Kubernetes says: %s", method, path, shown(a.url), err)
		return 0
	}
	return resp.StatusCode
}

// anonymous is whom a cluster takes somebody for who shows no credentials.
const anonymous = "system:anonymous"

// login asks who the connector is. A cluster that is too old to say so has at
// least refused nobody.
func (a *clusterAPI) login(ctx context.Context) {
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	switch status := a.ask(ctx, http.MethodGet, "/version", "", &version); {
	case status == 0:
		return
	case status == http.StatusUnauthorized:
		a.refused("/version")
		return
	case status == http.StatusForbidden: // a cluster may hide it
		version.GitVersion = "(it doesn't say which)"
	case status >= http.StatusBadRequest || version.GitVersion == "":
		a.fail(probe.CheckAnswer, "%s isn't the API of a Kubernetes cluster: GET /version has the status %d", shown(a.url), status)
		return
	}
	var review struct {
		Status struct {
			UserInfo struct {
				Username string   `json:"username"`
				Groups   []string `json:"groups"`
			} `json:"userInfo"`
		} `json:"status"`
	}
	const ask = `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
	status := a.ask(ctx, http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", ask, &review)
	user := review.Status.UserInfo
	switch {
	case status == 0:
	case status == http.StatusUnauthorized:
		a.refused("SelfSubjectReview")
	case user.Username == anonymous || status == http.StatusForbidden && strings.Contains(a.said, anonymous):
		a.fail(probe.CheckLogin, "Kubernetes %s takes the connector for nobody in particular (%s): its credentials say nothing; correct them", version.GitVersion, anonymous)
	case user.Username == "":
		a.pass(probe.CheckLogin, "Kubernetes %s lets the connector in", version.GitVersion)
	default:
		a.who = user.Username
		a.pass(probe.CheckLogin, "Kubernetes %s knows the connector as %s", version.GitVersion, user.Username)
	}
}

func (a *clusterAPI) refused(request string) {
	a.fail(probe.CheckLogin, "the cluster doesn't let the connector in (%s: status 401): its token, password or certificate is wrong or has expired; correct the secret", request)
}

// namespaces looks whether the connector may see the whole cluster.
func (a *clusterAPI) namespaces(ctx context.Context) {
	var list struct{}
	switch status := a.ask(ctx, http.MethodGet, "/api/v1/namespaces?limit=1", "", &list); {
	case status == 0:
	case status == http.StatusForbidden:
		a.lack("%s may not list namespaces; that is enough to deploy to one in which a role binding lets it, which isn't tested", a.who)
	case status >= http.StatusBadRequest:
		a.fail(probe.CheckPermission, "list namespaces: status %d", status)
	default:
		a.pass(probe.CheckPermission, "%s may list namespaces", a.who)
	}
}
