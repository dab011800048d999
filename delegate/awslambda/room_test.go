package awslambda_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
)

// noRoom has a call find the account full of code, as Lambda says it.
func (a *account) noRoom(operation string) {
	a.Fail("lambda:"+operation, testaws.Fault{Code: "CodeStorageExceededException", Message: "Code storage limit exceeded.", Times: 1})
}

// Where the account has no room for more code, the step names the versions that could
// go: none that an alias names, and not the newest.
func TestNoRoomForCode(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	const full = "CodeStorageExceededException: Code storage limit exceeded."
	refused := func(execution, operation, want string) {
		t.Helper()
		a.noRoom(operation)
		s := a.stage(execution, "web-"+execution+".zip")
		r := s.bad(lane.OpDeploy, 0)
		// When a version was published and how large it is isn't the test's.
		got := regexp.MustCompile(` \(of \d{4}-\d\d-\d\d, \d+\.\d MB\)`).ReplaceAllString(r.Message, "")
		if !strings.HasPrefix(got, "lambda:"+operation+": "+full) || !strings.HasSuffix(got, "; the account keeps too much code of all versions of functions: "+want) ||
			!slices.Equal(r.FailureTypes, []fault.FailureType{fault.ResourceLimitsFailure}) {
			t.Errorf("%s: %s, %q; want %q", operation, r.FailureTypes, got, want)
		}
	}
	const others = "no version of this function can make room: delete versions of other functions, or have the quota raised"
	refused("none", "CreateFunction", others)
	deploy := func(n int) { a.stage(fmt.Sprint("e", n), fmt.Sprintf("web-%d.zip", n)).good(lane.OpDeploy, 0) }
	deploy(1)
	refused("only", "UpdateFunctionCode", others)
	for n := 2; n <= 4; n++ {
		deploy(n)
	}
	if _, err := a.lambda.CreateAlias(t.Context(), &lambda.CreateAliasInput{FunctionName: sdk.String("web"), Name: sdk.String("pinned"), FunctionVersion: sdk.String("2")}); err != nil {
		t.Fatal(err)
	}
	const could = "no alias names these versions of it, which could be deleted if nobody calls them by their numbers: "
	refused("more", "UpdateFunctionCode", could+"1, 3")
	for n := 5; n <= 9; n++ {
		deploy(n)
	}
	refused("most", "PublishVersion", could+"1, 3, 4, 5, 6 and 2 more")
	for _, operation := range a.changes() {
		if operation == "DeleteFunction" {
			t.Error("a version was deleted")
		}
	}
	a.Fail("lambda:ListAliases", testaws.Fault{Code: "AccessDeniedException", Message: "no", Times: 1})
	a.noRoom("UpdateFunctionCode")
	if r := a.stage("blind", "web-b.zip").bad(lane.OpDeploy, 0); !strings.Contains(r.Message, "which versions could be deleted isn't known: lambda:ListAliases: AccessDeniedException: no") {
		t.Errorf("where aliases aren't told: %s", r.Message)
	}
}
