package attack_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/wire"
	"github.com/slipway-cd/slipway/pkg/wire/function"
)

// row is what an operation of the API is tried with. What it comes to follows
// from the operation's action (pkg/access/action).
type row struct {
	body  string
	proof string // it has a proof of its own: the tests that try others
}

// rows has each operation of the API.
func rows() map[string]row {
	const (
		approval  = `{"action":"APPROVE"}`
		scimUser  = `{"userName":"eve@example.com"}`
		scimPatch = `{"Operations":[{"op":"replace","path":"displayName","value":"x"}]}`
	)
	return map[string]row{
		"readApprovalLink":               {proof: "internal/e2e/approvers_test.go: TestApprovalLinks; pkg/api/access_test.go: TestLinksAreKnownOrRefused"},
		"answerApprovalLink":             {body: approval, proof: "internal/e2e/approvers_test.go: TestApprovalLinks; pkg/api/access_test.go: TestLinksAreKnownOrRefused"},
		"listAudit":                      {},
		"listAuditStreams":               {},
		"registerDelegate":               {body: `{"id":"d1","name":"d"}`},
		"delegateGoodbye":                {},
		"claimTasks":                     {body: `{"max":1}`},
		"delegateHeartbeat":              {body: `{}`},
		"delegateSessions":               {body: `{}`},
		"observe":                        {body: `{}`},
		"readFiles":                      {body: `{}`},
		"appendLog":                      {body: `{}`},
		"releaseTask":                    {body: `{}`},
		"resolveTexts":                   {body: `{}`},
		"completeTask":                   {body: `{}`},
		"askErrand":                      {body: `{"do":"find"}`},
		"freshToken":                     {body: `{}`},
		"freshWatchToken":                {body: `{}`},
		"getIssuer":                      {proof: "internal/attack/issuer_test.go: TestTokensOfTasks; pkg/issuer/issuer_test.go: TestWhoHasNoIssuer"},
		"getIssuerKeys":                  {proof: "internal/attack/issuer_test.go: TestTokensOfTasks; pkg/issuer/issuer_test.go: TestKeysAreSealed"},
		"getIssuerStatus":                {},
		"rotateIssuerKeys":               {body: `{}`},
		"keepCheckpoint":                 {body: `{"key":"a","data":{}}`},
		"readCheckpoints":                {body: `{}`},
		"keepProvision":                  {body: `{"status":"begun","data":{}}`},
		"readProvisions":                 {body: `{}`},
		"watches":                        {body: `{}`},
		"listDelegates":                  {},
		"applyEntities":                  {body: `{"documents":[{"org":"default","project":"web","yaml":"x: 1"}]}`},
		"saveEntity":                     {body: echo},
		"listEntities":                   {},
		"deleteEntity":                   {},
		"getEntity":                      {},
		"getResolvedEntity":              {},
		"validateEntity":                 {body: echo},
		"listExecutions":                 {},
		"listWaiting":                    {},
		"getExecution":                   {},
		"abortExecution":                 {},
		"answerCallback":                 {body: approval},
		"getArtifactVersions":            {},
		"getDifferences":                 {},
		"watchExecution":                 {},
		"watchExecutions":                {},
		"makeLiveTicket":                 {},
		"answerApproval":                 {body: approval},
		"makeApprovalLink":               {body: `{}`},
		"listAttestations":               {},
		"getAttestationKeys":             {},
		"answerInputs":                   {body: `{}`},
		"intervene":                      {body: `{"action":"Retry"}`},
		"readLog":                        {},
		"getNode":                        {},
		"listReferences":                 {},
		"listBuiltIn":                    {},
		"search":                         {},
		"markNode":                       {body: `{"as":"Failed"}`},
		"pauseExecution":                 {},
		"resumeExecution":                {},
		"retryExecution":                 {body: `{}`},
		"rollbackExecution":              {},
		"listFiles":                      {},
		"deleteFile":                     {},
		"getFile":                        {},
		"putFile":                        {body: "x"},
		"listProvisioners":               {},
		"getProvisioner":                 {},
		"forgetProvisioner":              {},
		"getHealth":                      {},
		"gitOpsHello":                    {body: `{"agent":{"id":"eu1"},"clusterUID":"u"}`},
		"gitOpsPoll":                     {body: `{"agent":{"id":"eu1"}}`},
		"gitOpsDocuments":                {body: `{"agent":{"id":"eu1"}}`},
		"gitOpsReport":                   {body: `{"agent":{"id":"eu1"}}`},
		"gitOpsAnswer":                   {body: `{"agent":{"id":"eu1"}}`},
		"listGitOpsAgents":               {},
		"getGitOpsAgent":                 {},
		"moveGitOpsAgent":                {},
		"listGitOpsApplications":         {},
		"getGitOpsApplication":           {},
		"deleteGitOpsApplication":        {},
		"listGitOpsHistory":              {},
		"syncGitOpsApplication":          {body: `{}`},
		"refreshGitOpsApplication":       {body: `{}`},
		"rollbackGitOpsApplication":      {body: `{"id":1}`},
		"terminateGitOpsOperation":       {},
		"askGitOpsResources":             {},
		"askGitOpsDifferences":           {body: `{}`},
		"askGitOpsManifests":             {body: `{}`},
		"askGitOpsTree":                  {body: `{}`},
		"askGitOpsLogs":                  {body: `{}`},
		"askGitOpsEvents":                {body: `{}`},
		"askGitOpsActions":               {body: `{}`},
		"runGitOpsAction":                {body: `{"kind":"Deployment","action":"restart"}`},
		"patchGitOpsObject":              {body: `{"kind":"Deployment","patch":"{}"}`},
		"deleteGitOpsObject":             {body: `{"kind":"Deployment"}`},
		"holdGitOpsApplication":          {body: `{}`},
		"releaseGitOpsApplication":       {},
		"getGitOpsRequest":               {},
		"listGitOpsDocuments":            {},
		"listGitOpsApplicationSets":      {},
		"getGitOpsApplicationSet":        {},
		"deleteGitOpsApplicationSet":     {},
		"refreshGitOpsApplicationSet":    {},
		"generateGitOpsApplicationSet":   {body: `{"yaml":"kind: ApplicationSet"}`},
		"getGitOpsApplicationSetRequest": {},
		"listInstances":                  {},
		"startExecution":                 {body: `{}`},
		"listInputSets":                  {},
		"reconcileInputSet":              {body: `{}`},
		"getInputs":                      {},
		"mergeInputs":                    {body: `{}`},
		"planExecution":                  {body: `{}`},
		"previewExecution":               {body: `{}`},
		"listFires":                      {},
		"listFreezes":                    {},
		"listSettings":                   {},
		"listEvaluations":                {},
		"getEvaluation":                  {},
		"getFreezeCalendar":              {},
		"setSecretFile":                  {body: "x"},
		"askArtifactVersions":            {body: `{}`},
		"listServiceInstances":           {},
		"listServiceHistory":             {},
		"rollbackService":                {body: `{"environment":"e"}`},
		"testConnector":                  {},
		"testConnectorDocument":          {body: echo},
		"getConnectorTest":               {},
		"setStableTemplate":              {body: `{"versionLabel":"v1"}`},
		"listScimUsers":                  {},
		"createScimUser":                 {body: scimUser},
		"getScimUser":                    {},
		"putScimUser":                    {body: scimUser},
		"patchScimUser":                  {body: scimPatch},
		"deleteScimUser":                 {},
		"listScimGroups":                 {},
		"createScimGroup":                {body: `{"displayName":"Ops"}`},
		"getScimGroup":                   {},
		"putScimGroup":                   {body: `{"displayName":"Ops"}`},
		"patchScimGroup":                 {body: scimPatch},
		"deleteScimGroup":                {},
		"getScimConfig":                  {},
		"listScimResourceTypes":          {},
		"getScimResourceType":            {},
		"listScimSchemas":                {},
		"getScimSchema":                  {},
		"loginByToken":                   {body: `{"token":"x"}`, proof: "pkg/api/sessions_test.go: TestSessionsComeFromTheConsoleAlone; pkg/api/sessions_test.go: TestWhereSessionsAreOpened"},
		"loginByLink":                    {body: `{"code":"x"}`, proof: "pkg/api/login_link_test.go: TestALoginLinkOpensOneSession; pkg/api/login_link_test.go: TestWhatALoginLinkDoesNotOpen"},
		"makeLoginLink":                  {proof: "pkg/api/login_link_test.go: TestWhatALoginLinkDoesNotOpen"},
		"listLogins":                     {proof: "pkg/api/login_test.go: TestSomebodyLogsInByAProvider; pkg/api/login_test.go: TestWhereOthersLogPeopleIn"},
		"startLogin":                     {proof: "pkg/api/login_test.go: TestALoginSendsNobodyElsewhere; pkg/api/login_test.go: TestWhereOthersLogPeopleIn"},
		"finishLogin":                    {proof: "pkg/api/login_test.go: TestALoginIsFinishedOnceByWhoBeganIt; pkg/api/login_test.go: TestWhoMayNotLogIn"},
		"startSAMLLogin":                 {proof: "pkg/api/login_saml_test.go: TestALoginBySAMLIsFinishedOnceByWhoBeganIt"},
		"receiveSAMLResponse":            {body: "SAMLResponse=x", proof: "pkg/api/login_saml_test.go: TestALoginBySAMLIsFinishedOnceByWhoBeganIt; pkg/login/saml/saml_test.go: TestResponsesThatProveNothing"},
		"finishSAMLLogin":                {proof: "pkg/api/login_saml_test.go: TestALoginBySAMLIsFinishedOnceByWhoBeganIt"},
		"describeSAMLLogin":              {proof: "pkg/api/login_saml_test.go: TestSomebodyLogsInBySAML"},
		"loginByPassword":                {body: `{"user":"x","password":"y"}`, proof: "pkg/api/login_password_test.go: TestPasswordsComeFromTheConsoleAlone; pkg/api/login_password_test.go: TestAfterFiveWrongPasswordsNoneIsTried"},
		"exchangePassword":               {body: `{"user":"x","password":"y"}`, proof: "pkg/api/login_password_test.go: TestPasswordsComeFromTheConsoleAlone"},
		"loginByLocalPassword":           {body: `{"user":"x","password":"y"}`, proof: "pkg/api/login_local_test.go: TestSomebodyLogsInByAPassword; pkg/api/login_local_test.go: TestAfterFiveWrongPasswordsOfSlipwayNoneIsTried"},
		"exchangeLocalPassword":          {body: `{"user":"x","password":"y"}`, proof: "pkg/api/login_local_test.go: TestWhomAPasswordDoesNotLetIn; pkg/api/login_local_test.go: TestASecondFactor"},
		"setPassword":                    {body: `{"password":"correct horse battery"}`},
		"beginSecondFactor":              {body: `{"password":"x"}`},
		"confirmSecondFactor":            {body: `{"code":"x"}`},
		"removeSecondFactor":             {},
		"exchangeWorkloadToken":          {body: `{"token":"x"}`, proof: "pkg/api/login_workload_test.go: TestWhichTokensOfIssuersAreNotTaken; pkg/api/login_workload_test.go: TestTrustRulesAreChosen"},
		"exchangeLogin":                  {body: `{"idToken":"x"}`, proof: "pkg/api/login_test.go: TestATokenOfTheProviderIsSwappedOnce"},
		"logout":                         {proof: "pkg/api/sessions_test.go: TestASessionHasTheRightsOfItsToken; pkg/api/sessions_test.go: TestSessionsComeFromTheConsoleAlone"},
		"whoami":                         {},
		"canI":                           {},
		"explainAccess":                  {},
		"listTokens":                     {},
		"createToken":                    {body: `{"kind":"user","name":"x"}`},
		"revokeToken":                    {},
		"revokeFoundToken":               {body: `{"token":"x"}`, proof: "pkg/api/token_found_test.go: TestWhoFindsATokenEndsIt"},
		"rotateToken":                    {body: `{}`},
		"deliverAWS":                     {body: `{}`, proof: "pkg/trigger/firing/artifact_test.go: TestForwardedImages"},
		"deliverCustom":                  {body: `{}`, proof: "pkg/api/webhooks_test.go: TestDeliverRefuses"},
		"deliverEvent":                   {body: `{}`, proof: "internal/e2e/listener_test.go: TestStepsListen"},
		"deliver":                        {body: `{}`, proof: "pkg/api/webhooks_test.go: TestDeliverRefuses; pkg/trigger/firing/firing_test.go: TestForgedDeliveries"},
	}
}

// operation is one of the API's description.
type operation struct {
	ID         string        `json:"operationId"`
	Action     action.Action `json:"x-action"`
	Parameters []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
	RequestBody *struct {
		Content map[string]json.RawMessage `json:"content"`
	} `json:"requestBody"`
	method, path string
}

// plane is a control plane that requests are given to without a network.
type plane struct {
	t                 *testing.T
	send              func(r *http.Request) (int, string)
	local             *wire.Local
	admin, delegate   string // tokens of the account
	execution, aToken string // of the project that is attacked
	ops               []operation
}

// listener takes an answer, and of a stream of events, which may go on for ever,
// the beginning.
type listener struct {
	*httptest.ResponseRecorder

	leave func()
}

// Flush leaves a stream.
func (l listener) Flush() {
	l.ResponseRecorder.Flush()
	if l.Header().Get("Content-Type") == "text/event-stream" {
		l.leave()
	}
}

// newPlane makes a control plane with something in a project. By lambda it is
// the function's handler that answers.
func newPlane(t *testing.T, byLambda bool) *plane {
	t.Helper()
	local, err := wire.Open(t.Context(), wire.ServeConfig{Data: t.TempDir(), URL: "https://slipway.example.com", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	server := local.API()
	p := &plane{t: t, local: local}
	p.send = func(r *http.Request) (int, string) {
		ctx, leave := context.WithCancel(r.Context())
		defer leave()
		w := listener{httptest.NewRecorder(), leave}
		server.ServeHTTP(w, r.WithContext(ctx))
		return w.Code, w.Body.String()
	}
	if byLambda {
		p.send = invoke(t, function.API(local.Plane))
	}
	account := ref.Scope{Account: "default"}
	p.admin, _ = p.mint(store.TokenUser, account)
	p.delegate, _ = p.mint(store.TokenDelegate, account)
	_, p.aToken = p.mint(store.TokenUser, ref.Scope{Account: "default", Org: "default", Project: "web"})
	doc, err := server.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(doc, &described); err != nil {
		t.Fatal(err)
	}
	for path, methods := range described.Paths {
		for method, o := range methods {
			o.method, o.path = strings.ToUpper(method), path
			p.ops = append(p.ops, o)
		}
	}
	p.want(200, "PUT", "/v1/entities?org=default&project=web", echo, "Bearer "+p.admin)
	var e api.Execution
	if err := json.Unmarshal([]byte(p.want(200, "POST", "/v1/pipelines/echo/executions?org=default&project=web", "{}", "Bearer "+p.admin)), &e); err != nil {
		t.Fatal(err)
	}
	p.execution = e.ID
	p.want(200, "POST", "/v1/delegate/register", `{"id":"d1","name":"d"}`, "Bearer "+p.delegate)
	return p
}

// invoke gives a request to a function as API Gateway does.
func invoke(t *testing.T, h lambda.Handler) func(*http.Request) (int, string) {
	t.Helper()
	return func(r *http.Request) (int, string) {
		t.Helper()
		headers := map[string]string{}
		for name := range r.Header {
			headers[strings.ToLower(name)] = r.Header.Get(name)
		}
		var body strings.Builder
		if r.Body != nil {
			_ = r.Write(&body) // only to know that there is one; the text follows
		}
		_, text, _ := strings.Cut(body.String(), "\r\n\r\n")
		event, err := json.Marshal(map[string]any{
			"version": "2.0", "rawPath": r.URL.EscapedPath(), "rawQueryString": r.URL.RawQuery, "headers": headers,
			"requestContext": map[string]any{"stage": "$default", "http": map[string]any{"method": r.Method, "path": r.URL.Path, "sourceIp": "192.0.2.1"}},
			"body":           base64.StdEncoding.EncodeToString([]byte(text)), "isBase64Encoded": true,
		})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := h.Invoke(r.Context(), event)
		if err != nil {
			t.Fatalf("%s %s: %v", r.Method, r.URL, err)
		}
		var out struct {
			StatusCode int    `json:"statusCode"`
			Body       string `json:"body"`
		}
		if err := json.Unmarshal(answer, &out); err != nil {
			t.Fatal(err)
		}
		return out.StatusCode, out.Body
	}
}

func (p *plane) mint(kind store.TokenKind, scope ref.Scope) (text, id string) {
	p.t.Helper()
	t, text := access.Mint(access.Grant{Kind: kind, Scope: scope, Name: "x", Actor: "eve"}, time.Now())
	if err := p.local.Store.PutToken(p.t.Context(), t); err != nil {
		p.t.Fatal(err)
	}
	return text, t.ID
}

// userElsewhere makes a user who may do everything in another project, and gives
// a token of the account.
func (p *plane) userElsewhere() string {
	p.t.Helper()
	p.want(200, "PUT", "/v1/entities", "user: {identifier: eve, name: Eve}", "Bearer "+p.admin)
	p.want(200, "PUT", "/v1/entities?org=default&project=shop", "roleAssignment: {identifier: eve, roleIdentifier: _project_admin, "+
		"resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER, identifier: eve}}", "Bearer "+p.admin)
	account := ref.Scope{Account: "default"}
	t, text := access.Mint(access.Grant{
		Kind: store.TokenUser, Scope: account, Name: "x", Actor: "eve", Principal: store.EntityKey{Scope: account, Kind: ref.User, ID: "eve"},
	}, time.Now().Add(time.Second))
	if err := p.local.Store.PutToken(p.t.Context(), t); err != nil {
		p.t.Fatal(err)
	}
	p.want(200, "GET", "/v1/entities/pipeline?org=default&project=shop", "", "Bearer "+text)
	return text
}

// ask sends one request.
func (p *plane) ask(method, path, body, contentType, authorization string) (int, string) {
	p.t.Helper()
	r := httptest.NewRequestWithContext(p.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return p.send(r)
}

func (p *plane) want(status int, method, path, body, authorization string) string {
	p.t.Helper()
	contentType := "application/json"
	if strings.HasPrefix(path, "/v1/entities") {
		contentType = "application/yaml"
	}
	got, answer := p.ask(method, path, body, contentType, authorization)
	if got != status {
		p.t.Fatalf("%s %s: %d %s; want %d", method, path, got, answer, status)
	}
	return answer
}

// value is a parameter's that names what is there.
func (p *plane) value(o operation, name string) string {
	switch {
	case name == "id" && strings.HasPrefix(o.path, "/v1/delegate/"):
		return "d1"
	case name == "execution":
		return p.execution
	case name == "token":
		return p.aToken
	case o.ID == "canI" && name == "user": // it is about the caller
		return ""
	case o.ID == "listGitOpsDocuments" && name == "kind":
		return "gitopsProject"
	}
	return map[string]string{
		"kind": "pipeline", "id": "echo", "pipeline": "echo", "node": "e", "service": "web", "trigger": "t", "host": "github",
		"action": "pipeline.run", "user": "eve", "account": "default", "q": "e",
		"org": "default", "project": "web", "orgIdentifier": "default", "projectIdentifier": "web", "path": "/x",
	}[name]
}

// target is an operation's path with parameters, one of which may be another.
func (p *plane) target(o operation, changed, to string) string {
	path, query := o.path, url.Values{}
	for _, in := range o.Parameters {
		v := p.value(o, in.Name)
		if in.Name == changed {
			v = to
		} else if in.In == "path" && v == "" {
			v = "x"
		}
		if in.In == "path" {
			path = strings.Replace(path, "{"+in.Name+"}", url.PathEscape(v), 1)
		} else if in.In == "query" && (v != "" || in.Name == changed) {
			query.Set(in.Name, v)
		}
	}
	if o.ID == "listTokens" && changed != "kind" {
		query.Set("kind", "user")
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

func (o operation) contentType() string {
	if o.RequestBody != nil {
		for _, t := range []string{"application/json", "application/yaml", "application/scim+json", "application/octet-stream"} {
			if _, ok := o.RequestBody.Content[t]; ok {
				return t
			}
		}
	}
	return "application/json"
}

func (o operation) is(why action.Exempt) bool { return string(o.Action) == string(why) }

func (o operation) delegates() bool { return o.is(action.Delegate) }

// elsewhere are the answers to a user of the account who has a role in another
// project: what is free to all is, and lists are of what is one's own.
func (o operation) elsewhere() []int {
	switch o.ID {
	case "createToken", "listTokens":
		return []int{http.StatusOK}
	case "answerApproval", "answerCallback", "makeApprovalLink": // its groups say who may, once something waits
		return []int{http.StatusConflict}
	case "beginSecondFactor", "confirmSecondFactor": // it is one's own, of who has no password, or can have none
		return []int{http.StatusConflict, http.StatusBadRequest}
	case "applyEntities": // whose document is none
		return []int{http.StatusBadRequest, http.StatusForbidden}
	}
	return o.outside()
}

// outside are the answers to a token of the right sort whose scope doesn't have
// what the operation is about.
func (o operation) outside() []int {
	if o.is(action.Self) {
		return []int{http.StatusOK}
	}
	return []int{http.StatusForbidden, http.StatusNotFound}
}

// TestEveryOperationHasARow: a new operation is thought of here, too.
func TestEveryOperationHasARow(t *testing.T) {
	t.Parallel()
	p, all := newPlane(t, false), rows()
	for _, o := range p.ops {
		r, ok := all[o.ID]
		if known := action.Find(action.Catalogue(), o.Action).Doc != ""; !known && !o.is(action.Public) && !o.is(action.Self) && !o.is(action.Delegate) {
			t.Errorf("%s is of the action %q, which isn't of the catalogue", o.ID, o.Action)
		}
		if o.is(action.Public) && r.proof == "" || o.delegates() != strings.HasPrefix(o.path, "/v1/delegate/") {
			t.Errorf("%s %s is open to %s, and nothing proves it", o.method, o.path, o.Action)
		}
		if !ok {
			t.Errorf("%s %s (%s) has no row", o.method, o.path, o.ID)
		}
		if r.proof != "" {
			exist(t, o.ID, r.proof)
		}
		delete(all, o.ID)
	}
	for id := range all {
		t.Errorf("there is no operation %s", id)
	}
}

// TestTokens tries every operation with tokens that don't open it, on both
// hosts.
func TestTokens(t *testing.T) {
	t.Parallel()
	for name, byLambda := range map[string]bool{"one machine": false, "a function": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t, byLambda)
			shop := ref.Scope{Account: "default", Org: "default", Project: "shop"}
			otherUser, _ := p.mint(store.TokenUser, shop)
			otherOrg, _ := p.mint(store.TokenUser, ref.Scope{Account: "default", Org: "acme"})
			otherAccount, _ := p.mint(store.TokenUser, ref.Scope{Account: "acme"})
			stranger := p.userElsewhere()
			otherDelegate, _ := p.mint(store.TokenDelegate, shop)
			for _, o := range p.ops {
				r := rows()[o.ID]
				if r.proof != "" {
					continue
				}
				try := func(who, authorization, query string, want ...int) {
					path := p.target(o, "", "")
					if query != "" {
						path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + query
					}
					got, body := p.ask(o.method, path, r.body, o.contentType(), authorization)
					for _, w := range want {
						if got == w {
							return
						}
					}
					t.Errorf("%s with %s: %d %s; want one of %v", o.ID, who, got, body, want)
				}
				for who, authorization := range map[string]string{
					"no token": "", "garbage": "Bearer x", "a guess": "Bearer pat.default." + p.aToken + ".guess", "no scheme": p.admin,
					"another scheme": "Basic " + p.admin, "an unknown id": "Bearer pat.default.nobody.x", "a NUL": "Bearer pat.default.\x00.x",
				} {
					try(who, authorization, "", 401)
				}
				for _, name := range []string{"token", "access_token", "api_key", "authorization", "x-api-key"} {
					try("a token in the query", "", name+"="+url.QueryEscape(p.admin), 401)
				}
				others := map[string]string{"another project's token": otherUser, "another organization's": otherOrg}
				wrong := p.delegate
				if o.delegates() {
					others, wrong = map[string]string{"another delegate's token": otherDelegate}, p.admin
				} else if strings.Contains(o.path, "{execution}") || strings.Contains(o.path, "{token}") || strings.Contains(o.path, "{account}") { // by their ids; all else is in its own account
					try("another account's token", "Bearer "+otherAccount, "", 403, 404)
				}
				try("the other sort of token", "Bearer "+wrong, "", 403)
				for who, token := range others {
					try(who, "Bearer "+token, "", o.outside()...)
				}
				if !o.delegates() {
					try("a user's who has a role in another project", "Bearer "+stranger, "", o.elsewhere()...)
				}
			}
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/executions", nil)
			r.Header.Set("Cookie", "token="+p.admin+"; Authorization=Bearer "+p.admin)
			if got, body := p.send(r); got != 401 {
				t.Errorf("a token in a cookie: %d %s", got, body)
			}
			// Nothing has happened to what was attacked.
			var tree api.ExecutionTree
			if err := json.Unmarshal([]byte(p.want(200, "GET", "/v1/executions/"+p.execution, "", "Bearer "+p.admin)), &tree); err != nil || tree.Status.Terminal() {
				t.Errorf("the execution is %s, %v", tree.Status, err)
			}
		})
	}
}

// TestARevokedTokenOpensNothing tries every operation after its token was
// revoked.
func TestARevokedTokenOpensNothing(t *testing.T) {
	t.Parallel()
	p := newPlane(t, false)
	gone, id := p.mint(store.TokenUser, ref.Scope{Account: "default"})
	p.want(204, "DELETE", "/v1/tokens/"+id, "", "Bearer "+p.admin)
	for _, o := range p.ops {
		if rows()[o.ID].proof == "" {
			p.want(401, o.method, p.target(o, "", ""), rows()[o.ID].body, "Bearer "+gone)
		}
	}
}

// garbage is what a parameter may be given by whoever likes.
func garbage() []string {
	return []string{
		"", " ", "x", ".", "..", "../../etc/passwd", "/", "//", "a/b", "a\x00b", "\x01\x1b[2J", "\u202e", "💥", "\xff\xfe", "account.", "org.", "account.x", "org.x", "a.b.c", "x y",
		"-1", "0", "99999999999999999999", "1e9", "NaN", "null", "true", "[]", "{}", "'\"<>&;$(id)", "<+x>", "<+execution.steps>", "%00", "%2e%2e%2f", "a@v1", "@", "_", "e30", "AAAA", strings.Repeat("x", 127),
		strings.Repeat("x", 300), strings.Repeat("(", 200),
	}
}

// TestNoParameterBreaksTheServer sends garbage in each parameter of each
// operation, and as its body: the answer says what is wrong, and is never that
// something broke.
func TestNoParameterBreaksTheServer(t *testing.T) {
	t.Parallel()
	p := newPlane(t, false)
	tried := 0
	try := func(o operation, what, path, body string) {
		tried++
		token := p.admin
		if o.delegates() {
			token = p.delegate
		}
		if got, answer := p.ask(o.method, path, body, o.contentType(), "Bearer "+token); got >= http.StatusInternalServerError {
			t.Errorf("%s with %s: %d %s", o.ID, what, got, answer)
		}
	}
	bodies := []string{"", "null", "[]", "{", "1", `"x"`, "{}", "\xff\x00", strings.Repeat("[", 100_000), "a: &a [*a]", `{"id":"\u0000","name":"\u0000","action":null,"max":-1,"chunks":[{"first":-1,"data":"AA=="}]}`}
	for _, o := range p.ops {
		if o.ID == "delegateGoodbye" || o.ID == "revokeToken" || o.ID == "watchExecution" {
			continue // below: they take away what the others need, or last
		}
		for _, in := range o.Parameters {
			for _, g := range garbage() {
				if in.In == "path" || in.In == "query" {
					try(o, fmt.Sprintf("%s %q", in.Name, g), p.target(o, in.Name, g), rows()[o.ID].body)
				}
			}
		}
		if o.RequestBody != nil {
			for _, b := range bodies {
				try(o, fmt.Sprintf("the body %.40q", b), p.target(o, "", ""), b)
			}
		}
	}
	for _, o := range p.ops {
		if o.ID == "delegateGoodbye" || o.ID == "revokeToken" || o.ID == "watchExecution" {
			for _, g := range garbage() {
				try(o, fmt.Sprintf("%q", g), p.target(o, o.Parameters[0].Name, g), "")
			}
		}
	}
	if tried < 3000 {
		t.Errorf("%d requests were tried; the description must be incomplete", tried)
	}
}
