package resolve

import (
	"errors"
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// probeCluster asks a cluster who asks.
func probeCluster(p *probing) error {
	c, err := p.cluster(p.doc)
	p.out.Cluster = &c
	return err
}

// probeDockerRegistry logs in to a registry of images.
func probeDockerRegistry(p *probing) error {
	at := text(p.spec.Get("dockerRegistryUrl"))
	p.out.Registry = &task.Server{URL: serverURL(at, registryHost(at))}
	return p.registryLogin(p.spec.Get("auth"), p.out.Registry)
}

// probeChartRegistry logs in to a registry of charts.
func probeChartRegistry(p *probing) error {
	at := strings.TrimPrefix(text(p.spec.Get("helmRepoUrl")), "oci://")
	p.out.Registry = &task.Server{URL: serverURL(at, registryHost(at))}
	return p.registryLogin(p.spec.Get("auth"), p.out.Registry)
}

// probeChartRepository reads the index of a repository of charts.
func probeChartRepository(p *probing) error {
	p.out.Charts = &task.Server{URL: strings.TrimSuffix(text(p.spec.Get("helmRepoUrl")), "/")}
	return p.registryLogin(p.spec.Get("auth"), p.out.Charts)
}

// probeJira asks Jira who the connector is.
func probeJira(p *probing) error { return p.requests("jiraUrl", "/rest/api/2/myself", false) }

// probeServiceNow asks for a user, of which those who may see none get an empty
// list.
func probeServiceNow(p *probing) error {
	return p.requests("serviceNowUrl", "/api/now/table/sys_user?sysparm_limit=1&sysparm_fields=sys_id", true)
}

// probeJenkins asks for what everybody may see who may read anything.
func probeJenkins(p *probing) error { return p.requests("jenkinsUrl", "/api/json?tree=mode", false) }

// probeBamboo asks Bamboo who the connector is.
func probeBamboo(p *probing) error {
	return p.requests("bambooUrl", "/rest/api/latest/currentUser", false)
}

// probeNexus lists the repositories that the connector may see.
func probeNexus(p *probing) error {
	return p.requests("nexusServerUrl", "/service/rest/v1/repositories", true)
}

// probeArtifactory lists the repositories.
func probeArtifactory(p *probing) error {
	return p.requests("artifactoryServerUrl", "/api/repositories", true)
}

// requests proves by one request to an HTTP API that the connector is let in.
func (p *probing) requests(urlKey, path string, lists bool) error {
	server := task.Server{URL: text(p.spec.Get(urlKey))}
	auth := p.spec.Get("auth")
	kind, credentials := text(auth.Get("type")), auth.Get("spec")
	if auth == nil { // as connectors were before they had types of authentication
		kind, credentials = "UsernamePassword", p.spec
	}
	err := p.credentials(kind, credentials, &server)
	p.out.Requests = &task.RequestsProbe{Server: server, Path: path, Lists: lists}
	return err
}

// probeRancher lists Rancher's clusters.
func probeRancher(p *probing) error {
	at := p.spec.At("credential", "spec")
	token, err := p.secretAt(at.At("auth", "spec", "passwordRef"))
	server := task.Server{URL: text(at.Get("rancherUrl")), Auth: task.AuthBearer, Token: token}
	p.out.Requests = &task.RequestsProbe{Server: server, Path: "/v3/clusters?limit=1", Lists: true}
	return err
}

// probeAWS asks AWS who the connector is.
func probeAWS(p *probing) error {
	account, err := p.awsAccess(p.doc, "")
	p.out.AWS = &task.AWSProbe{AWS: account}
	return err
}

// probeGoogle asks Google Cloud for a token.
func probeGoogle(p *probing) (err error) {
	p.out.Google, err = p.google(p.doc)
	return err
}

// probeAzure asks Microsoft Entra for a token.
func probeAzure(p *probing) (err error) {
	p.out.Azure, err = p.azure(p.doc)
	return err
}

// probeGit reads the branches of the connector's repository; of an account's or
// a project's, those of its validationRepo.
func probeGit(p *probing) error {
	sample := text(p.spec.Get("validationRepo"))
	g := task.GitProbe{Git: task.Git{URL: repository(p.doc, sample)}}
	level := text(p.spec.Get("connectionType"))
	if level == "" {
		level = text(p.spec.Get("type"))
	}
	g.Whole = (level == "Account" || level == "Project") && sample == ""
	var err error
	if g.API, err = p.gitAPI(); err != nil {
		return err
	}
	err = p.gitAccess(p.doc, &g.Git)
	p.out.Git = &g
	return err
}

// gitAPI asks the API of a Git host who the connector is; nil if it has no
// access to it that could be used.
func (p *probing) gitAPI() (*task.RequestsProbe, error) {
	access := p.spec.Get("apiAccess")
	at, err := url.Parse(text(p.spec.Get("url")))
	if access == nil || err != nil || at.Host == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	token, err := p.secretAt(access.At("spec", "tokenRef"))
	if err != nil || token == "" {
		return nil, err
	}
	r := &task.RequestsProbe{Server: task.Server{URL: at.Scheme + "://" + at.Host, Auth: task.AuthBearer, Token: token}}
	switch typ, kind := text(p.doc.Get("type")), text(access.Get("type")); {
	case typ == "Github" && kind == "Token" && at.Host == "github.com":
		r.Server.URL, r.Path = "https://api.github.com", "/user"
	case typ == "Github" && kind == "Token":
		r.Path = "/api/v3/user"
	case typ == "Gitlab" && kind == "Token":
		r.Path = "/api/v4/user"
	case typ == "AzureRepo" && kind == "Token":
		organization, _, _ := strings.Cut(strings.Trim(at.Path, "/"), "/")
		r.Server.Auth, r.Server.Token, r.Server.Password = task.AuthBasic, "", token
		r.Path = "/" + url.PathEscape(organization) + "/_apis/projects?api-version=7.0&$top=1"
	default:
		return nil, nil //nolint:nilnil // it isn't known how
	}
	return r, nil
}

// manager is the fetching of secrets that the connector stands for.
func (p *probing) manager() fetching {
	return fetching{Scope: p.Scope, secret: p.name, spec: &yamldoc.Node{Kind: yamldoc.Mapping}, manager: p.name, connector: p.spec}
}

// probeAWSSecrets asks AWS who the connector is, and for the names of secrets.
func probeAWSSecrets(p *probing) error {
	f := p.manager()
	p.out.AWS = &task.AWSProbe{Secrets: true}
	return f.aws(&p.out.AWS.AWS)
}

// probeVault logs in to Vault.
func probeVault(p *probing) error {
	f := p.manager()
	p.out.Vault = &task.VaultSecret{}
	return f.vault(p.out.Vault)
}

// probeCustomSecrets runs the script of a secret manager, if its inputs don't
// come from the secrets.
func probeCustomSecrets(p *probing) error {
	f := p.manager()
	err := f.custom()
	if errors.Is(err, errNoInput) {
		p.out.Untested = err.Error() + " of its template but in its secrets, and which of them to ask for isn't known; a step that uses one tests the connector"
		return nil
	}
	p.out.Script, p.selectors = f.out.Script, f.selectors
	return err
}
