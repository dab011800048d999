package attack_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exist checks that tests which are named are there.
func exist(t *testing.T, what, tests string) {
	t.Helper()
	named := regexp.MustCompile(`^([\w/.-]+_test\.go): (\w+)$`)
	for one := range strings.SplitSeq(tests, "; ") {
		m := named.FindStringSubmatch(one)
		if m == nil {
			t.Errorf("%s: %q isn't a file and a test", what, one)
			continue
		}
		doc, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(m[1])))
		if err != nil || !strings.Contains(string(doc), "func "+m[2]+"(") {
			t.Errorf("%s: %s has no %s (%v)", what, m[1], m[2], err)
		}
	}
}

// TestEachAttackIsHeldOff: what was tried against Slipway and has failed, with
// the tests that keep it so.
func TestEachAttackIsHeldOff(t *testing.T) {
	t.Parallel()
	for what, tests := range map[string]string{
		"tokens: none, guessed, revoked, of other scopes, of the other sort, in queries and cookies": "internal/attack/matrix_test.go: TestTokens; internal/attack/matrix_test.go: TestARevokedTokenOpensNothing",
		"scopes in bodies and documents":           "pkg/api/access_test.go: TestATokenIsBoundToItsScope; pkg/api/access_test.go: TestATokenSavesNothingAround",
		"another's name in what one does":          "pkg/api/tokens_test.go: TestOnlyAnAccountsTokenNamesAnotherActor",
		"executions of others":                     "pkg/api/executions_test.go: TestAnExecutionOutsideTheScopeIsAsGoodAsNone",
		"delegates: another's id, task and lease":  "internal/attack/matrix_test.go: TestTokens; delegate/agent/agent_test.go: TestLeaseLost",
		"delegates: another's name, tags and host": "pkg/api/binding_test.go: TestADelegateIsWhatItsTokenSays; pkg/dispatch/dispatch_test.go: TestEligible",
		"delegates: secrets of files":              "pkg/api/binding_test.go: TestABoundDelegateGetsOnlySecretsThatDocumentsName",
		"delegates: lists without an end":          "pkg/api/binding_test.go: TestWhatADelegateSaysIsBounded; pkg/execution/logs_test.go: TestALogIsBounded",
		"delegates: their tokens, by scripts":      "cmd/slipway/conceal_linux_test.go: TestAnotherOfItsUsersProcessesSeesNoToken; delegate/shell/shell_test.go: TestScriptsDontSeeTheDelegatesCredentials",
		"a task claimed twice":                     "delegate/agent/agent_test.go: TestNoTaskIsRunTwice",
		"tokens of tasks: of others, forged":       "internal/attack/issuer_test.go: TestTokensOfTasks; internal/attack/issuer_test.go: TestATokenOfAStep; pkg/issuer/issuer_test.go: TestALeakedKey; internal/attack/issuer_test.go: TestATokenOfATaskOpensNothingHere; pkg/issuer/issuer_test.go: TestForgedTokens; pkg/resolve/identity_test.go: TestASubjectIsTheConnectors; pkg/ledger/token_test.go: TestTokensOfWatches",
		"secrets of other scopes":                  "pkg/secret/keeper_test.go: TestSecretsOfOtherScopesStayShut",
		"secrets that no document names":           "pkg/api/reveal_test.go: TestOnlyTasksThatFetchFilesAskForSecrets; pkg/api/reveal_test.go: TestFilesMayNameSecrets; pkg/swimlane/kubernetes/fetching_test.go: TestOnlySomeTasksFetchFiles",
		"secrets at rest, changed":                 "pkg/secret/keeper_test.go: TestOpenRefusesEveryChangedByte",
		"secrets read back":                        "pkg/api/secrets_test.go: TestASecretsValueIsNeverGivenOut; pkg/entity/spec_test.go: TestFindingsNeverShowASecret",
		"secrets computed in expressions":          "pkg/expr/secrets_test.go: TestSecretsAreOnlySplicedIn",
		"secrets in logs, in other forms":          "pkg/redact/redact_test.go: TestText; pkg/redact/redact_test.go: TestBase64OfMoreThanTheValue; pkg/redact/redact_test.go: FuzzWriter",
		"approval links: forged, used, of others":  "internal/e2e/approvers_test.go: TestApprovalLinks; pkg/execution/link_test.go: TestALinkAnswersOnce",
		"webhooks: no signature, wrong, of others": "pkg/api/webhooks_test.go: TestDeliverRefuses; pkg/trigger/firing/firing_test.go: TestForgedDeliveries; pkg/trigger/names_test.go: TestProof",
		"webhooks: sent again":                     "pkg/trigger/firing/firing_test.go: TestTheSameDeliveryManyTimesAtOnce",
		"expressions in payloads":                  "pkg/trigger/firing/firing_test.go: TestAPayloadIsNeverAnExpression",
		"paths that leave their folder":            "pkg/apiclient/client_test.go: TestPathsAreEscaped; internal/attack/matrix_test.go: TestNoParameterBreaksTheServer",
		"symbolic links in repositories":           "delegate/manifest/folder_test.go: TestFetchFollowsLinks; delegate/gitfetch/sparse_test.go: TestLinks",
		"paths of the file store":                  "pkg/ref/file_test.go: TestParseFile; pkg/api/files_test.go: TestFilesAreRefused",
		"charts outside their repository":          "delegate/helm/chart/chart_test.go: TestChartsStayInTheirRepository",
		"bombs in expressions":                     "pkg/expr/bounds_test.go: TestBounds",
		"bombs in YAML":                            "pkg/yamldoc/parse_test.go: TestHostileDocumentsAreRefused",
		"idempotency keys at once":                 "internal/e2e/twice_test.go: TestRequestsWithOneKeyAtOnceAreOneExecution; pkg/api/tokens_test.go: TestAnIdempotencyKeyMakesOneToken",
		"versions at once":                         "pkg/api/entities_test.go: TestSavingAStaleVersionIsRefused",
		"page tokens, forged":                      "pkg/store/dynamo/pages_test.go: TestPageTokensAreSealed",
		"garbage in parameters and bodies":         "internal/attack/matrix_test.go: TestNoParameterBreaksTheServer",
		"bodies, heads and readers that are slow":  "internal/attack/slow_test.go: TestSlowBodies; internal/attack/http_test.go: TestTheHeadOfARequestIsBounded; pkg/wire/door/door_test.go: TestEachWriteHasADeadline",
		"bodies and connections, many at once":     "pkg/api/intake_test.go: TestBodiesAtOnceAreBounded; pkg/wire/door/door_test.go: TestConnectionsAreBounded",
		"bodies without a proof":                   "internal/attack/slow_test.go: TestWithoutProofNoBodyIsRead",
		"plain HTTP":                               "internal/attack/tls_test.go: TestPlainHTTPStaysOnTheMachine; internal/attack/tls_test.go: TestEverythingGoesOverTLS",
		"a forged host, other sites":               "internal/attack/headers_test.go: TestOtherSitesGetNothing",
		"terminals":                                "cmd/slipway/people_test.go: TestNamesDontReachTheTerminal; pkg/printable/printable_test.go: TestWhatIsHiddenIsShown; internal/attack/headers_test.go: TestNamesThatCantBeShownAreRefused",
		"a full disk":                              "internal/attack/disk_test.go: TestAServerOutlivesAFullDisk; pkg/sqlitedb/full_test.go: TestAFullDisk",
	} {
		exist(t, what, tests)
	}
}
