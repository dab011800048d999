// Package forge asks hosts of Git, and services of other people, what application sets
// are made of: the pull requests of a repository, the repositories of an organization,
// and what plugins answer (semantics/gitops §15).
//
// It reads no repository, and makes no pull request: delegate/githost does that. Where
// hosts are, and by which Secrets they are asked, a set says; the Secrets are read by
// the caller.
package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/githubapp"
	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/delegate/transport"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Values reads the values of Secrets and of ConfigMaps in the agent's namespace.
type Values interface {
	Secret(ctx context.Context, name string) (map[string]string, error)
	ConfigMap(ctx context.Context, name string) (map[string]string, error)
}

// The addresses of hosts for which a set needs none.
const (
	gitHubAPI    = "https://api.github.com"
	gitLabHost   = "https://gitlab.com"
	bitbucketAPI = "https://api.bitbucket.org/2.0"
	azureHost    = "https://dev.azure.com"
)

// Forge asks.
type Forge struct {
	Values Values
	// Bitbucket is the API of Bitbucket Cloud, of which a set can't say where it is;
	// empty: where it is.
	Bitbucket string
}

const (
	// pluginWithin is how long a plugin has if nobody says it, and pluginMost at most.
	pluginWithin, pluginMost = 30 * time.Second, 4 * time.Minute
	// pageSize is how many are asked for at once, and mostFound bounds all.
	pageSize  = 100
	mostFound = 10_000
)

// access is how a host is asked.
type access struct {
	host     string // its address
	token    *appset.SecretKey
	bearer   string // a token that is known already
	user     string
	password *appset.SecretKey
	insecure bool
	ca       *appset.ConfigMapKey
}

// to makes a client of a host.
func (f Forge) to(ctx context.Context, a access) (*restapi.Client, error) {
	at, err := url.Parse(a.host)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return nil, fault.New(fault.Invalid, "found %q as the address of a host; want one such as https://git.example.com", a.host)
	}
	server := task.Server{URL: a.host, Auth: task.AuthNone}
	switch {
	case a.password != nil:
		server.Auth, server.Username = task.AuthBasic, a.user
		server.Password, err = f.secret(ctx, a.password)
	case a.token != nil:
		server.Auth = task.AuthBearer
		server.Token, err = f.secret(ctx, a.token)
	case a.bearer != "":
		server.Auth, server.Token = task.AuthBearer, a.bearer
	}
	if err != nil {
		return nil, err
	}
	over := task.Over{Insecure: a.insecure}
	if a.ca != nil {
		all, err := f.Values.ConfigMap(ctx, a.ca.ConfigMapName)
		if err != nil {
			return nil, err
		}
		if over.CAPEM = all[a.ca.Key]; over.CAPEM == "" {
			return nil, fault.New(fault.NotFound, "ConfigMap %s has no key %s", a.ca.ConfigMapName, a.ca.Key)
		}
	}
	via, err := transport.New(&over)
	if err != nil {
		return nil, err
	}
	return restapi.New(server, via), nil
}

// gitHub is how GitHub is asked: by a token, or as an app that is installed somewhere, of
// which a Secret has what Argo CD's do.
func (f Forge) gitHub(ctx context.Context, api string, token *appset.SecretKey, app string, of ...string) (*restapi.Client, error) {
	if app == "" {
		return f.to(ctx, access{host: cmp.Or(api, gitHubAPI), token: token})
	}
	all, err := f.Values.Secret(ctx, app)
	if err != nil {
		return nil, err
	}
	host := cmp.Or(api, strings.TrimSpace(all["githubAppEnterpriseBaseUrl"]), gitHubAPI)
	bearer, err := appToken(ctx, all, host, strings.TrimPrefix(below("", of...), "/"))
	if err != nil {
		return nil, fault.Wrap(err, "Secret %s", app)
	}
	return f.to(ctx, access{host: host, bearer: bearer})
}

// appToken asks for a token of an app, for an installation of somebody's.
func appToken(ctx context.Context, all map[string]string, host, of string) (string, error) {
	app := githubapp.App{Key: all["githubAppPrivateKey"], URL: host}
	for _, n := range []struct {
		key  string
		into *int64
	}{{"githubAppID", &app.ID}, {"githubAppInstallationID", &app.Installation}} {
		text := strings.TrimSpace(all[n.key])
		if text == "" && n.into == &app.Installation {
			continue // GitHub knows it
		}
		var err error
		if *n.into, err = strconv.ParseInt(text, 10, 64); err != nil || *n.into < 1 {
			return "", fault.New(fault.Invalid, "want a number as %s", n.key)
		}
	}
	got, err := app.Token(ctx, of)
	return got.Text, err
}

// secret is a value of a Secret.
func (f Forge) secret(ctx context.Context, k *appset.SecretKey) (string, error) {
	all, err := f.Values.Secret(ctx, k.SecretName)
	if err != nil {
		return "", err
	}
	v := strings.TrimSpace(all[k.Key])
	if v == "" {
		return "", fault.New(fault.NotFound, "Secret %s has no key %s", k.SecretName, k.Key)
	}
	return v, nil
}

// isNot says whether an error is that something isn't there.
func isNot(err error) bool {
	var answer *restapi.StatusError
	return errors.As(err, &answer) && answer.Status == http.StatusNotFound
}

// numbered gets pages by their numbers, until one isn't full.
func numbered[T any](ctx context.Context, c *restapi.Client, at string, query url.Values, size string, most int) ([]T, error) {
	var all []T
	for page := 1; len(all) <= mostFound; page++ {
		query.Set(size, strconv.Itoa(most))
		query.Set("page", strconv.Itoa(page))
		var some []T
		if err := c.Get(ctx, at, query, &some); err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) < most {
			return all, nil
		}
	}
	return nil, tooMany(at)
}

// chained gets pages of Bitbucket Cloud, each of which names the next.
func chained[T any](ctx context.Context, c *restapi.Client, at string) ([]T, error) {
	var all []T
	for at != "" && len(all) <= mostFound {
		var page struct {
			Values []T    `json:"values"`
			Next   string `json:"next"`
		}
		if err := c.Get(ctx, at, nil, &page); err != nil {
			return nil, err
		}
		all, at = append(all, page.Values...), page.Next
	}
	if at != "" {
		return nil, tooMany(at)
	}
	return all, nil
}

// started gets pages of a Bitbucket server, each of which says where the next begins.
func started[T any](ctx context.Context, c *restapi.Client, at string, query url.Values) ([]T, error) {
	var all []T
	query.Set("limit", strconv.Itoa(pageSize))
	for start := 0; len(all) <= mostFound; {
		query.Set("start", strconv.Itoa(start))
		var page struct {
			Values []T  `json:"values"`
			Last   bool `json:"isLastPage"`
			Next   int  `json:"nextPageStart"`
		}
		if err := c.Get(ctx, at, query, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Values...)
		if page.Last || page.Next <= start {
			return all, nil
		}
		start = page.Next
	}
	return nil, tooMany(at)
}

// skipped gets pages of Azure DevOps.
func skipped[T any](ctx context.Context, c *restapi.Client, at string, query url.Values) ([]T, error) {
	var all []T
	query.Set("api-version", "7.0")
	query.Set("$top", strconv.Itoa(pageSize))
	for len(all) <= mostFound {
		query.Set("$skip", strconv.Itoa(len(all)))
		var page struct {
			Value []T `json:"value"`
		}
		if err := c.Get(ctx, at, query, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
		if len(page.Value) < pageSize {
			return all, nil
		}
	}
	return nil, tooMany(at)
}

func tooMany(what string) error {
	return fault.New(fault.TooLarge, "%s has more than %d entries", what, mostFound)
}

// below joins the parts of a path, each of which is escaped.
func below(prefix string, parts ...string) string {
	var b strings.Builder
	b.WriteString(prefix)
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}

// file is a path in a repository, escaped, without a slash before it.
func file(at string) string {
	parts := strings.Split(strings.Trim(path.Clean(at), "/"), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// matches says whether a text fits an expression, if there is one.
func matches(expression *string, text string) (bool, error) {
	if expression == nil {
		return true, nil
	}
	re, err := regexp.Compile(*expression)
	if err != nil {
		return false, fault.New(fault.Invalid, "found %q, which isn't a regular expression: %w", *expression, err)
	}
	return re.MatchString(text), nil
}

// all says whether every one of some conditions is fulfilled.
func all(conditions ...func() (bool, error)) (bool, error) {
	for _, is := range conditions {
		if ok, err := is(); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// names are those of labels.
type names []struct {
	Name string `json:"name"`
}

func (n names) texts() []string {
	out := make([]string, len(n))
	for i := range n {
		out[i] = n[i].Name
	}
	return out
}

// bitbucketServer is the API of a Bitbucket server.
func bitbucketServer(at string) string {
	at = strings.TrimRight(at, "/")
	return strings.TrimSuffix(at, "/rest") + "/rest/api/1.0"
}

// basic is how a host is asked by a name and a password, or by a token.
func basic(host string, b *appset.BasicAuth, t *appset.BearerToken) access {
	a := access{host: host}
	if b != nil {
		a.user, a.password = b.Username, b.PasswordRef
	}
	if t != nil {
		a.token = t.TokenRef
	}
	return a
}

// personal is how Azure DevOps is asked: the token is a password of nobody.
func personal(host string, token *appset.SecretKey) access {
	return access{host: strings.TrimRight(cmp.Or(host, azureHost), "/"), password: token}
}

// Plugin asks a service for parameters.
func (f Forge) Plugin(ctx context.Context, set string, of appset.Plugin) (generate.Answer, error) {
	var a generate.Answer
	config, err := f.Values.ConfigMap(ctx, of.ConfigMapRef.Name)
	if err != nil {
		return a, err
	}
	token, err := f.pluginToken(ctx, config["token"])
	if err != nil {
		return a, fault.Wrap(err, "ConfigMap %s, token", of.ConfigMapRef.Name)
	}
	base := strings.TrimRight(config["baseUrl"], "/")
	at, err := url.Parse(base)
	if err != nil || at.Host == "" {
		return a, fault.New(fault.Invalid, "ConfigMap %s: found %q as baseUrl; want an address such as http://plugin.argocd.svc", of.ConfigMapRef.Name, config["baseUrl"])
	}
	within := pluginWithin
	if text := config["requestTimeout"]; text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 1 {
			return a, fault.New(fault.Invalid, "ConfigMap %s: found %q as requestTimeout; want a number of seconds", of.ConfigMapRef.Name, text)
		}
		within = min(pluginMost, time.Duration(seconds)*time.Second)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fault.New(fault.Unavailable, "the plugin at %s didn't answer within %s", base, within))
	defer cancel()
	via, err := transport.New(&task.Over{})
	if err != nil {
		return a, err
	}
	var out struct {
		Output struct {
			Parameters []map[string]any `json:"parameters"`
		} `json:"output"`
	}
	asked := struct {
		Set   string             `json:"applicationSetName"`
		Input appset.PluginInput `json:"input"`
	}{set, of.Input}
	c := restapi.New(task.Server{URL: base, Auth: task.AuthBearer, Token: token}, via)
	if err := c.JSON(ctx, restapi.Request{Method: http.MethodPost, Path: "/api/v1/getparams.execute", JSON: asked}, &out); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return a, fmt.Errorf("ask the plugin: %w", err)
	}
	a.Parameters = out.Output.Parameters
	return a, nil
}

// pluginToken is the token of a plugin: $key of the agent's own Secret, or $secret:key.
func (f Forge) pluginToken(ctx context.Context, text string) (string, error) {
	ref, ok := strings.CutPrefix(text, "$")
	if !ok || ref == "" {
		return "", fault.New(fault.Invalid, "want $key, of the Secret argocd-secret, or $secret:key")
	}
	name, key, both := strings.Cut(ref, ":")
	if !both {
		name, key = "argocd-secret", ref
	}
	return f.secret(ctx, &appset.SecretKey{SecretName: name, Key: key})
}
