package forge_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/gitops/forge"
	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

// values are Secrets and ConfigMaps.
type values map[string]map[string]string

func (v values) Secret(_ context.Context, name string) (map[string]string, error) {
	return v.get(name)
}

func (v values) ConfigMap(_ context.Context, name string) (map[string]string, error) {
	return v.get(name)
}

func (v values) get(name string) (map[string]string, error) {
	if all, ok := v[name]; ok {
		return all, nil
	}
	return nil, fault.New(fault.NotFound, "there is no %s", name)
}

// host answers as hosts do: by the path, with the part of the query that says which
// page. What it has nothing for isn't there.
func host(t *testing.T, auth string, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != auth {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"message": "who is it?"}`))
			return
		}
		key := r.URL.EscapedPath()
		for _, page := range []string{"page", "start", "$skip"} {
			if n := r.URL.Query().Get(page); n != "" && n != "1" && n != "0" {
				key += "?" + n
			}
		}
		answer, ok := answers[key]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(answer, "HOST", "http://"+r.Host)))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var token = &appset.SecretKey{SecretName: "host", Key: "token"}

const (
	bearer  = "Bearer t0ken"
	nobody  = "Basic OnQwa2Vu"     // :t0ken
	byAnn   = "Basic YW5uOnQwa2Vu" // ann:t0ken
	hubPull = `{"number": 1, "title": "feat: x", "head": {"ref": "feature/x", "sha": "abcdef0123"}, "base": {"ref": "main"}, "user": {"login": "ann"}, "labels": [{"name": "preview"}, {"name": "eu"}]}`
)

func secrets() values { return values{"host": {"token": "t0ken\n"}} }

func TestPullRequests(t *testing.T) {
	t.Parallel()
	one := generate.PullRequest{Number: 1, Title: "feat: x", Branch: "feature/x", TargetBranch: "main", HeadSHA: "abcdef0123", Author: "ann"}
	labelled := one
	labelled.Labels = []string{"preview", "eu"}
	full := "[" + strings.Repeat(hubPull+",", 99) + hubPull + "]"
	regex := func(s string) *string { return &s }
	for name, tt := range map[string]struct {
		auth    string
		answers map[string]string
		of      func(api string) appset.PullRequests
		want    []generate.PullRequest
		count   int
		gone    bool
		fails   string
	}{
		"GitHub": {
			auth: bearer, answers: map[string]string{"/repos/acme/web/pulls": "[" + hubPull + `, {"number": 2, "labels": []}]`},
			of: func(api string) appset.PullRequests {
				return appset.PullRequests{GitHub: &appset.RepositoryGitHub{Owner: "acme", Repo: "web", API: api, TokenRef: token, Labels: []string{"preview"}}}
			},
			want: []generate.PullRequest{labelled},
		},
		"GitHub, in pages": {
			auth: bearer, answers: map[string]string{"/repos/acme/web/pulls": full, "/repos/acme/web/pulls?2": full, "/repos/acme/web/pulls?3": "[]"},
			of: func(api string) appset.PullRequests {
				return appset.PullRequests{GitHub: &appset.RepositoryGitHub{Owner: "acme", Repo: "web", API: api + "/", TokenRef: token}}
			},
			count: 200,
		},
		"GitLab": {
			answers: map[string]string{"/api/v4/projects/acme%2Fweb/merge_requests": `[{"iid": 1, "title": "feat: x", "source_branch": "feature/x", "target_branch": "main", "sha": "abcdef0123", "labels": ["preview", "eu"], "author": {"username": "ann"}}]`},
			of: func(api string) appset.PullRequests {
				return appset.PullRequests{GitLab: &appset.RepositoryGitLab{Project: "acme/web", API: api, PullRequestState: "opened", Labels: []string{"preview"}}}
			},
			want: []generate.PullRequest{labelled},
		},
		"Gitea": {
			auth: bearer, answers: map[string]string{"/api/v1/repos/acme/web/pulls": "[" + hubPull + "]"},
			of: func(api string) appset.PullRequests {
				return appset.PullRequests{Gitea: &appset.RepositoryGitea{Owner: "acme", Repo: "web", API: api, TokenRef: token}}
			},
			want: []generate.PullRequest{labelled},
		},
		"Bitbucket": {
			auth: byAnn, answers: map[string]string{
				"/repositories/acme/web/pullrequests":   `{"values": [{"id": 1, "title": "feat: x", "source": {"branch": {"name": "feature/x"}, "commit": {"hash": "abcdef0123"}}, "destination": {"branch": {"name": "main"}}, "author": {"nickname": "ann"}}], "next": "HOST/repositories/acme/web/pullrequests?page=2"}`,
				"/repositories/acme/web/pullrequests?2": `{"values": [{"id": 2, "title": "chore"}]}`,
			},
			of: func(api string) appset.PullRequests {
				return appset.PullRequests{
					Bitbucket: &appset.RepositoryBitbucket{Owner: "acme", Repo: "web", API: api, BasicAuth: &appset.BasicAuth{Username: "ann", PasswordRef: token}},
					Filters:   []appset.PullRequestFilter{{BranchMatch: regex("^feature/"), TargetBranchMatch: regex("^main$"), TitleMatch: regex("^feat")}, {TitleMatch: regex("^fix")}},
				}
			},
			want: []generate.PullRequest{one},
		},
		"a Bitbucket server": {
			auth: bearer, answers: map[string]string{
				"/rest/api/1.0/projects/ACME/repos/web/pull-requests":   `{"values": [{"id": 1, "title": "feat: x", "fromRef": {"displayId": "feature/x", "latestCommit": "abcdef0123"}, "toRef": {"displayId": "main"}, "author": {"user": {"name": "ann"}}}], "isLastPage": false, "nextPageStart": 7}`,
				"/rest/api/1.0/projects/ACME/repos/web/pull-requests?7": `{"values": [], "isLastPage": true}`,
			},
			of: func(api string) appset.PullRequests {
				return appset.PullRequests{BitbucketServer: &appset.RepositoryBitbucketServer{Project: "ACME", Repo: "web", API: api + "/rest/", BearerToken: &appset.BearerToken{TokenRef: token}}}
			},
			want: []generate.PullRequest{one},
		},
		"Azure": {
			auth: nobody, answers: map[string]string{"/acme/shop/_apis/git/repositories/web/pullrequests": `{"value": [{"pullRequestId": 1, "title": "feat: x", "sourceRefName": "refs/heads/feature/x", "targetRefName": "refs/heads/main", "lastMergeSourceCommit": {"commitId": "abcdef0123"}, "createdBy": {"uniqueName": "ann@acme.com"}, "labels": [{"name": "preview"}, {"name": "eu"}]}, {"pullRequestId": 2}]}`},
			of: func(api string) appset.PullRequests {
				return appset.PullRequests{AzureDevOps: &appset.RepositoryAzureDevOps{Organization: "acme", Project: "shop", Repo: "web", API: api, TokenRef: token, Labels: []string{"eu"}}}
			},
			want: []generate.PullRequest{labelled},
		},
		"a repository that isn't there": {
			auth: bearer, gone: true, of: func(api string) appset.PullRequests {
				return appset.PullRequests{GitHub: &appset.RepositoryGitHub{Owner: "acme", Repo: "none", API: api, TokenRef: token}}
			},
		},
		"a token that isn't taken": {
			auth: "Bearer another", of: func(api string) appset.PullRequests {
				return appset.PullRequests{GitHub: &appset.RepositoryGitHub{Owner: "acme", Repo: "web", API: api, TokenRef: token}}
			}, fails: "status 401 Unauthorized: who is it?",
		},
		"a key that isn't there": {
			of: func(api string) appset.PullRequests {
				return appset.PullRequests{GitHub: &appset.RepositoryGitHub{Owner: "acme", Repo: "web", API: api, TokenRef: &appset.SecretKey{SecretName: "host", Key: "x"}}}
			}, fails: "Secret host has no key x",
		},
		"an address that is none": {
			of: func(string) appset.PullRequests {
				return appset.PullRequests{Gitea: &appset.RepositoryGitea{API: "git"}}
			},
			fails: `found "git" as the address of a host`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := forge.Forge{Values: secrets()}.PullRequests(t.Context(), tt.of(host(t, tt.auth, tt.answers)))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "t0ken") {
					t.Errorf("found %v; want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.count > 0 {
				if len(got.PullRequests) != tt.count {
					t.Errorf("found %d; want %d", len(got.PullRequests), tt.count)
				}
				return
			}
			for i := range got.PullRequests {
				if len(got.PullRequests[i].Labels) == 0 {
					got.PullRequests[i].Labels = nil
				}
			}
			if diff := cmp.Diff(generate.Answer{PullRequests: tt.want, NotFound: tt.gone}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRepositories(t *testing.T) {
	t.Parallel()
	regex := func(s string) *string { return &s }
	const hub = `[{"id": 7, "name": "web", "clone_url": "https://h/acme/web.git", "ssh_url": "git@h:acme/web.git", "default_branch": "main", "topics": ["shop"]}, {"id": 8, "name": "old", "archived": true, "default_branch": "main"}, {"id": 9, "name": "empty", "default_branch": "main"}]`
	one := generate.Repository{Organization: "acme", Repository: "web", ID: "7", URL: "git@h:acme/web.git", Branch: "main", SHA: "abc", Labels: []string{"shop"}}
	dev := one
	dev.Branch, dev.SHA = "dev", "def"
	plain := one
	plain.Labels = nil
	filters := []appset.RepositoryFilter{{RepositoryMatch: regex("^we"), PathsExist: []string{"deploy/k8s"}, PathsDoNotExist: []string{"skip.txt"}}}
	for name, tt := range map[string]struct {
		auth    string
		answers map[string]string
		of      func(api string) appset.SCMProvider
		want    []generate.Repository
	}{
		"GitHub": {
			auth: bearer, answers: map[string]string{
				"/orgs/acme/repos": hub, "/repos/acme/web/branches/main": `{"name": "main", "commit": {"sha": "abc"}}`,
			},
			of: func(api string) appset.SCMProvider {
				return appset.SCMProvider{GitHub: &appset.OrganizationGitHub{Organization: "acme", API: api, TokenRef: token, ExcludeArchivedRepos: true}, CloneProtocol: "ssh"}
			},
			want: []generate.Repository{one},
		},
		"GitHub, all branches": {
			auth: bearer, answers: map[string]string{
				"/orgs/acme/repos": hub, "/repos/acme/web/branches": `[{"name": "main", "commit": {"sha": "abc"}}, {"name": "dev", "commit": {"sha": "def"}}]`,
				"/repos/acme/web/contents/deploy/k8s": "[]", "/repos/acme/old/branches": "[]", "/repos/acme/empty/branches": "[]",
			},
			of: func(api string) appset.SCMProvider {
				return appset.SCMProvider{
					GitHub:  &appset.OrganizationGitHub{Organization: "acme", API: api, TokenRef: token, AllBranches: true},
					Filters: []appset.RepositoryFilter{{BranchMatch: regex("^dev$"), LabelMatch: regex("sho")}, {RepositoryMatch: regex("none")}},
				}
			},
			want: []generate.Repository{dev},
		},
		"GitHub, by paths": {
			auth: bearer, answers: map[string]string{
				"/orgs/acme/repos": hub, "/repos/acme/web/branches/main": `{"name": "main", "commit": {"sha": "abc"}}`, "/repos/acme/web/contents/deploy/k8s": "[]",
			},
			of: func(api string) appset.SCMProvider {
				return appset.SCMProvider{GitHub: &appset.OrganizationGitHub{Organization: "acme", API: api, TokenRef: token}, Filters: filters}
			},
			want: []generate.Repository{one},
		},
		"GitLab": {
			auth: bearer, answers: map[string]string{
				"/api/v4/groups/acme/projects":                `[{"id": 7, "path": "web", "http_url_to_repo": "https://h/acme/web.git", "ssh_url_to_repo": "git@h:acme/web.git", "default_branch": "main", "topics": ["shop"], "namespace": {"full_path": "acme"}}]`,
				"/api/v4/projects/7/repository/branches/main": `{"name": "main", "commit": {"id": "abc"}}`,
				"/api/v4/projects/7/repository/tree":          `[{"path": "deploy/k8s"}, {"path": "deploy/x"}]`,
			},
			of: func(api string) appset.SCMProvider {
				return appset.SCMProvider{GitLab: &appset.OrganizationGitLab{Group: "acme", API: api, TokenRef: token}, Filters: filters}
			},
			want: []generate.Repository{one},
		},
		"Gitea": {
			auth: bearer, answers: map[string]string{
				"/api/v1/orgs/acme/repos": hub, "/api/v1/repos/acme/web/branches/main": `{"name": "main", "commit": {"id": "abc"}}`, "/api/v1/repos/acme/web/contents/deploy/k8s": "[]",
			},
			of: func(api string) appset.SCMProvider {
				return appset.SCMProvider{Gitea: &appset.OrganizationGitea{Owner: "acme", API: api, TokenRef: token}, Filters: filters}
			},
			want: []generate.Repository{one},
		},
		"Bitbucket": {
			auth: byAnn, answers: map[string]string{
				"/repositories/acme":                         `{"values": [{"uuid": "7", "slug": "web", "links": {"clone": [{"name": "https", "href": "https://h/acme/web.git"}, {"name": "ssh", "href": "git@h:acme/web.git"}]}, "mainbranch": {"name": "main"}}, {"slug": "empty"}]}`,
				"/repositories/acme/web/refs/branches/main":  `{"name": "main", "target": {"hash": "abc"}}`,
				"/repositories/acme/web/src/main/deploy/k8s": "{}",
			},
			of: func(string) appset.SCMProvider {
				return appset.SCMProvider{Bitbucket: &appset.OrganizationBitbucket{Owner: "acme", User: "ann", AppPasswordRef: token}, Filters: filters}
			},
			want: []generate.Repository{plain},
		},
		"a Bitbucket server": {
			auth: byAnn, answers: map[string]string{
				"/rest/api/1.0/projects/acme/repos":                       `{"values": [{"id": 7, "slug": "web", "links": {"clone": [{"name": "http", "href": "https://h/acme/web.git"}, {"name": "ssh", "href": "git@h:acme/web.git"}]}}], "isLastPage": true}`,
				"/rest/api/1.0/projects/acme/repos/web/labels":            `{"values": [{"name": "shop"}], "isLastPage": true}`,
				"/rest/api/1.0/projects/acme/repos/web/branches/default":  `{"displayId": "main", "latestCommit": "abc"}`,
				"/rest/api/1.0/projects/acme/repos/web/browse/deploy/k8s": "{}",
			},
			of: func(api string) appset.SCMProvider {
				return appset.SCMProvider{BitbucketServer: &appset.OrganizationBitbucketServer{Project: "acme", API: api, BasicAuth: &appset.BasicAuth{Username: "ann", PasswordRef: token}}, Filters: filters}
			},
			want: []generate.Repository{one},
		},
		"Azure": {
			auth: nobody, answers: map[string]string{
				"/acme/shop/_apis/git/repositories":                  `{"value": [{"id": "7", "name": "web", "remoteUrl": "https://h/acme/web.git", "sshUrl": "git@h:acme/web.git", "defaultBranch": "refs/heads/main"}, {"id": "8", "name": "empty"}, {"id": "9", "name": "off", "isDisabled": true}]}`,
				"/acme/shop/_apis/git/repositories/7/stats/branches": `{"value": [{"name": "dev", "commit": {"commitId": "def"}}, {"name": "main", "commit": {"commitId": "abc"}}]}`,
			},
			of: func(api string) appset.SCMProvider {
				return appset.SCMProvider{AzureDevOps: &appset.OrganizationAzureDevOps{Organization: "acme", TeamProject: "shop", API: api, AccessTokenRef: token}}
			},
			want: []generate.Repository{plain},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := host(t, tt.auth, tt.answers)
			got, err := forge.Forge{Values: secrets(), Bitbucket: api}.Repositories(t.Context(), tt.of(api))
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Repositories {
				if len(got.Repositories[i].Labels) == 0 {
					got.Repositories[i].Labels = nil
				}
			}
			if diff := cmp.Diff(generate.Answer{Repositories: tt.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A host that fails is an error: then nothing of a set changes.
func TestAHostThatFails(t *testing.T) {
	t.Parallel()
	api := host(t, bearer, map[string]string{"/orgs/acme/repos": "<html>"})
	f := forge.Forge{Values: secrets()}
	for _, of := range []appset.SCMProvider{{GitHub: &appset.OrganizationGitHub{Organization: "acme", API: api, TokenRef: token}}, {GitHub: &appset.OrganizationGitHub{Organization: "none", API: api, TokenRef: token}}, {}} {
		if got, err := f.Repositories(t.Context(), of); err == nil {
			t.Errorf("%+v gives %+v", of, got)
		}
	}
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/api/v1/getparams.execute" || r.Header.Get("Authorization") != bearer || string(body) != `{"applicationSetName":"web","input":{"parameters":{"a":[1]}}}` {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(`{"output": {"parameters": [{"key": "value", "n": 1}]}}`))
	}))
	t.Cleanup(s.Close)
	for name, tt := range map[string]struct {
		config map[string]string
		fails  string
	}{
		"":                  {config: map[string]string{"baseUrl": s.URL + "/", "token": "$host:token"}},
		"of its own Secret": {config: map[string]string{"baseUrl": s.URL, "token": "$own", "requestTimeout": "20"}},
		"no address":        {config: map[string]string{"token": "$host:token"}, fails: "as baseUrl; want an address"},
		"a plain token":     {config: map[string]string{"baseUrl": s.URL, "token": "t0ken"}, fails: "ConfigMap plugin, token: want $key"},
		"no time":           {config: map[string]string{"baseUrl": s.URL, "token": "$host:token", "requestTimeout": "long"}, fails: `found "long" as requestTimeout`},
		"refused":           {config: map[string]string{"baseUrl": s.URL, "token": "$host:other"}, fails: "403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := values{"host": {"token": "t0ken", "other": "x"}, "argocd-secret": {"own": "t0ken"}, "plugin": tt.config}
			got, err := forge.Forge{Values: all}.Plugin(t.Context(), "web", appset.Plugin{
				ConfigMapRef: appset.PluginConfig{Name: "plugin"}, Input: appset.PluginInput{Parameters: map[string]json.RawMessage{"a": json.RawMessage("[1]")}},
			})
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("found %v; want %q", err, tt.fails)
				}
				return
			}
			if err != nil || len(got.Parameters) != 1 || got.Parameters[0]["key"] != "value" {
				t.Errorf("found %+v, %v", got, err)
			}
		})
	}
}

// A GitHub app asks by a token of where it is installed: of the installation that its
// Secret names, or of the one that GitHub knows.
func TestAppsOfGitHub(t *testing.T) {
	t.Parallel()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth := r.Header.Get("Authorization")
		app := len(strings.Split(auth, ".")) == 3 // a signed token
		answer := ""
		switch at := r.Method + " " + r.URL.Path; {
		case app && at == "GET /repos/acme/web/installation", app && at == "GET /orgs/acme/installation":
			answer = `{"id": 42}`
		case app && at == "POST /app/installations/42/access_tokens", app && at == "POST /app/installations/7/access_tokens":
			answer = `{"token": "t0ken"}`
		case auth == bearer && at == "GET /repos/acme/web/pulls":
			answer = "[" + hubPull + "]"
		case auth == bearer && at == "GET /orgs/acme/repos":
			answer = `[{"id": 7, "name": "web", "default_branch": "main", "owner": {"login": "acme"}}]`
		case auth == bearer && at == "GET /repos/acme/web/branches/main":
			answer = `{"name": "main", "commit": {"sha": "abc"}}`
		default:
			w.WriteHeader(http.StatusUnauthorized)
			answer = `{"message": "who is it?"}`
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(s.Close)
	for name, tt := range map[string]struct {
		api, app string
		secret   map[string]string
		fails    string
	}{
		"installed somewhere":    {api: s.URL, app: "app", secret: map[string]string{"githubAppID": "1", "githubAppPrivateKey": key}},
		"an installation":        {api: s.URL, app: "app", secret: map[string]string{"githubAppID": "1", "githubAppPrivateKey": key, "githubAppInstallationID": "7\n"}},
		"at its own address":     {app: "app", secret: map[string]string{"githubAppID": "1", "githubAppPrivateKey": key, "githubAppEnterpriseBaseUrl": s.URL + "/"}},
		"another installation":   {api: s.URL, app: "app", secret: map[string]string{"githubAppID": "1", "githubAppPrivateKey": key, "githubAppInstallationID": "8"}, fails: "Secret app: GitHub gives the app no token: status 401: who is it?"},
		"no number":              {api: s.URL, app: "app", secret: map[string]string{"githubAppPrivateKey": key}, fails: "Secret app: want a number as githubAppID"},
		"no key":                 {api: s.URL, app: "app", secret: map[string]string{"githubAppID": "1", "githubAppPrivateKey": "s3cret"}, fails: "githubAppPrivateKey is no RSA key"},
		"no Secret":              {app: "other", fails: "there is no other"},
		"no Secret, by its name": {api: s.URL, app: "other", fails: "there is no other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forge.Forge{Values: values{"app": tt.secret}}
			pulls, err := f.PullRequests(t.Context(), appset.PullRequests{GitHub: &appset.RepositoryGitHub{Owner: "acme", Repo: "web", API: tt.api, AppSecretName: tt.app}})
			repos, errRepos := f.Repositories(t.Context(), appset.SCMProvider{GitHub: &appset.OrganizationGitHub{Organization: "acme", API: tt.api, AppSecretName: tt.app}})
			if tt.fails != "" {
				for _, err := range []error{err, errRepos} {
					if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "s3cret") {
						t.Errorf("it failed with %v; want %q", err, tt.fails)
					}
				}
				return
			}
			if err != nil || len(pulls.PullRequests) != 1 || errRepos != nil || len(repos.Repositories) != 1 {
				t.Errorf("it gave %v, %v and %v, %v; want one of each", pulls.PullRequests, err, repos.Repositories, errRepos)
			}
		})
	}
}
