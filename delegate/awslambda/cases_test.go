package awslambda_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awslambda"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// Code that can't be used fails the step with Lambda's reason; callers of the alias
// never see it.
func TestCodeThatCantBeUsed(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	r := a.stage("e2", "crash-2.zip").bad(lane.OpDeploy, 0)
	if !strings.Contains(r.Message, "couldn't be updated") || !strings.Contains(r.Message, "InvalidZipFileException") || r.FailureTypes[0] != fault.Unknown {
		t.Errorf("%v: %s", r.FailureTypes, r.Message)
	}
	a.want("1", "1")
}

// What Slipway sets itself is ignored, which is told.
func TestCodeOfTheDefinitionIsIgnored(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	s := a.stage("e1", "web-1.zip").defined(definition + "code: {imageUri: registry/web:1}\npublish: true\n")
	s.good(lane.OpDeploy, 0)
	a.said(s, "Fetch Manifests", "code is ignored")
	a.want("1", "1")
}

func TestDefinitionsThatAreWrong(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for name, c := range map[string]struct{ text, want string }{
		"an unknown member": {strings.Replace(definition, "memorySize", "memroySize", 1), "did you mean memorySize?"},
		"a qualifier":       {strings.Replace(definition, "web\n", testaws.FunctionARN("web")+":live\n", 1), "without a version or an alias"},
		"another region":    {strings.Replace(definition, "functionName: web", "functionName: arn:aws:lambda:us-east-1:123456789012:function:web", 1), "is in the region us-east-1"},
		"no name":           {strings.Replace(definition, "functionName: web\n", "", 1), "has no FunctionName"},
		"two files":         {definition + "---\n" + definition, "wants one document, found 2"},
	} {
		r := a.stage("e1", "web-1.zip").defined(c.text).bad(lane.OpDeploy, 0)
		if !strings.Contains(r.Message, c.want) || r.FailureTypes[0] != fault.ConfigurationFailure {
			t.Errorf("%s: %v, %s; want %s", name, r.FailureTypes, r.Message, c.want)
		}
	}
	if got := a.changes(); len(got) != 0 {
		t.Errorf("something was changed: %v", got)
	}
}

// Names of functions: an ARN and a part of one mean the same function.
func TestNamesOfFunctions(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.stage("e1", "web-1.zip").defined(strings.Replace(definition, "web\n", testaws.FunctionARN("web")+"\n", 1)).good(lane.OpDeploy, 0)
	a.stage("e2", "web-2.zip").defined(strings.Replace(definition, "web\n", testaws.Account+":function:web\n", 1)).good(lane.OpDeploy, 0)
	a.want("1 2", "2")
}

// The alias has its version and its weights of before, and $LATEST the code of the
// version of before, of which there is a new one.
func TestRollback(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	a.stage("e2", "web-2.zip").good(lane.OpDeploy, 0)
	if _, err := a.lambda.UpdateAlias(t.Context(), &lambda.UpdateAliasInput{
		FunctionName: sdk.String("web"), Name: sdk.String("live"), Description: sdk.String("by hand"),
		RoutingConfig: &types.AliasRoutingConfiguration{AdditionalVersionWeights: map[string]float64{"1": 0.25}},
	}); err != nil {
		t.Fatal(err)
	}
	s := a.stage("e3", "web-3.zip").defined(definition + "description: third\ntimeout: 7\nvpcConfig: {subnetIds: [], securityGroupIds: []}\n")
	s.spec.Target.Aliases = append(s.spec.Target.Aliases, inline("b", "AwsLambdaFunctionAliasDefinition", "name: next"))
	s.good(lane.OpDeploy, 0)
	a.want("1 2 3", "3")
	if got := a.alias("next"); got != "3" {
		t.Errorf("alias next: %s", got)
	}
	out := s.good(lane.OpRollback, 0)
	a.want("1 2 3 4", "2 1:0.25")
	if got := a.alias("next"); got != "none" {
		t.Errorf("alias next: %s; want none, as before", got)
	}
	if out["restoredVersion"] != "4" || out["version"] != "2" {
		t.Errorf("outputs %v", out)
	}
	latest, v2, v4 := a.function(""), a.function("2"), a.function("4")
	if *latest.CodeSha256 != *v2.CodeSha256 || *v4.CodeSha256 != *v2.CodeSha256 || sdk.ToString(latest.Description) != "" || sdk.ToInt32(latest.Timeout) != sdk.ToInt32(v2.Timeout) {
		t.Errorf("$LATEST has %s, %q; version 2 %s, 4 %s", *latest.CodeSha256, sdk.ToString(latest.Description), *v2.CodeSha256, *v4.CodeSha256)
	}
	if latest.Environment.Variables["STAGE"] != "prod" {
		t.Error("the environment isn't back")
	}
	// Once more changes nothing: as a delivery that is repeated.
	s.good(lane.OpRollback, 0)
	a.want("1 2 3 4", "2 1:0.25")
}

// A rollback of the first deployment deletes the function, if this execution has
// made it.
func TestRollbackOfTheFirstDeployment(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	s := a.stage("e1", "web-1.zip")
	s.good(lane.OpDeploy, 0)
	r := s.do(lane.OpRollback, 0)
	if r.Status != task.Succeeded || r.Changes[0].Action != "deleted" {
		t.Errorf("%s %s %+v", r.Status, r.Message, r.Changes)
	}
	s.good(lane.OpRollback, 0) // once more
	if _, err := a.lambda.GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: sdk.String("web")}); err == nil {
		t.Error("the function is still there")
	}

	s = a.stage("e2", "web-2.zip")
	s.good(lane.OpDeploy, 0)
	if _, err := a.lambda.TagResource(t.Context(), &lambda.TagResourceInput{Resource: sdk.String(testaws.FunctionARN("web")), Tags: map[string]string{"slipway:execution": "e9"}}); err != nil {
		t.Fatal(err)
	}
	s.good(lane.OpRollback, 0)
	a.said(s, "Rollback", "it isn't deleted")
	a.want("1", "1")
}

// A stage that changed nothing has nothing to roll back, and asks AWS nothing.
func TestNothingToRollBack(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	s := a.stage("e1", "web-1.zip")
	for _, op := range []lane.Op{lane.OpRollback, lane.OpCanaryRollback} {
		s.good(op, 0)
	}
	if got := a.Calls(); len(got) != 0 {
		t.Errorf("AWS was asked: %v", got)
	}
	if got := s.env.Text("Rollback", executor.Info); strings.Count(got, "Nothing to roll back") != 2 {
		t.Errorf("the log:\n%s", got)
	}
}

// A function that was made by hand and has no version gets one first.
func TestAFunctionMadeByHand(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.put(bucket, "hand.zip")
	if _, err := a.lambda.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: sdk.String("web"), Runtime: types.RuntimeNodejs22x, Handler: sdk.String("index.handler"), Role: sdk.String("arn:aws:iam::123456789012:role/web"),
		Code: &types.FunctionCode{S3Bucket: sdk.String(bucket), S3Key: sdk.String("hand.zip")}, Description: sdk.String("by hand"),
	}); err != nil {
		t.Fatal(err)
	}
	before := *a.function("").CodeSha256
	s := a.stage("e1", "web-1.zip")
	s.good(lane.OpDeploy, 0)
	a.want("1 2", "2")
	if v := a.function("1"); *v.Description != "before Slipway" || *v.CodeSha256 != before {
		t.Errorf("version 1 is %s with %s", *v.Description, *v.CodeSha256)
	}
	s.good(lane.OpRollback, 0)
	if f := a.function(""); *f.CodeSha256 != before || *f.Description != "by hand" {
		t.Errorf("$LATEST has %s, %q; want what was there", *f.CodeSha256, *f.Description)
	}
	a.want("1 2 3", "none")
}

// A canary leaves the alias where it is; 10 percent, then all of the traffic go to
// the new version.
func TestCanary(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	s := a.stage("e2", "web-2.zip")
	s.good(lane.OpCanary, 0)
	a.want("1 2", "1")
	s.good(lane.OpShift, 10)
	a.want("1 2", "1 2:0.1")
	calls := a.Count("lambda:UpdateAlias")
	s.good(lane.OpShift, 10)
	if got := a.Count("lambda:UpdateAlias"); got != calls {
		t.Errorf("the same share again has changed the alias")
	}
	out := s.good(lane.OpShift, 100)
	a.want("1 2", "2")
	if out["version"] != "2" || out["trafficPercentage"] != 100.0 {
		t.Errorf("outputs %v", out)
	}
	s.good(lane.OpCanaryRollback, 0)
	a.want("1", "1")
	if *a.function("").CodeSha256 != *a.function("1").CodeSha256 {
		t.Error("$LATEST hasn't the code of version 1")
	}
	s.good(lane.OpCanaryRollback, 0) // once more
	a.want("1", "1")
}

// The first canary has no other version, and makes the alias; without a manifest it
// is live.
func TestFirstCanary(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	s := a.stage("e1", "web-1.zip")
	s.spec.Target.Aliases = nil
	s.good(lane.OpCanary, 0)
	a.want("1", "1")
	s.good(lane.OpShift, 10)
	a.want("1", "1")
	s.good(lane.OpCanaryRollback, 0)
	if _, err := a.lambda.GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: sdk.String("web")}); err == nil {
		t.Error("the function is still there")
	}
}

// A version that another alias names isn't deleted.
func TestACanaryThatIsNamed(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	s := a.stage("e2", "web-2.zip")
	s.good(lane.OpCanary, 0)
	if _, err := a.lambda.CreateAlias(t.Context(), &lambda.CreateAliasInput{FunctionName: sdk.String("web"), Name: sdk.String("test"), FunctionVersion: sdk.String("2")}); err != nil {
		t.Fatal(err)
	}
	s.good(lane.OpCanaryRollback, 0)
	a.want("1 2", "1")
	a.said(s, "Rollback", "alias test names it")
}

func TestShiftsThatCantBe(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.Role("other")
	s := a.stage("e1", "web-1.zip")
	if r := s.bad(lane.OpShift, 10); !strings.Contains(r.Message, "no AwsLambdaCanaryDeploy of this stage") {
		t.Errorf("without a canary: %s", r.Message)
	}
	s.good(lane.OpDeploy, 0)
	s.good(lane.OpShift, 100)
	if r := s.bad(lane.OpShift, 10); !strings.Contains(r.Message, "AwsLambdaDeploy moved the alias to version 1; use AwsLambdaCanaryDeploy") {
		t.Errorf("after AwsLambdaDeploy: %s", r.Message)
	}
	s = a.stage("e2", "web-2.zip").defined(strings.Replace(definition, "role/web", "role/other", 1))
	s.good(lane.OpCanary, 0)
	calls := a.Count("lambda:UpdateAlias")
	r := s.bad(lane.OpShift, 10)
	if !strings.Contains(r.Message, "execution roles (Role) differ") || !strings.Contains(r.Message, "role/other") || a.Count("lambda:UpdateAlias") != calls {
		t.Errorf("with another role: %s, %d calls", r.Message, a.Count("lambda:UpdateAlias")-calls)
	}
}

// An image is deployed by its digest, which doesn't change with its tag.
func TestImage(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	images := ecr.NewFromConfig(a.Config())
	if _, err := images.CreateRepository(t.Context(), &ecr.CreateRepositoryInput{RepositoryName: sdk.String("web")}); err != nil {
		t.Fatal(err)
	}
	put := func(tag string) string {
		t.Helper()
		out, err := images.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: sdk.String("web"), ImageTag: &tag, ImageManifest: sdk.String(
			`{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json", "config": {"digest": "sha256:` + strings.Repeat("a", 64) + `"}, "layers": [{"digest": "` + tag + `"}]}`)})
		if err != nil {
			t.Fatal(err)
		}
		return *out.Image.ImageId.ImageDigest
	}
	digests := []string{put("1"), put("2")}
	stage := func(execution, tag string) *stage {
		s := a.stage(execution, "web-1.zip")
		s.image = "web:" + tag
		s.spec.Target.Artifact = &lookup.Artifact{Type: "Ecr", Choice: lookup.Choice{Version: tag}, ECR: &lookup.ECRImages{AWS: keys(), Repository: "web"}}
		return s
	}
	s := stage("e1", "1")
	s.good(lane.OpDeploy, 0)
	a.said(s, "Deploy", "Handler is ignored: the function is an image")
	host := testaws.Account + ".dkr.ecr." + testaws.Region + ".amazonaws.com/web@"
	var made lambda.CreateFunctionInput
	a.CallsOf("lambda:CreateFunction")[0].Decode(t, &made)
	if *made.Code.ImageUri != host+digests[0] || made.PackageType != types.PackageTypeImage || made.Handler != nil {
		t.Errorf("made of %v", made.Code)
	}
	s = stage("e2", "2")
	s.good(lane.OpDeploy, 0)
	s.good(lane.OpRollback, 0)
	var back lambda.UpdateFunctionCodeInput
	calls := a.CallsOf("lambda:UpdateFunctionCode")
	calls[len(calls)-1].Decode(t, &back)
	if *back.ImageUri != host+digests[0] {
		t.Errorf("rolled back to %s; want %s", *back.ImageUri, host+digests[0])
	}
	a.want("1 2 3", "1")

	// A zip can't become an image, nor the reverse.
	changes := len(a.changes())
	zip := a.stage("e3", "web-1.zip")
	r := zip.bad(lane.OpDeploy, 0)
	if !strings.Contains(r.Message, "has the package type Image") || !strings.Contains(r.Message, "another name") || len(a.changes()) != changes || len(zip.env.Kept()) != 0 {
		t.Errorf("%s, %d changes", r.Message, len(a.changes())-changes)
	}

	// Without the right policy of the repository Lambda's text comes with what to
	// add; the policy itself is nobody's business here.
	a.Fail("lambda:UpdateFunctionCode", testaws.Fault{Code: "AccessDeniedException", Message: "Lambda does not have permission to access the ECR image. Check the ECR permissions.", Times: 1})
	r = stage("e4", "2").bad(lane.OpDeploy, 0)
	if !strings.Contains(r.Message, "Check the ECR permissions") || !strings.Contains(r.Message, "ecr:BatchGetImage") || a.Count("ecr:SetRepositoryPolicy") != 0 {
		t.Errorf("without the policy: %s", r.Message)
	}
}

// Code in another region is sent by the delegate, up to 50 MB.
func TestABucketInAnotherRegion(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.bucket("elsewhere", "us-west-2")
	a.put("elsewhere", "web-1.zip")
	stage := func(execution, key string) *stage {
		s := a.stage(execution, key)
		from := keys()
		from.Region = ""
		s.spec.Target.Artifact.S3 = &task.S3Objects{AWS: from, Bucket: "elsewhere"}
		return s
	}
	stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	var made lambda.CreateFunctionInput
	a.CallsOf("lambda:CreateFunction")[0].Decode(t, &made)
	if made.Code.S3Bucket != nil {
		t.Errorf("made of %v; want its bytes", made.Code)
	}
	a.want("1", "1")
	if _, err := a.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: sdk.String("elsewhere"), Key: sdk.String("large.zip"), Body: strings.NewReader(strings.Repeat("x", 60<<20))}); err != nil {
		t.Fatal(err)
	}
	s := stage("e2", "large.zip")
	r := s.bad(lane.OpDeploy, 0)
	if !strings.Contains(r.Message, "more than 50 MB") || len(s.env.Kept()) != 0 {
		t.Errorf("60 MB: %s", r.Message)
	}
}

// Members of any case are read.
func TestKMSKeys(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for n, name := range []string{"kmsKeyArn", "KMSKeyArn", "KmsKeyArn"} {
		key := fmt.Sprintf("arn:aws:kms:eu-west-1:123456789012:key/%d", n)
		a.stage(fmt.Sprint("e", n), "web-1.zip").defined(definition+name+": "+key+"\n").good(lane.OpDeploy, 0)
		if got := sdk.ToString(a.function("").KMSKeyArn); got != key {
			t.Errorf("%s gives %s; want %s", name, got, key)
		}
	}
}

// A step that is delivered twice publishes once.
func TestTheSameDeliveryTwice(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	s := a.stage("e2", "web-2.zip")
	first := s.good(lane.OpDeploy, 0)
	second := s.good(lane.OpDeploy, 0)
	s.attempt = 2
	third := s.good(lane.OpDeploy, 0)
	if first["version"] != second["version"] || first["version"] != third["version"] || third["previousVersion"] != "1" {
		t.Errorf("versions %v, %v and %v of before %v", first["version"], second["version"], third["version"], third["previousVersion"])
	}
	a.want("1 2", "2")
	s.good(lane.OpRollback, 0)
	a.want("1 2 3", "1")
}

// mutating are the calls of a deployment and of a rollback that change something.
func (a *account) scenario(t *testing.T, first bool) (*stage, func()) {
	t.Helper()
	if !first {
		a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	}
	s := a.stage("e2", "web-2.zip").defined(definition + "timeout: 9\n")
	return s, func() {
		s.good(lane.OpRollback, 0)
		if first {
			if _, err := a.lambda.GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: sdk.String("web")}); err == nil {
				t.Error("after the rollback the function is still there")
			}
			return
		}
		if got := a.alias("live"); got != "1" {
			t.Errorf("after the rollback the alias is at %s; want 1", got)
		}
		latest, v := a.function(""), a.function("1")
		if *latest.CodeSha256 != *v.CodeSha256 || sdk.ToInt32(latest.Timeout) != sdk.ToInt32(v.Timeout) {
			t.Error("after the rollback $LATEST isn't as version 1")
		}
	}
}

// A delegate that dies at any call, before it or after it took effect: the next
// attempt ends well, and so does a rollback in its place.
func TestADelegateDiesAnywhere(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		probe := newAccount(t)
		s, _ := probe.scenario(t, first)
		before := len(probe.changes())
		s.good(lane.OpDeploy, 0)
		counts := map[string]int{}
		for n, operation := range probe.changes() {
			if n < before {
				counts[operation]++
				continue
			}
			after := counts[operation] - countOf(probe.changes()[:before], operation)
			counts[operation]++
			for _, cut := range []testaws.Cut{testaws.CutBefore, testaws.Stall} {
				for _, rolls := range []bool{false, true} {
					t.Run(fmt.Sprintf("first %v, %s %d, %s, rollback %v", first, operation, after, cut, rolls), func(t *testing.T) {
						t.Parallel()
						a := newAccount(t)
						s, back := a.scenario(t, first)
						a.killed(t, s, lane.OpDeploy, 0, operation, after, cut)
						if !rolls {
							s.attempt = 2
							out := s.good(lane.OpDeploy, 0)
							if got := a.alias("live"); got != out["version"] {
								t.Errorf("the alias is at %s; want %s", got, out["version"])
							}
						}
						back()
					})
				}
			}
		}
	}
}

func countOf(list []string, one string) int {
	n := 0
	for _, o := range list {
		if o == one {
			n++
		}
	}
	return n
}

// A delegate that dies anywhere in a canary or in a shift of its traffic: the next
// attempt ends as well as it would have, and so does a rollback in its place.
func TestADelegateDiesInACanary(t *testing.T) {
	t.Parallel()
	canary := []string{"UpdateFunctionCode", "UpdateFunctionConfiguration", "PublishVersion"}
	for name, c := range map[string]struct {
		op      lane.Op
		percent int
		first   bool
		calls   []string
		alias   string
	}{
		"the first":      {lane.OpCanary, 0, true, []string{"CreateFunction", "PublishVersion", "CreateAlias"}, "1"},
		"a canary":       {lane.OpCanary, 0, false, canary, "1"},
		"some traffic":   {lane.OpShift, 40, false, []string{"UpdateAlias"}, "1 2:0.4"},
		"all of traffic": {lane.OpShift, 100, false, []string{"UpdateAlias"}, "2"},
	} {
		for _, operation := range c.calls {
			for _, cut := range []testaws.Cut{testaws.CutBefore, testaws.Stall} {
				for _, rolls := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %s, %s, rollback %v", name, operation, cut, rolls), func(t *testing.T) {
						t.Parallel()
						a := newAccount(t)
						s, _ := a.scenario(t, c.first)
						if c.op == lane.OpShift {
							s.good(lane.OpCanary, 0)
						}
						a.killed(t, s, c.op, c.percent, operation, 0, cut)
						if !rolls {
							s.attempt = 2
							s.good(c.op, c.percent)
							if got := a.alias("live"); got != c.alias {
								t.Errorf("the alias is at %s; want %s", got, c.alias)
							}
						}
						s.good(lane.OpCanaryRollback, 0)
						if c.first {
							return
						}
						a.want("1", "1")
						latest, v := a.function(""), a.function("1")
						if *latest.CodeSha256 != *v.CodeSha256 || sdk.ToInt32(latest.Timeout) != sdk.ToInt32(v.Timeout) {
							t.Error("after the rollback $LATEST isn't as version 1")
						}
					})
				}
			}
		}
	}
}

// A delegate that dies anywhere in a rollback: the next one ends as well as it
// would have.
func TestADelegateDiesInARollback(t *testing.T) {
	t.Parallel()
	for op, calls := range map[lane.Op][]string{
		lane.OpRollback:       {"UpdateAlias", "UpdateFunctionCode", "UpdateFunctionConfiguration", "PublishVersion"},
		lane.OpCanaryRollback: {"UpdateAlias", "UpdateFunctionCode", "UpdateFunctionConfiguration", "DeleteFunction"},
	} {
		for _, operation := range calls {
			for _, cut := range []testaws.Cut{testaws.CutBefore, testaws.Stall} {
				t.Run(fmt.Sprintf("%s, %s, %s", op, operation, cut), func(t *testing.T) {
					t.Parallel()
					a := newAccount(t)
					s, _ := a.scenario(t, false)
					s.good(lane.OpCanary, 0)
					s.good(lane.OpShift, 40)
					a.killed(t, s, op, 0, operation, 0, cut)
					s.good(op, 0)
					if got := a.alias("live"); got != "1" {
						t.Errorf("the alias is at %s; want 1", got)
					}
					latest, v := a.function(""), a.function("1")
					if *latest.CodeSha256 != *v.CodeSha256 || sdk.ToInt32(latest.Timeout) != sdk.ToInt32(v.Timeout) {
						t.Error("$LATEST isn't as version 1")
					}
					if want := map[lane.Op]string{lane.OpRollback: "1 2 3", lane.OpCanaryRollback: "1"}[op]; a.versions() != want {
						t.Errorf("versions %s; want %s", a.versions(), want)
					}
				})
			}
		}
	}
}

// killed runs a step whose delegate dies at a call: its context ends while
// the call has no answer.
func (a *account) killed(t *testing.T, s *stage, op lane.Op, percent int, operation string, after int, cut testaws.Cut) {
	t.Helper()
	operation = "lambda:" + operation
	times := 1
	if cut == testaws.CutBefore {
		times = 2 // the SDK may try again before it is killed
	}
	had := a.Count(operation)
	a.Fail(operation, testaws.Fault{Cut: cut, After: after, Times: times})
	ctx, kill := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.try(ctx, op, percent)
		done <- err
	}()
	a.Await(operation, had+after+1)
	kill(executor.ErrLeaseLost)
	if err := <-done; !errors.Is(err, executor.ErrLeaseLost) {
		t.Errorf("the task ended with %v", err)
	}
}

// AWS refuses a call in the middle: the failure names it and the caller, and the
// rollback ends well.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"UpdateFunctionCode", "UpdateFunctionConfiguration", "TagResource", "PublishVersion", "UpdateAlias"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t)
			s, back := a.scenario(t, false)
			a.Fail("lambda:"+operation, testaws.Fault{Code: "AccessDeniedException", Message: "User is not authorized to perform: lambda:" + operation, Times: 1})
			r := s.bad(lane.OpDeploy, 0)
			if r.FailureTypes[0] != fault.Authorization || !strings.Contains(r.Message, "lambda:"+operation) || !strings.Contains(r.Message, "the caller is arn:aws:") {
				t.Errorf("%v: %s", r.FailureTypes, r.Message)
			}
			back()
		})
	}
}

// AWS throttles calls of each operation: the step only takes longer.
func TestThrottled(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	s, back := a.scenario(t, false)
	for _, operation := range []string{"GetFunction", "GetFunctionConfiguration", "UpdateFunctionCode", "UpdateFunctionConfiguration", "TagResource", "PublishVersion", "UpdateAlias", "GetAlias", "ListVersionsByFunction"} {
		a.Throttle("lambda:"+operation, 1)
	}
	s.good(lane.OpDeploy, 0)
	a.want("1 2", "2")
	back()
}

// A rollback that comes after another execution's deployment leads to what was there
// before its own stage. What that one has made, and the other one deploys to, stays.
func TestRollbackAfterAnotherDeployment(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first       bool // the stage makes the function
		aliased     bool // it was called by an alias before
		op, undo    lane.Op
		versions    string // after the rollback
		alias       string
		latest      string // has the code of this version
		otherShifts int
	}{
		"an update":           {false, true, lane.OpDeploy, lane.OpRollback, "1 2 3 4", "1", "1", 0},
		"a canary":            {false, true, lane.OpCanary, lane.OpCanaryRollback, "1 3", "1", "1", 10},
		"the first":           {true, true, lane.OpDeploy, lane.OpRollback, "1 2", "2", "2", 0},
		"an alias of its own": {false, false, lane.OpDeploy, lane.OpRollback, "1 2 3 4", "3", "1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t)
			if !tt.first {
				before := a.stage("e1", "web-1.zip")
				if !tt.aliased {
					before.spec.Target.Aliases = nil
				}
				before.good(lane.OpDeploy, 0)
			}
			s, other := a.stage("e2", "web-2.zip"), a.stage("e3", "web-3.zip")
			s.good(tt.op, 0)
			if tt.op == lane.OpCanary {
				s.good(lane.OpShift, 100)
			}
			other.good(tt.op, 0)
			if tt.otherShifts > 0 {
				other.good(lane.OpShift, tt.otherShifts)
			}
			s.good(tt.undo, 0)
			a.want(tt.versions, tt.alias)
			if *a.function("").CodeSha256 != *a.function(tt.latest).CodeSha256 {
				t.Errorf("$LATEST hasn't the code of version %s", tt.latest)
			}
		})
	}
}

// Somebody else changes the function at the same time: the step waits and tries
// again, and nothing of the other's change is lost unseen.
func TestSomebodyElseChangesTheFunction(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	s, _ := a.scenario(t, false)
	a.Fail("lambda:UpdateFunctionConfiguration", testaws.Fault{Code: "ResourceConflictException", Message: "An update is in progress", Times: 2})
	a.Fail("lambda:UpdateAlias", testaws.Fault{Code: "PreconditionFailedException", Message: "The Revision Id provided does not match", Times: 2})
	s.good(lane.OpDeploy, 0)
	a.want("1 2", "2")
}

// The step's time is too short, or the execution is aborted: the step says how
// things stood.
func TestTheEndOfTheTime(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	s, back := a.scenario(t, false)
	a.Hold()
	r, err := s.try(executortest.Ending(t.Context(), 4*time.Second), lane.OpDeploy, 0)
	if err != nil || r.Status != task.Failed || r.FailureTypes[0] != fault.Timeout || !strings.Contains(r.Message, "Function web is being updated") {
		t.Errorf("%v, %v: %s", err, r.FailureTypes, r.Message)
	}
	ctx, abort := context.WithCancelCause(t.Context())
	looks := a.Count("lambda:GetFunctionConfiguration")
	go func() {
		a.Await("lambda:GetFunctionConfiguration", looks+2) // the first has said how things stand
		abort(executor.ErrCancelled)
	}()
	if _, err := s.try(ctx, lane.OpDeploy, 0); !errors.Is(err, executor.ErrCancelled) || !strings.Contains(err.Error(), "is being updated") {
		t.Errorf("aborted: %v", err)
	}
	a.Go()
	back()
}

// A role that was made a moment ago can't be assumed yet, and a function that was made a
// moment ago isn't known yet: neither fails the step.
func TestWhatWasJustMade(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.Fail("lambda:CreateFunction", testaws.Fault{Code: "InvalidParameterValueException", Message: "The role defined for the function cannot be assumed by Lambda.", Times: 1})
	a.Fail("lambda:GetFunctionConfiguration", testaws.Fault{Code: "ResourceNotFoundException", Message: "Function not found", Times: 2})
	a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	a.want("1", "1")
}

// Who may not list a function's tags doesn't learn whose it is: the rollback of a first
// deployment says so and leaves it.
func TestTagsThatCantBeRead(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	s := a.stage("e1", "web-1.zip")
	s.good(lane.OpDeploy, 0)
	knows := a.kind
	hide := middleware.InitializeMiddlewareFunc("Untold", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, more, err := next.HandleInitialize(ctx, in)
		if f, ok := out.Result.(*lambda.GetFunctionOutput); ok && f != nil {
			f.Tags, f.TagsError = nil, &types.TagsError{ErrorCode: sdk.String("AccessDeniedException"), Message: sdk.String("not authorized")}
		}
		return out, more, err
	})
	a.kind = awslambda.Kind(awslambda.Config{Pace: awswait.Every(20 * time.Millisecond), Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{
		config.WithBaseEndpoint(a.Endpoint), config.WithAPIOptions([]func(*middleware.Stack) error{
			func(s *middleware.Stack) error { return s.Initialize.Add(hide, middleware.Before) },
		}),
	}}})
	r := s.do(lane.OpRollback, 0)
	if r.Status != task.Failed || r.FailureTypes[0] != fault.Authorization || !strings.Contains(r.Message, "the caller needs lambda:ListTags") {
		t.Errorf("%s, %v: %s", r.Status, r.FailureTypes, r.Message)
	}
	a.want("1", "1")
	a.kind = knows
	s.good(lane.OpRollback, 0)
	if _, err := a.lambda.GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: sdk.String("web")}); err == nil {
		t.Error("the function is still there")
	}
}
