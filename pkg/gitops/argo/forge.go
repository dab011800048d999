package argo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// secretKey and configMapKey read names of values in the agent's namespace.
func secretKey(d decoder, v yamldoc.Value) appset.SecretKey {
	var k appset.SecretKey
	d.Named(v, "gitopsSecretKey")
	d.Fields(v, document.Keys{"secretName": d.text(&k.SecretName), "key": d.text(&k.Key)})
	d.Need(v, "secretName", "key")
	return k
}

func configMapKey(d decoder, v yamldoc.Value) appset.ConfigMapKey {
	var k appset.ConfigMapKey
	d.Fields(v, document.Keys{"configMapName": d.text(&k.ConfigMapName), "key": d.text(&k.Key)})
	d.Need(v, "configMapName", "key")
	return k
}

// passwords are the keys of a host that is asked by a name and a password, or by a token.
func passwords(d decoder, basic **appset.BasicAuth, bearer **appset.BearerToken) document.Keys {
	return document.Keys{
		"basicAuth": part(d, basic, func(d decoder, v yamldoc.Value) appset.BasicAuth {
			var b appset.BasicAuth
			d.Fields(v, document.Keys{"username": d.text(&b.Username), "passwordRef": part(d, &b.PasswordRef, secretKey)})
			d.Need(v, "username", "passwordRef")
			return b
		}),
		"bearerToken": part(d, bearer, func(d decoder, v yamldoc.Value) appset.BearerToken {
			var b appset.BearerToken
			d.Fields(v, document.Keys{"tokenRef": part(d, &b.TokenRef, secretKey)})
			d.Need(v, "tokenRef")
			return b
		}),
	}
}

// expression reads a regular expression.
func (d decoder) expression(to **string) document.Rule {
	return func(v yamldoc.Value) {
		f := d.String(v)
		if !f.Set {
			return
		}
		*to = &f.Value
		if _, err := regexp.Compile(f.Value); err != nil && !strings.Contains(f.Value, "{{") {
			d.Errorf(v, badPattern, "found %q, which isn't a regular expression: %v", yamldoc.Shorten(f.Value), err)
		}
	}
}

// host reports a generator that isn't of exactly one host, and a host that names two
// ways to be asked.
func (d decoder) host(v yamldoc.Value, hosts ...string) {
	if !v.Is(yamldoc.Mapping) {
		return
	}
	found := slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return yamldoc.Sub(v.Node.Get(h), "").Null() })
	switch {
	case len(found) == 0:
		d.Errorf(v, noGenerator, "it names no host; want %s", document.Choice(hosts))
	case len(found) > 1:
		d.Errorf(document.Child(v, found[1]), document.Ambiguous, "found %s; a generator has one host: write each as an item of its own", strings.Join(found, " and "))
	}
	for _, h := range found {
		for _, ways := range [][2]string{{"basicAuth", "bearerToken"}, {"tokenRef", "appSecretName"}} {
			if at := document.Child(v, h); at.Is(yamldoc.Mapping) && at.Node.Get(ways[0]) != nil && at.Node.Get(ways[1]) != nil {
				d.Errorf(document.Child(at, ways[1]), document.Ambiguous, "found %s and %s; want only one of them", ways[0], ways[1])
			}
		}
	}
}

func scmProvider(d decoder, v yamldoc.Value, depth int) appset.SCMProvider {
	var s appset.SCMProvider
	d.Fields(v, document.Keys{
		"github": part(d, &s.GitHub, func(d decoder, v yamldoc.Value) appset.OrganizationGitHub {
			var o appset.OrganizationGitHub
			d.Fields(v, document.Keys{
				"organization": d.text(&o.Organization), "api": d.text(&o.API), "tokenRef": part(d, &o.TokenRef, secretKey), "appSecretName": d.text(&o.AppSecretName),
				"allBranches": d.flag(&o.AllBranches), "excludeArchivedRepos": d.flag(&o.ExcludeArchivedRepos),
			})
			d.Need(v, "organization")
			return o
		}),
		"gitlab": part(d, &s.GitLab, func(d decoder, v yamldoc.Value) appset.OrganizationGitLab {
			var o appset.OrganizationGitLab
			d.Fields(v, document.Keys{
				"group": d.text(&o.Group), "api": d.text(&o.API), "tokenRef": part(d, &o.TokenRef, secretKey), "allBranches": d.flag(&o.AllBranches),
				"includeSubgroups": d.flag(&o.IncludeSubgroups), "includeArchivedRepos": d.flag(&o.IncludeArchivedRepos), "topic": d.text(&o.Topic),
				"insecure": d.flag(&o.Insecure), "caRef": part(d, &o.CARef, configMapKey),
				"includeSharedProjects": func(v yamldoc.Value) {
					if f := d.Bool(v); f.Set {
						o.IncludeSharedProjects = &f.Value
					}
				},
			})
			d.Need(v, "group")
			return o
		}),
		"gitea": part(d, &s.Gitea, func(d decoder, v yamldoc.Value) appset.OrganizationGitea {
			var o appset.OrganizationGitea
			d.Fields(v, document.Keys{
				"owner": d.text(&o.Owner), "api": d.text(&o.API), "tokenRef": part(d, &o.TokenRef, secretKey), "allBranches": d.flag(&o.AllBranches),
				"excludeArchivedRepos": d.flag(&o.ExcludeArchivedRepos), "insecure": d.flag(&o.Insecure),
			})
			d.Need(v, "owner", "api")
			return o
		}),
		"bitbucket": part(d, &s.Bitbucket, func(d decoder, v yamldoc.Value) appset.OrganizationBitbucket {
			var o appset.OrganizationBitbucket
			d.Fields(v, document.Keys{
				"owner": d.text(&o.Owner), "user": d.text(&o.User), "appPasswordRef": part(d, &o.AppPasswordRef, secretKey), "allBranches": d.flag(&o.AllBranches),
			})
			d.Need(v, "owner", "user", "appPasswordRef")
			return o
		}),
		"bitbucketServer": part(d, &s.BitbucketServer, func(d decoder, v yamldoc.Value) appset.OrganizationBitbucketServer {
			var o appset.OrganizationBitbucketServer
			d.Fields(v, document.Merge(passwords(d, &o.BasicAuth, &o.BearerToken), document.Keys{
				"project": d.text(&o.Project), "api": d.text(&o.API), "allBranches": d.flag(&o.AllBranches), "insecure": d.flag(&o.Insecure), "caRef": part(d, &o.CARef, configMapKey),
			}))
			d.Need(v, "project", "api")
			return o
		}),
		"azureDevOps": part(d, &s.AzureDevOps, func(d decoder, v yamldoc.Value) appset.OrganizationAzureDevOps {
			var o appset.OrganizationAzureDevOps
			d.Fields(v, document.Keys{
				"organization": d.text(&o.Organization), "teamProject": d.text(&o.TeamProject), "api": d.text(&o.API), "accessTokenRef": part(d, &o.AccessTokenRef, secretKey),
				"allBranches": d.flag(&o.AllBranches),
			})
			d.Need(v, "organization", "teamProject", "accessTokenRef")
			return o
		}),
		"awsCodeCommit": d.Refuse("repositories of AWS CodeCommit aren't supported"),
		"filters": list(d, &s.Filters, func(d decoder, v yamldoc.Value) appset.RepositoryFilter {
			var f appset.RepositoryFilter
			d.Fields(v, document.Keys{
				"repositoryMatch": d.expression(&f.RepositoryMatch), "labelMatch": d.expression(&f.LabelMatch), "branchMatch": d.expression(&f.BranchMatch),
				"pathsExist": d.words(&f.PathsExist), "pathsDoNotExist": d.words(&f.PathsDoNotExist),
			})
			return f
		}),
		"cloneProtocol":       func(v yamldoc.Value) { s.CloneProtocol = d.Enum(v, "ssh", "https").Value },
		"requeueAfterSeconds": d.requeue(&s.RequeueAfterSeconds), "values": d.texts(&s.Values), "template": d.ofGenerator(&s.Template, depth),
	})
	d.host(v, "github", "gitlab", "gitea", "bitbucket", "bitbucketServer", "azureDevOps", "awsCodeCommit")
	return s
}

func pullRequests(d decoder, v yamldoc.Value, depth int) appset.PullRequests {
	var p appset.PullRequests
	d.Fields(v, document.Keys{
		"github": part(d, &p.GitHub, func(d decoder, v yamldoc.Value) appset.RepositoryGitHub {
			var r appset.RepositoryGitHub
			d.Fields(v, document.Keys{
				"owner": d.text(&r.Owner), "repo": d.text(&r.Repo), "api": d.text(&r.API), "tokenRef": part(d, &r.TokenRef, secretKey), "appSecretName": d.text(&r.AppSecretName), "labels": d.words(&r.Labels),
			})
			d.Need(v, "owner", "repo")
			return r
		}),
		"gitlab": part(d, &p.GitLab, func(d decoder, v yamldoc.Value) appset.RepositoryGitLab {
			var r appset.RepositoryGitLab
			d.Fields(v, document.Keys{
				"project": d.text(&r.Project), "api": d.text(&r.API), "tokenRef": part(d, &r.TokenRef, secretKey), "labels": d.words(&r.Labels),
				"pullRequestState": func(v yamldoc.Value) {
					if !d.Blank(v) {
						r.PullRequestState = d.Enum(v, "opened", "closed", "merged", "locked").Value
					}
				},
				"insecure": d.flag(&r.Insecure), "caRef": part(d, &r.CARef, configMapKey),
			})
			d.Need(v, "project")
			return r
		}),
		"gitea": part(d, &p.Gitea, func(d decoder, v yamldoc.Value) appset.RepositoryGitea {
			var r appset.RepositoryGitea
			d.Fields(v, document.Keys{
				"owner": d.text(&r.Owner), "repo": d.text(&r.Repo), "api": d.text(&r.API), "tokenRef": part(d, &r.TokenRef, secretKey), "insecure": d.flag(&r.Insecure), "labels": d.words(&r.Labels),
			})
			d.Need(v, "owner", "repo", "api")
			return r
		}),
		"bitbucket": part(d, &p.Bitbucket, func(d decoder, v yamldoc.Value) appset.RepositoryBitbucket {
			var r appset.RepositoryBitbucket
			d.Fields(v, document.Merge(passwords(d, &r.BasicAuth, &r.BearerToken), document.Keys{"owner": d.text(&r.Owner), "repo": d.text(&r.Repo), "api": d.text(&r.API)}))
			d.Need(v, "owner", "repo")
			return r
		}),
		"bitbucketServer": part(d, &p.BitbucketServer, func(d decoder, v yamldoc.Value) appset.RepositoryBitbucketServer {
			var r appset.RepositoryBitbucketServer
			d.Fields(v, document.Merge(passwords(d, &r.BasicAuth, &r.BearerToken), document.Keys{
				"project": d.text(&r.Project), "repo": d.text(&r.Repo), "api": d.text(&r.API), "insecure": d.flag(&r.Insecure), "caRef": part(d, &r.CARef, configMapKey),
			}))
			d.Need(v, "project", "repo", "api")
			return r
		}),
		"azuredevops": part(d, &p.AzureDevOps, func(d decoder, v yamldoc.Value) appset.RepositoryAzureDevOps {
			var r appset.RepositoryAzureDevOps
			d.Fields(v, document.Keys{
				"organization": d.text(&r.Organization), "project": d.text(&r.Project), "repo": d.text(&r.Repo), "api": d.text(&r.API), "tokenRef": part(d, &r.TokenRef, secretKey),
				"labels": d.words(&r.Labels),
			})
			d.Need(v, "organization", "project", "repo")
			return r
		}),
		"filters": list(d, &p.Filters, func(d decoder, v yamldoc.Value) appset.PullRequestFilter {
			var f appset.PullRequestFilter
			d.Fields(v, document.Keys{"branchMatch": d.expression(&f.BranchMatch), "targetBranchMatch": d.expression(&f.TargetBranchMatch), "titleMatch": d.expression(&f.TitleMatch)})
			return f
		}),
		"continueOnRepoNotFoundError": d.flag(&p.ContinueOnRepoNotFoundError),
		"requeueAfterSeconds":         d.requeue(&p.RequeueAfterSeconds), "values": d.texts(&p.Values), "template": d.ofGenerator(&p.Template, depth),
	})
	d.host(v, "github", "gitlab", "gitea", "bitbucket", "bitbucketServer", "azuredevops")
	return p
}

func decisions(d decoder, v yamldoc.Value, depth int) appset.Decisions {
	var c appset.Decisions
	d.Fields(v, document.Keys{
		"configMapRef": d.text(&c.ConfigMapRef), "name": d.text(&c.Name), "labelSelector": whole(d, &c.LabelSelector, selector),
		"requeueAfterSeconds": d.requeue(&c.RequeueAfterSeconds), "values": d.texts(&c.Values), "template": d.ofGenerator(&c.Template, depth),
	})
	d.Need(v, "configMapRef")
	if v.Is(yamldoc.Mapping) && (c.Name == "") == c.LabelSelector.Empty() {
		d.Errorf(v, document.WrongValue, "it has name and labelSelector, or neither; want one of them")
	}
	return c
}

func pluginGenerator(d decoder, v yamldoc.Value, depth int) appset.Plugin {
	var p appset.Plugin
	d.Fields(v, document.Keys{
		"configMapRef": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"name": d.text(&p.ConfigMapRef.Name)})
			d.Need(v, "name")
		},
		"input": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"parameters": func(v yamldoc.Value) {
				for value := range d.Mapping(v) { // its keys are anybody's
					var raw json.RawMessage
					d.raw(&raw)(value)
					if p.Input.Parameters == nil {
						p.Input.Parameters = map[string]json.RawMessage{}
					}
					p.Input.Parameters[value.Key] = raw
				}
			}})
		},
		"requeueAfterSeconds": d.requeue(&p.RequeueAfterSeconds), "values": d.texts(&p.Values), "template": d.ofGenerator(&p.Template, depth),
	})
	d.Need(v, "configMapRef")
	return p
}
