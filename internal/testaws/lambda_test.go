package testaws_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// functions is the Lambda of a world whose time is held.
type functions struct {
	*lambda.Client
	world *testaws.World
	role  string
}

func newFunctions(t *testing.T) functions {
	t.Helper()
	w := testaws.NewWorld(t)
	w.Hold()
	return functions{
		Client: lambda.NewFromConfig(w.Config(), func(o *lambda.Options) { o.RetryMaxAttempts = 1 }),
		world:  w, role: w.Role("functions"),
	}
}

// create makes a function of a zip and waits for it.
func (f functions) create(t *testing.T, name string) {
	t.Helper()
	out, err := f.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Role: &f.role, Runtime: types.RuntimePython312, Handler: aws.String("index.handler"),
		Code: &types.FunctionCode{ZipFile: archive(t, "one")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.State != types.StatePending || out.StateReasonCode != types.StateReasonCodeCreating {
		t.Errorf("a new function is %s (%s), want Pending (Creating)", out.State, out.StateReasonCode)
	}
	f.world.Pass(time.Minute)
}

// change updates the code of a function and waits for it.
func (f functions) change(t *testing.T, name, text string) {
	t.Helper()
	if _, err := f.UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{FunctionName: &name, ZipFile: archive(t, text)}); err != nil {
		t.Fatal(err)
	}
	f.world.Pass(time.Minute)
}

// publish publishes what a function is.
func (f functions) publish(t *testing.T, name string) *lambda.PublishVersionOutput {
	t.Helper()
	out, err := f.PublishVersion(t.Context(), &lambda.PublishVersionInput{FunctionName: &name})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (f functions) get(t *testing.T, name, qualifier string) *lambda.GetFunctionOutput {
	t.Helper()
	out, err := f.GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: &name, Qualifier: &qualifier})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A change takes its time, during which there is no other, and makes a new
// revision.
func TestLambdaChanges(t *testing.T) {
	t.Parallel()
	f, name := newFunctions(t), aws.String("web")
	f.create(t, *name)
	before := f.get(t, *name, "$LATEST").Configuration
	if before.State != types.StateActive || before.LastUpdateStatus != types.LastUpdateStatusSuccessful {
		t.Errorf("after a minute it is %s, %s", before.State, before.LastUpdateStatus)
	}
	updated, err := f.UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{
		FunctionName: name, ZipFile: archive(t, "two"), RevisionId: before.RevisionId,
	})
	if err != nil {
		t.Fatal(err)
	}
	if updated.LastUpdateStatus != types.LastUpdateStatusInProgress {
		t.Errorf("an update answers %s, want InProgress", updated.LastUpdateStatus)
	}
	configure := func(revision *string) error {
		_, err := f.UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{
			FunctionName: name, EphemeralStorage: &types.EphemeralStorage{Size: aws.Int32(1024)}, RevisionId: revision,
		})
		return err
	}
	wantCode(t, "a change during a change", configure(nil), "ResourceConflictException")
	_, err = f.PublishVersion(t.Context(), &lambda.PublishVersionInput{FunctionName: name})
	wantCode(t, "a version during a change", err, "ResourceConflictException")
	f.world.Pass(time.Minute)
	wantCode(t, "an old revision", configure(before.RevisionId), "PreconditionFailedException")
	after := f.get(t, *name, "$LATEST").Configuration
	wantCode(t, "the revision", configure(after.RevisionId), "")
	f.world.Pass(time.Minute)
	if size := f.get(t, *name, "$LATEST").Configuration.EphemeralStorage.Size; aws.ToInt32(size) != 1024 {
		t.Errorf("ephemeral storage %d, want 1024", aws.ToInt32(size))
	}
}

// A code that can't be used fails when the function is about to run with it.
func TestLambdaBrokenCode(t *testing.T) {
	t.Parallel()
	f, name := newFunctions(t), aws.String("web")
	image := func(tag string) *string { return aws.String("123456789012.dkr.ecr.eu-west-1.amazonaws.com/web" + tag) }
	digest := "@sha256:" + strings.Repeat("ab", 32)
	_, err := f.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: name, Role: &f.role, PackageType: types.PackageTypeImage, Code: &types.FunctionCode{ImageUri: image(digest)},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.world.Pass(time.Minute)
	if got := f.get(t, *name, "$LATEST").Code; aws.ToString(got.ResolvedImageUri) != *image(digest) {
		t.Errorf("resolved image %s, want %s", aws.ToString(got.ResolvedImageUri), *image(digest))
	}
	if _, err := f.UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{FunctionName: name, ImageUri: image(":crash-1")}); err != nil {
		t.Fatal(err)
	}
	f.world.Pass(time.Minute)
	got := f.get(t, *name, "$LATEST").Configuration
	if got.LastUpdateStatus != types.LastUpdateStatusFailed || got.LastUpdateStatusReasonCode != types.LastUpdateStatusReasonCodeInvalidImage {
		t.Errorf("a broken image: %s (%s), want Failed (InvalidImage)", got.LastUpdateStatus, got.LastUpdateStatusReasonCode)
	}
}

// Code has to be there and to be of the function's package type.
func TestLambdaCode(t *testing.T) {
	t.Parallel()
	f, name := newFunctions(t), aws.String("web")
	f.create(t, *name)
	tests := []struct {
		name string
		in   lambda.UpdateFunctionCodeInput
		want string
	}{
		{name: "none", want: "Please provide a source for function code"},
		{name: "an image", in: lambda.UpdateFunctionCodeInput{ImageUri: aws.String("web:1")}, want: "packageType Zip"},
		{name: "no bucket", in: lambda.UpdateFunctionCodeInput{S3Bucket: aws.String("none"), S3Key: aws.String("web.zip")}, want: "NoSuchBucket"},
	}
	for _, tt := range tests {
		tt.in.FunctionName = name
		_, err := f.UpdateFunctionCode(t.Context(), &tt.in)
		wantCode(t, tt.name, err, "InvalidParameterValueException")
		if err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	location := aws.ToString(f.get(t, *name, "$LATEST").Code.Location)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, location, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(content, archive(t, "one")) {
		t.Errorf("the code's location answers %s with %d bytes (%v), want those that were sent", resp.Status, len(content), err)
	}
}

// A version stays what it was, and isn't made without a change.
func TestLambdaVersions(t *testing.T) {
	t.Parallel()
	f, name := newFunctions(t), aws.String("web")
	f.create(t, *name)
	first, again := f.publish(t, *name), f.publish(t, *name)
	if *first.Version != "1" || *again.Version != "1" {
		t.Errorf("published %s, %s without a change, want 1 and 1", *first.Version, *again.Version)
	}
	f.change(t, *name, "two")
	_, err := f.PublishVersion(t.Context(), &lambda.PublishVersionInput{FunctionName: name, CodeSha256: first.CodeSha256})
	wantCode(t, "the digest of other code", err, "InvalidParameterValueException")
	second := f.publish(t, *name)
	if got := f.get(t, *name, "1").Configuration.CodeSha256; *got != *first.CodeSha256 || *got == *second.CodeSha256 {
		t.Errorf("version 1 has the digest %s now, had %s; version 2 has %s", *got, *first.CodeSha256, *second.CodeSha256)
	}
	if _, err := f.DeleteFunction(t.Context(), &lambda.DeleteFunctionInput{FunctionName: name, Qualifier: second.Version}); err != nil {
		t.Fatal(err)
	}
	f.change(t, *name, "three")
	if third := f.publish(t, *name); *third.Version != "3" {
		t.Errorf("published %s after version 2 was deleted, want 3", *third.Version)
	}
	page, err := f.ListVersionsByFunction(t.Context(), &lambda.ListVersionsByFunctionInput{FunctionName: name, MaxItems: aws.Int32(2)})
	if err != nil || len(page.Versions) != 2 || page.NextMarker == nil {
		t.Errorf("a page of two versions: %d, marker %v, %v", len(page.Versions), page.NextMarker, err)
	}
}

// Aliases follow AWS's rules of names, revisions and weights.
func TestLambdaAliases(t *testing.T) {
	t.Parallel()
	f, name := newFunctions(t), aws.String("web")
	f.create(t, *name)
	f.publish(t, *name)
	f.change(t, *name, "two")
	f.publish(t, *name)
	other := f.world.Role("other")
	if _, err := f.UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{FunctionName: name, Role: &other}); err != nil {
		t.Fatal(err)
	}
	f.world.Pass(time.Minute)
	f.publish(t, *name)
	create := func() (*lambda.CreateAliasOutput, error) {
		return f.CreateAlias(t.Context(), &lambda.CreateAliasInput{FunctionName: name, Name: aws.String("live"), FunctionVersion: aws.String("1")})
	}
	alias, err := create()
	if err != nil {
		t.Fatal(err)
	}
	_, err = create()
	wantCode(t, "the alias again", err, "ResourceConflictException")
	update := func(ctx context.Context, version, revision *string, weights map[string]float64) (*lambda.UpdateAliasOutput, error) {
		return f.UpdateAlias(ctx, &lambda.UpdateAliasInput{
			FunctionName: name, Name: aws.String("live"), FunctionVersion: version, RevisionId: revision,
			RoutingConfig: &types.AliasRoutingConfiguration{AdditionalVersionWeights: weights},
		})
	}
	tests := []struct {
		name    string
		version *string
		weights map[string]float64
		want    string
	}{
		{name: "more than all", weights: map[string]float64{"2": 1.5}, want: "ValidationException"},
		{name: "two others", weights: map[string]float64{"2": 0.1, "3": 0.1}, want: "InvalidParameterValueException"},
		{name: "$LATEST", weights: map[string]float64{"$LATEST": 0.1}, want: "InvalidParameterValueException"},
		{name: "from $LATEST", version: aws.String("$LATEST"), weights: map[string]float64{"2": 0.1}, want: "InvalidParameterValueException"},
		{name: "itself", weights: map[string]float64{"1": 0.1}, want: "InvalidParameterValueException"},
		{name: "another role", weights: map[string]float64{"3": 0.1}, want: "InvalidParameterValueException"},
		{name: "none", weights: map[string]float64{"9": 0.1}, want: "ResourceNotFoundException"},
		{name: "a tenth", weights: map[string]float64{"2": 0.1}},
	}
	for _, tt := range tests {
		_, err := update(t.Context(), tt.version, nil, tt.weights)
		wantCode(t, tt.name, err, tt.want)
	}
	_, err = update(t.Context(), nil, alias.RevisionId, nil)
	wantCode(t, "an old revision", err, "PreconditionFailedException")
	_, err = f.DeleteFunction(t.Context(), &lambda.DeleteFunctionInput{FunctionName: name, Qualifier: aws.String("2")})
	wantCode(t, "a version that an alias names", err, "ResourceConflictException")
	if _, err := update(t.Context(), aws.String("2"), nil, map[string]float64{}); err != nil {
		t.Fatal(err)
	}
	got, err := f.GetAlias(t.Context(), &lambda.GetAliasInput{FunctionName: name, Name: aws.String("live")})
	if err != nil {
		t.Fatal(err)
	}
	if *got.FunctionVersion != "2" || got.RoutingConfig != nil {
		t.Errorf("the alias is on %s with %v, want 2 without weights", *got.FunctionVersion, got.RoutingConfig)
	}
}

// archive is a zip with a file.
func archive(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	file, err := z.CreateHeader(&zip.FileHeader{Name: "index.py"})
	if err == nil {
		_, err = io.WriteString(file, text)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// wantCode checks the code of an error; empty for none.
func wantCode(t *testing.T, what string, err error, want string) {
	t.Helper()
	var got string
	var api smithy.APIError
	switch {
	case errors.As(err, &api):
		got = api.ErrorCode()
	case err != nil:
		got = err.Error()
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s%v", what, d, err)
	}
}
