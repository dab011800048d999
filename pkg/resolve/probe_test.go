package resolve_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// probed resolves a test in a project, over the entities of vaultEntities.
func probed(t *testing.T, name, document string) (task string, secrets map[string]string, selectors []string, err error) {
	t.Helper()
	s := vaultScope(t)
	p, err := s.Probe(name, document)
	if err != nil {
		return "", nil, nil, err
	}
	doc, err := json.Marshal(p.Task)
	if err != nil {
		t.Fatal(err)
	}
	text := string(doc)
	for placeholder, secret := range s.Secrets() {
		text = strings.ReplaceAll(text, placeholder, "⟦"+secret[strings.LastIndexAny(secret, "/:")+1:]+"⟧")
	}
	return text, s.Secrets(), p.Selectors, nil
}

// TestProbes: how a connector of each type is tested.
func TestProbes(t *testing.T) {
	t.Parallel()
	const (
		login  = `auth: {type: UsernamePassword, spec: {username: me, passwordRef: plain}}`
		server = `{"server":{"url":%q,"auth":"Basic","username":"me","password":"⟦plain⟧"},"path":%q%s}`
		lists  = `,"lists":true`
		git    = `authentication: {type: Http, spec: {type: UsernameToken, spec: {username: me, tokenRef: plain}}}`
	)
	tests := map[string][2]string{
		"K8sCluster":     {`credential: {type: ManualConfig, spec: {masterUrl: "https://k", auth: {type: ServiceAccount, spec: {serviceAccountTokenRef: plain, caCertRef: account.token}}}}`, `"cluster":{"url":"https://k","token":"⟦plain⟧","caPEM":"⟦token⟧"}`},
		"DockerRegistry": {`dockerRegistryUrl: "https://registry.hub.docker.com/v2/", providerType: DockerHub, ` + login, `"registry":{"url":"https://index.docker.io","auth":"Basic","username":"me","password":"⟦plain⟧"}`},
		"OciHelmRepo":    {`helmRepoUrl: "oci://r.example.com/charts", ` + login, `"registry":{"url":"https://r.example.com","auth":"Basic","username":"me","password":"⟦plain⟧"}`},
		"HttpHelmRepo":   {`helmRepoUrl: "https://r.example.com/charts/", auth: {type: Anonymous}`, `"charts":{"url":"https://r.example.com/charts","auth":"None"}`},
		"Jira":           {`jiraUrl: "https://j", ` + login, `"requests":` + fmt.Sprintf(server, "https://j", "/rest/api/2/myself", "")},
		"ServiceNow":     {`serviceNowUrl: "https://s", username: me, passwordRef: plain`, `"requests":` + fmt.Sprintf(server, "https://s", `/api/now/table/sys_user?sysparm_limit=1\u0026sysparm_fields=sys_id`, lists)},
		"Jenkins":        {`jenkinsUrl: "https://j", ` + login, `"requests":` + fmt.Sprintf(server, "https://j", "/api/json?tree=mode", "")},
		"Bamboo":         {`bambooUrl: "https://b", ` + login, `"requests":` + fmt.Sprintf(server, "https://b", "/rest/api/latest/currentUser", "")},
		"Nexus":          {`nexusServerUrl: "https://n", version: 3.x, ` + login, `"requests":` + fmt.Sprintf(server, "https://n", "/service/rest/v1/repositories", lists)},
		"Artifactory":    {`artifactoryServerUrl: "https://a/artifactory", ` + login, `"requests":` + fmt.Sprintf(server, "https://a/artifactory", "/api/repositories", lists)},
		"Rancher":        {`credential: {type: ManualConfig, spec: {rancherUrl: "https://r", auth: {type: BearerToken, spec: {passwordRef: plain}}}}`, `"requests":{"server":{"url":"https://r","auth":"Bearer","token":"⟦plain⟧"},"path":"/v3/clusters?limit=1","lists":true}`},
		"Aws":            {`credential: {type: ManualConfig, region: eu-central-1, spec: {accessKey: AKIA, secretKeyRef: plain}}`, `"aws":{"aws":{"auth":"ManualConfig","accessKey":"AKIA","secretKey":"⟦plain⟧","region":"eu-central-1"}}`},
		"Spot":           {`credential: {type: PermanentTokenConfig, spec: {spotAccountId: act-1, apiTokenRef: plain}}`, `"requests":{"server":{"url":"https://api.spotinst.io","auth":"Bearer","token":"⟦plain⟧","account":"act-1"}`},
		"Gcp":            {`credential: {type: ManualConfig, spec: {secretKeyRef: plain}}`, `"google":{"key":"⟦plain⟧"}`},
		"Azure":          {`azureEnvironmentType: AZURE, credential: {type: ManualConfig, spec: {applicationId: a, tenantId: t, auth: {type: Secret, spec: {secretRef: plain}}}}`, `"azure":{"tenant":"t","client":"a","secret":"⟦plain⟧"}`},
		"Git":            {`url: "https://g/team/app", connectionType: Repo, type: Http, spec: {username: me, passwordRef: plain}`, `"git":{"git":{"url":"https://g/team/app","paths":null,"username":"me","password":"⟦plain⟧"}}`},
		"Github":         {`url: "https://github.com/acme", type: Account, validationRepo: web, apiAccess: {type: Token, spec: {tokenRef: plain}}, ` + git, `"git":{"git":{"url":"https://github.com/acme/web","paths":null,"username":"me","password":"⟦plain⟧"},"api":{"server":{"url":"https://api.github.com","auth":"Bearer","token":"⟦plain⟧"},"path":"/user"}}`},
		"Gitlab":         {`url: "https://gitlab.example.com/acme", type: Account, apiAccess: {type: Token, spec: {tokenRef: plain}}, ` + git, `"git":{"git":{"url":"https://gitlab.example.com/acme","paths":null,"username":"me","password":"⟦plain⟧"},"whole":true,"api":{"server":{"url":"https://gitlab.example.com","auth":"Bearer","token":"⟦plain⟧"},"path":"/api/v4/user"}}`},
		"Bitbucket":      {`url: "https://bitbucket.org/acme", type: Account, ` + git, `"git":{"git":{"url":"https://bitbucket.org/acme","paths":null,"username":"me","password":"⟦plain⟧"},"whole":true}`},
		"AzureRepo":      {`url: "https://dev.azure.com/acme/shop", type: Project, validationRepo: web, apiAccess: {type: Token, spec: {tokenRef: plain}}, ` + git, `"git":{"git":{"url":"https://dev.azure.com/acme/shop/_git/web","paths":null,"username":"me","password":"⟦plain⟧"},"api":{"server":{"url":"https://dev.azure.com","auth":"Basic","password":"⟦plain⟧"},"path":"/acme/_apis/projects?api-version=7.0\u0026$top=1"}}`},
		"AwsSecretManager": {`region: eu-central-1, credential: {type: ManualConfig, spec: {accessKey: account.token, secretKey: plain}}`,
			`"aws":{"aws":{"auth":"ManualConfig","accessKey":"⟦token⟧","secretKey":"⟦plain⟧","region":"eu-central-1"},"secrets":true}`},
		"Vault":               {`vaultUrl: "https://v", secretEngineName: kv, authToken: plain`, `"vault":{"url":"https://v","engine":"kv","version":2,"path":"","key":"","token":"⟦plain⟧"}`},
		"CustomSecretManager": {`onDelegate: true, template: {templateRef: account.vault}`, `"untested":"there is no value for the input \"path\" of its template but in its secrets`},
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(builtin.Connectors().Names())), slices.Sorted(maps.Keys(tests))); diff != "" {
		t.Errorf("types (-that there are +tested):\n%s", diff)
	}
	for typ, tt := range tests {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			got, _, selectors, err := probed(t, "", "connector: {identifier: c, name: c, type: "+typ+", spec: {delegateSelectors: [near], "+tt[0]+"}}")
			want := strings.ReplaceAll(tt[1], `\\u0026`, `\u0026`)
			if err != nil || !strings.HasPrefix(got, `{"connector":"`+typ+` c",`+want) {
				t.Errorf("%v\n%s; want\n%s", err, got, want)
			}
			if !slices.Contains(selectors, "near") {
				t.Errorf("selectors %v", selectors)
			}
		})
	}
}

// TestProbesOfSavedConnectors are named as elsewhere.
func TestProbesOfSavedConnectors(t *testing.T) {
	t.Parallel()
	got, secrets, selectors, err := probed(t, "aws", "")
	if err != nil || !strings.Contains(got, `"accessKey":"⟦token⟧","secretKey":"⟦plain⟧"`) || len(secrets) != 2 || !slices.Equal(selectors, []string{"eu"}) {
		t.Errorf("%s, %v, %v, %v", got, secrets, selectors, err)
	}
	for name, want := range map[string]struct {
		document string
		code     fault.Code
		says     string
	}{
		"none":   {"", fault.NotFound, `connector "none" isn't in acme/default/web`},
		"a.b.c":  {"", fault.Invalid, `connector "a.b.c"`},
		"secret": {"secret: {identifier: x}", fault.Invalid, "found no connector"},
		"type":   {"connector: {identifier: x, type: Tas, spec: {}}", fault.Unsupported, "connectors of type Tas can't be tested yet"},
		"auth":   {"connector: {identifier: x, type: Jira, spec: {jiraUrl: 'https://j', auth: {type: OAuth, spec: {}}}}", fault.Invalid, `spec.auth.type: Jira authentication OAuth isn't supported yet; want one of UsernamePassword, PersonalAccessToken`},
		"expr":   {"connector: {identifier: x, type: Jira, spec: {jiraUrl: '<+pipeline.variables.none>', auth: {type: Anonymous}}}", fault.UnresolvedExpression, ""},
	} {
		if _, _, _, err := probed(t, name, want.document); fault.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: %v (%s); want %s (%s)", name, err, fault.CodeOf(err), want.says, want.code)
		}
	}
}
