package probe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/identity"
	prober "github.com/slipway-cd/slipway/delegate/probe"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/internal/gitserver"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testport"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// examine tests a connector and gives the status with a line for each check,
// e.g. "SUCCESS\nlogin ok: ...".
func examine(t *testing.T, cfg prober.Config, p probe.Spec) string {
	t.Helper()
	env := executortest.New(t, nil)
	ctx := identity.With(t.Context(), func(context.Context, string) (string, error) { return "eyToken", nil })
	r, err := prober.New(cfg)(ctx, executortest.Assignment(t, task.KindProbe, p), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	found, err := probe.Read(r.Outputs)
	if err != nil || found == nil || r.Status != task.Succeeded {
		t.Fatalf("%s: %s, %v", r.Status, r.Outputs, err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, found.Status)
	for _, c := range found.Checks {
		fmt.Fprintf(&b, "%s %s: %s\n", c.Name, map[bool]string{true: "ok", false: "failed"}[c.OK], c.Message)
	}
	return b.String()
}

// want fails unless a test came to a status, and said something: all lines that
// are given, in any order; one that begins with "no " must be missing.
func want(t *testing.T, got, status string, lines ...string) {
	t.Helper()
	if !strings.HasPrefix(got, status+"\n") {
		t.Errorf("want %s; got %s", status, got)
	}
	for _, line := range lines {
		if absent, no := strings.CutPrefix(line, "no "); no && strings.Contains(got, absent) || !no && !strings.Contains(got, line) {
			t.Errorf("want %q in\n%s", line, got)
		}
	}
	for _, secret := range []string{testservers.Password, "opensesame"} {
		if strings.Contains(got, secret) {
			t.Errorf("the secret is in\n%s", got)
		}
	}
}

// login is a server with credentials.
func login(url, password string) task.Server {
	return task.Server{URL: url, Auth: task.AuthBasic, Username: testservers.Username, Password: password}
}

func TestRegistries(t *testing.T) {
	t.Parallel()
	locked, open := testservers.NewImages(t, true), testservers.NewImages(t, false)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	t.Cleanup(page.Close)
	for name, tt := range map[string]struct {
		server task.Server
		status string
		lines  []string
	}{
		"credentials":        {login(locked.URL, testservers.Password), "SUCCESS", []string{"reach ok: " + locked.Host + " takes connections", "login ok: " + locked.URL + " lets user robot@example.com in"}},
		"nobody":             {task.Server{URL: open.URL, Auth: task.AuthNone}, "SUCCESS", []string{"login ok: " + open.URL + " answers, and asks for no login"}},
		"a wrong password":   {login(locked.URL, "opensesame"), "FAILURE", []string{"login failed: " + locked.URL + " doesn't let user robot@example.com in (GET /v2/: status 401): the credentials are wrong"}},
		"nobody, but locked": {task.Server{URL: locked.URL, Auth: task.AuthNone}, "FAILURE", []string{"login failed:", "no tls"}},
		"not over TLS":       {login("https://"+locked.Host, testservers.Password), "FAILURE", []string{"reach ok", "tls failed: " + locked.Host + " doesn't speak TLS at this port; the URL may have to begin with http://"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, examine(t, prober.Config{}, probe.Spec{Registry: &tt.server}), tt.status, tt.lines...)
		})
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	with := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	const jira, now, jenkins, bamboo = "/rest/api/2/myself", "/api/now/table/sys_user?sysparm_limit=1&sysparm_fields=sys_id", "/api/json?tree=mode", "/rest/api/latest/currentUser"
	for name, tt := range map[string]struct {
		url, password, path string
		lists               bool
		status, line        string
	}{
		"Jira":                        {testservers.NewJira(t).URL, testservers.Password, jira, false, "SUCCESS", "lets user robot@example.com in"},
		"Jira, a wrong password":      {testservers.NewJira(t).URL, "opensesame", jira, false, "FAILURE", "login failed: http://127.0.0.1"},
		"ServiceNow":                  {testservers.NewServiceNow(t).URL, testservers.Password, now, true, "SUCCESS", "login ok"},
		"Jenkins":                     {testservers.NewJenkins(t).URL, testservers.Password, jenkins, false, "SUCCESS", "login ok"},
		"Jenkins, a wrong password":   {testservers.NewJenkins(t).URL, "opensesame", jenkins, false, "FAILURE", "(GET /api/json: status 401)"},
		"Bamboo":                      {testservers.NewBamboo(t).URL, testservers.Password, bamboo, false, "SUCCESS", "login ok"},
		"a page to log in":            {with(200, "<html>Sign in"), "x", jira, false, "FAILURE", "answer failed: GET /rest/api/2/myself of http://127.0.0.1"},
		"another path":                {testservers.NewJira(t).URL + "/jira", testservers.Password, jira, false, "FAILURE", "answer failed: http"},
		"may not read":                {with(403, "{}"), "x", jenkins, false, "FAILURE", "permission failed: user robot@example.com may not read"},
		"may not list":                {with(403, "{}"), "x", "/api/repositories", true, "PARTIAL", "permission failed: user robot@example.com may not list"},
		"has had too many requests":   {with(429, "{}"), "x", jira, false, "UNKNOWN", "test again later"},
		"a server that is broken now": {with(500, "{}"), "x", jira, false, "FAILURE", "status 500 Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, examine(t, prober.Config{}, probe.Spec{Requests: &probe.Requests{Server: login(tt.url, tt.password), Path: tt.path, Lists: tt.lists}}), tt.status, tt.line)
		})
	}
}

func TestChartRepositories(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/charts/index.yaml", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != testservers.Username || password != testservers.Password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "apiVersion: v1\nentries: {}\n")
	})
	mux.HandleFunc("/page/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	for name, tt := range map[string]struct{ path, password, status, line string }{
		"an index":         {"/charts", testservers.Password, "SUCCESS", "login ok"},
		"a wrong password": {"/charts", "opensesame", "FAILURE", "login failed: " + s.URL + "/charts doesn't let user"},
		"no index":         {"/page", "x", "FAILURE", "answer failed: " + s.URL + "/page/index.yaml isn't the index"},
		"nothing there":    {"/other", "x", "FAILURE", "answer failed: " + s.URL + "/other has no /index.yaml (status 404)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := login(s.URL+tt.path, tt.password)
			want(t, examine(t, prober.Config{}, probe.Spec{Charts: &server}), tt.status, tt.line)
		})
	}
}

// silent is a host that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String() // the system takes connections that nobody accepts
}

// TestHostsThatCantBeReached: the first check that fails says why, and none
// comes after it.
func TestHostsThatCantBeReached(t *testing.T) {
	t.Parallel()
	free, err := testport.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	quiet, closed := silent(t), free[0]
	foreign := httptest.NewUnstartedServer(nil)
	foreign.Config.ErrorLog = log.New(io.Discard, "", 0)
	foreign.StartTLS()
	t.Cleanup(foreign.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, "SSH-2.0-x\r\n")
			_ = c.Close()
		}
	}))
	t.Cleanup(other.Close)
	for name, tt := range map[string]struct{ url, want string }{
		"a name that isn't known":       {"https://registry.invalid", "FAILURE\nresolve failed: the name registry.invalid isn't known where the delegate runs ("},
		"a port where nothing is":       {"https://" + closed, "FAILURE\nreach failed: nothing listens at " + closed + " (connection refused)"},
		"a host that hangs before TLS":  {"https://" + quiet, "FAILURE\nreach ok: " + quiet + " takes connections\ntls failed: " + quiet + " takes connections but shows no certificate in 1s"},
		"a host that hangs":             {"http://" + quiet, "FAILURE\nreach ok: " + quiet + " takes connections\nanswer failed: " + quiet + " takes connections but gives no answer in 1s"},
		"a certificate nobody trusts":   {foreign.URL, "tls failed: the certificate of " + strings.TrimPrefix(foreign.URL, "https://") + " is of an authority that this delegate doesn't trust"},
		"what doesn't speak HTTP":       {other.URL, "answer failed: " + strings.TrimPrefix(other.URL, "http://") + " doesn't speak HTTP"},
		"a URL with a password in it":   {"http://u:opensesame@" + closed, "FAILURE\nreach failed: nothing listens at " + closed},
		"TLS where there is only plain": {"https://" + strings.TrimPrefix(other.URL, "http://"), "tls failed: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := login(tt.url, testservers.Password)
			for kind, p := range map[string]probe.Spec{
				"requests": {Requests: &probe.Requests{Server: server, Path: "/x"}},
				"charts":   {Charts: &server},
				"git":      {Git: &probe.Git{Git: task.Git{URL: tt.url + "/a.git"}}},
				"cluster":  {Cluster: &task.Cluster{URL: tt.url, Token: "opensesame"}},
			} {
				patience := time.Minute
				if strings.HasSuffix(tt.want, " in 1s") { // all of it passes
					patience = time.Second
				}
				began := time.Now()
				got := examine(t, prober.Config{Patience: patience, Git: gitfetch.New(t.TempDir(), gitfetch.HostKeys{})}, p)
				if !strings.Contains(got, tt.want) || strings.Count(got, "failed:") != 1 || strings.Contains(got, "opensesame") || strings.Contains(got, testservers.Password) {
					t.Errorf("%s, in %s: want %q in\n%s", kind, time.Since(began), tt.want, got)
				}
			}
		})
	}
}

// repository is a Git host with one repository, which a password opens.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	folder := filepath.Join(root, "files")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte("a: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	if err := gitserver.Repository(t.Context(), filepath.Join(root, "app.git"), folder, "main"); err != nil {
		t.Fatal(err)
	}
	backend, err := gitserver.Handler(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v4/user" {
			if r.Header.Get("Authorization") != "Bearer "+testservers.Password {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = io.WriteString(w, `{"username":"robot"}`)
			return
		}
		if user, password, _ := r.BasicAuth(); user != testservers.Username || password != testservers.Password {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestGitHosts(t *testing.T) {
	t.Parallel()
	url := repository(t)
	of := func(name, password string) task.Git {
		return task.Git{URL: url + "/" + name, Username: testservers.Username, Password: password}
	}
	api := func(token string) *probe.Requests {
		return &probe.Requests{Server: task.Server{URL: url, Auth: task.AuthBearer, Token: token}, Path: "/api/v4/user"}
	}
	for name, tt := range map[string]struct {
		git    probe.Git
		status string
		line   string
	}{
		"a repository":             {probe.Git{Git: of("app.git", testservers.Password)}, "SUCCESS", "login ok: " + url + "/app.git lets user robot@example.com read it"},
		"a wrong password":         {probe.Git{Git: of("app.git", "opensesame")}, "FAILURE", "login failed: " + url + "/app.git doesn't let user robot@example.com in"},
		"nobody in particular":     {probe.Git{Git: task.Git{URL: url + "/app.git"}}, "FAILURE", "login failed:"},
		"a repository that isn't":  {probe.Git{Git: of("other.git", testservers.Password)}, "FAILURE", "permission failed: the host shows user robot@example.com no repository " + url + "/other.git"},
		"an account":               {probe.Git{Git: of("", testservers.Password), Whole: true}, "UNKNOWN", "name one by validationRepo"},
		"an account with its API":  {probe.Git{Git: of("", testservers.Password), Whole: true, API: api(testservers.Password)}, "SUCCESS", "login ok: " + url + " lets the connector in"},
		"another token of the API": {probe.Git{Git: of("app.git", testservers.Password), API: api("opensesame")}, "FAILURE", "login failed: " + url + " doesn't let the connector in (GET /api/v4/user"},
		"a folder of the delegate": {probe.Git{Git: task.Git{URL: "/etc"}}, "FAILURE", "configuration failed:"},
		"SSH, a name not known":    {probe.Git{Git: task.Git{URL: "git@git.invalid:app.git", SSHKey: "x"}}, "FAILURE", "resolve failed: the name git.invalid isn't known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, examine(t, prober.Config{Git: gitfetch.New(t.TempDir(), gitfetch.HostKeys{})}, probe.Spec{Git: &tt.git}), tt.status, tt.line)
		})
	}
}

func TestAWS(t *testing.T) {
	t.Parallel()
	endpoint := config.WithBaseEndpoint(testaws.Moto(t, testaws.NewHost(t)))
	keys := task.AWS{Auth: task.AWSKeys, AccessKey: "test", SecretKey: "opensesame", Region: "eu-central-1"}
	role := keys
	role.Role = "arn:aws:iam::210987654321:role/deployer"
	nowhere := keys
	nowhere.Region = ""
	for name, tt := range map[string]struct {
		aws  probe.AWS
		line string
	}{
		"keys":      {probe.AWS{AWS: keys}, "region eu-central-1"},
		"a role":    {probe.AWS{AWS: role}, "login ok: account 210987654321, arn:aws:sts::210987654321:assumed-role/deployer/slipway-delegate"},
		"no region": {probe.AWS{AWS: nowhere}, "region us-east-1"},
		"secrets":   {probe.AWS{AWS: keys, Secrets: true}, "permission ok: it may list the secrets of Secrets Manager in eu-central-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, examine(t, prober.Config{AWS: []func(*config.LoadOptions) error{endpoint}}, probe.Spec{AWS: &tt.aws}), "SUCCESS", "login ok: account ", tt.line)
		})
	}
}

// TestAWSRefuses: what AWS documents that it says.
func TestAWSRefuses(t *testing.T) {
	t.Parallel()
	says := func(wanted, status, code, message string) func(*config.LoadOptions) error {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			if r.Header.Get("X-Amz-Target") == "secretsmanager."+wanted {
				w.Header().Set("Content-Type", "application/x-amz-json-1.1")
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "Message": message})
				return
			}
			if action := r.Form.Get("Action"); action == "AssumeRoleWithWebIdentity" && r.Form.Get("WebIdentityToken") == "eyToken" && action != wanted {
				_, _ = io.WriteString(w, `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`)
				return
			}
			if r.Form.Get("Action") != wanted {
				_, _ = io.WriteString(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::1:user/u</Arn><Account>1</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
				return
			}
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>`, code, message)
		}))
		t.Cleanup(s.Close)
		return config.WithBaseEndpoint(s.URL)
	}
	keys := task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "opensesame", Region: "eu-central-1"}
	role := keys
	role.Role = "arn:aws:iam::210987654321:role/deployer"
	web := task.AWS{Auth: task.AWSOIDC, Region: "eu-central-1", Web: &task.AWSWeb{
		Role: "arn:aws:iam::210987654321:role/deployer", Identity: "aws", Subject: "account:default:org:shop:project:web",
	}}
	both := web
	both.Role = "arn:aws:iam::333333333333:role/target"
	for name, tt := range map[string]struct {
		aws                           probe.AWS
		action, code, message, status string
		line                          string
	}{
		"wrong keys":       {probe.AWS{AWS: keys}, "GetCallerIdentity", "SignatureDoesNotMatch", "The request signature we calculated does not match", "FAILURE", "login failed: AWS doesn't let the connector in (SignatureDoesNotMatch: The request"},
		"not in the role":  {probe.AWS{AWS: role}, "AssumeRole", "AccessDenied", "User u is not authorized to perform sts:AssumeRole", "FAILURE", "permission failed: the role arn:aws:iam::210987654321:role/deployer can't be assumed (AccessDenied: User u"},
		"no provider":      {probe.AWS{AWS: web}, "AssumeRoleWithWebIdentity", "InvalidIdentityToken", "No OpenIDConnect provider found in your account for https://slipway.example.com/oidc/account/default", "FAILURE", "login failed: the account of the role arn:aws:iam::210987654321:role/deployer knows no issuer of this name (InvalidIdentityToken: No OpenIDConnect"},
		"not reachable":    {probe.AWS{AWS: web}, "AssumeRoleWithWebIdentity", "InvalidIdentityToken", "Couldn't retrieve verification key from your identity provider, please reference AssumeRoleWithWebIdentity documentation for requirements", "FAILURE", "reach failed: AWS can't fetch the keys of this server's issuer of tokens (InvalidIdentityToken: Couldn't retrieve"},
		"no answer there":  {probe.AWS{AWS: web}, "AssumeRoleWithWebIdentity", "IDPCommunicationError", "timed out", "FAILURE", "reach failed: AWS can't fetch the keys of this server's issuer of tokens (IDPCommunicationError: timed out)"},
		"its audience":     {probe.AWS{AWS: web}, "AssumeRoleWithWebIdentity", "InvalidIdentityToken", "Incorrect token audience", "FAILURE", "login failed: the IAM OIDC identity provider isn't for the audience sts.amazonaws.com"},
		"a wrong clock":    {probe.AWS{AWS: web}, "AssumeRoleWithWebIdentity", "ExpiredTokenException", "Token expired", "FAILURE", "login failed: AWS doesn't take the token of this server (ExpiredTokenException: Token expired)"},
		"another subject":  {probe.AWS{AWS: web}, "AssumeRoleWithWebIdentity", "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", "FAILURE", "for the subject account:default:org:shop:project:web"},
		"the second role":  {probe.AWS{AWS: both}, "AssumeRole", "AccessDenied", "User u is not authorized to perform: sts:AssumeRole on resource", "FAILURE", "permission failed: the role arn:aws:iam::333333333333:role/target can't be assumed"},
		"may not list any": {probe.AWS{AWS: keys, Secrets: true}, "ListSecrets", "AccessDeniedException", "User u may not", "PARTIAL", "permission failed: it may not list secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, examine(t, prober.Config{AWS: []func(*config.LoadOptions) error{says(tt.action, "", tt.code, tt.message)}}, probe.Spec{AWS: &tt.aws}), tt.status, tt.line)
		})
	}
}

func TestGoogleAndAzure(t *testing.T) {
	t.Parallel()
	c := testservers.NewCloud(t)
	cfg := prober.Config{Via: testservers.Reroute{"oauth2.googleapis.com": c.URL, "login.microsoftonline.com": c.URL}}
	for name, tt := range map[string]struct {
		p            probe.Spec
		status, line string
	}{
		"a key of Google's":            {probe.Spec{Google: &task.Google{Key: c.Key}}, "SUCCESS", "login ok: Google Cloud gives a token, of project acme-prod"},
		"a key that was deleted":       {probe.Spec{Google: &task.Google{Key: strings.Replace(c.Key, "deployer@", "other@", 1)}}, "FAILURE", "login failed: Google doesn't let the connector in: invalid_grant Invalid JWT"},
		"what isn't a key":             {probe.Spec{Google: &task.Google{Key: "opensesame"}}, "FAILURE", "configuration failed: the secret of the Gcp connector isn't the JSON key"},
		"an application of Azure":      {probe.Spec{Azure: &task.Azure{Tenant: testservers.CloudTenant, Client: testservers.CloudClient, Secret: testservers.Password}}, "SUCCESS", "login ok: Microsoft Entra gives application client-1 of tenant tenant-1 a token"},
		"a wrong secret":               {probe.Spec{Azure: &task.Azure{Tenant: testservers.CloudTenant, Client: testservers.CloudClient, Secret: "opensesame"}}, "FAILURE", "login failed: login.microsoftonline.com gave no token: status 401 invalid_client"},
		"a certificate that isn't one": {probe.Spec{Azure: &task.Azure{Tenant: testservers.CloudTenant, Client: testservers.CloudClient, Certificate: "opensesame"}}, "FAILURE", "configuration failed: the certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, examine(t, cfg, tt.p), tt.status, tt.line)
		})
	}
}

// TestSpot: who may not list the groups of the account can't deploy any.
func TestSpot(t *testing.T) {
	t.Parallel()
	spot := testservers.NewSpot(t)
	cfg := prober.Config{Via: testservers.Reroute{testservers.SpotHost: spot.URL}}
	for name, tt := range map[string]struct{ token, account, status, line string }{
		"let in":          {testservers.SpotToken, testservers.SpotAccount, "SUCCESS", "login ok: https://api.spotinst.io lets the connector in"},
		"another token":   {"opensesame", testservers.SpotAccount, "FAILURE", "login failed: https://api.spotinst.io doesn't let the connector in (GET /aws/ec2/group: status 401)"},
		"another account": {testservers.SpotToken, "act-2", "FAILURE", "permission failed: the connector may not read (GET /aws/ec2/group of https://api.spotinst.io: status 403)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := task.Server{URL: "https://" + testservers.SpotHost, Auth: task.AuthBearer, Token: tt.token, Account: tt.account}
			want(t, examine(t, cfg, probe.Spec{Requests: &probe.Requests{Server: server, Path: "/aws/ec2/group?accountId=" + tt.account}}), tt.status, tt.line)
		})
	}
}

// TestVault: "Lookup a token (self)" of the token engine, and what Vault's own
// pages ask of a mount.
func TestVault(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	reads := func(data string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Vault-Token") != "opensesame" || data == "" {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `{"errors":["permission denied"]}`)
				return
			}
			_, _ = io.WriteString(w, `{"data":`+data+`}`)
		}
	}
	mux.HandleFunc("GET /v1/auth/token/lookup-self", reads(`{"policies":["default","deploy"]}`))
	mux.HandleFunc("GET /v1/sys/internal/ui/mounts/kv", reads(`{"type":"kv","options":{"version":"2"}}`))
	mux.HandleFunc("GET /v1/sys/internal/ui/mounts/old", reads(`{"type":"kv","options":null}`))
	mux.HandleFunc("GET /v1/sys/internal/ui/mounts/hidden", reads(""))
	mux.HandleFunc("POST /v1/auth/approle/login", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"errors":["invalid role or secret ID"]}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	base := task.VaultSecret{URL: s.URL, Engine: "kv", Version: 2, Token: "opensesame"}
	for name, tt := range map[string]struct {
		change       func(*task.VaultSecret)
		status, line string
	}{
		"a token":            {func(*task.VaultSecret) {}, "SUCCESS", "login ok: Vault lets the connector in, with the policies [default deploy]"},
		"the first engine":   {func(v *task.VaultSecret) { v.Engine, v.Version = "old", 1 }, "SUCCESS", "permission ok: the engine old is of version 1"},
		"another version":    {func(v *task.VaultSecret) { v.Version = 1 }, "FAILURE", "configuration failed: the engine kv is of version 2; the connector's secretEngineVersion is 1"},
		"a hidden engine":    {func(v *task.VaultSecret) { v.Engine = "hidden" }, "PARTIAL", "permission failed: no policy of the token is for the engine hidden"},
		"another token":      {func(v *task.VaultSecret) { v.Token = "x" }, "FAILURE", "login failed: Vault doesn't let the connector in (GET /v1/auth/token/lookup-self: status 403"},
		"another AppRole":    {func(v *task.VaultSecret) { v.Token, v.RoleID, v.SecretID = "", "r", "s" }, "FAILURE", "login failed: Vault doesn't let the connector in (POST /v1/auth/approle/login: status 400"},
		"an agent's sink":    {func(v *task.VaultSecret) { v.Token, v.SinkPath = "", "/nowhere" }, "FAILURE", "login failed: read the delegate's token for Vault"},
		"what isn't Vault's": {func(v *task.VaultSecret) { v.URL += "/other" }, "FAILURE", "answer failed: " + s.URL + "/other has no /other/v1/auth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := base
			tt.change(&v)
			want(t, examine(t, prober.Config{}, probe.Spec{Vault: &v}), tt.status, tt.line)
		})
	}
}

func TestScriptsOfManagers(t *testing.T) {
	t.Parallel()
	cfg := prober.Config{Script: shell.New(os.Environ(), t.TempDir())}
	for name, tt := range map[string]struct{ script, status, line string }{
		"a secret":        {"secret=opensesame; echo $secret", "SUCCESS", "login ok: the manager's script gives a secret"},
		"no secret":       {"true", "FAILURE", `login failed: the manager's script: secret output variable "secret" is empty`},
		"one that failed": {"exit 3", "FAILURE", "login failed: the manager's script: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := &task.Shell{Shell: "Bash", Script: tt.script, Outputs: []task.ShellOutput{{Name: "secret", Variable: "secret", Secret: true}}}
			want(t, examine(t, cfg, probe.Spec{Script: script}), tt.status, tt.line)
		})
	}
}

func TestWhatCantBeTested(t *testing.T) {
	t.Parallel()
	want(t, examine(t, prober.Config{}, probe.Spec{Untested: "there is nothing to ask"}), "UNKNOWN", "configuration failed: there is nothing to ask")
	want(t, examine(t, prober.Config{}, probe.Spec{Connector: "Quantum q"}), "UNKNOWN", "this delegate doesn't know how to test a Quantum q; it may be older than the control plane")
}
