package awslambda

import (
	"context"
	"errors"
	"io"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// maxZip is how large code may be that is sent to Lambda itself, in bytes.
const maxZip = 50 << 20

// code is what a function is made of: an image, an object of S3, or its bytes.
type code struct {
	name                 string // of the artifact's version, for people
	image                string // by its digest
	bucket, key, version string
	zip                  []byte
	// read reads the object, for a function that may not.
	read func(context.Context) ([]byte, error)
}

func (c code) packageType() types.PackageType {
	if c.image != "" {
		return types.PackageTypeImage
	}
	return types.PackageTypeZip
}

// some is a text that isn't empty.
func some(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// function is the code of a function that is made.
func (c code) function() *types.FunctionCode {
	return &types.FunctionCode{ImageUri: some(c.image), S3Bucket: some(c.bucket), S3Key: some(c.key), S3ObjectVersion: some(c.version), ZipFile: c.zip}
}

// update is the call that changes a function's code.
func (c code) update(name string, architectures []types.Architecture) *lambda.UpdateFunctionCodeInput {
	return &lambda.UpdateFunctionCodeInput{
		FunctionName: &name, Architectures: architectures, ImageUri: some(c.image), S3Bucket: some(c.bucket), S3Key: some(c.key), S3ObjectVersion: some(c.version), ZipFile: c.zip,
	}
}

// artifact finds the code that the stage deploys.
func (s *session) artifact(ctx context.Context) (code, error) {
	a := s.spec.Target.Artifact
	switch {
	case a == nil:
		return code{}, wrong("the service has no artifact, which is the function's code")
	case a.ECR != nil:
		return s.imageOf(ctx, a)
	case a.S3 != nil:
		return s.objectOf(ctx, a)
	case a.IsFile():
		return s.fileOf(ctx, a)
	}
	return code{}, fault.New(fault.Unsupported, "a function can't be made of an artifact of the type %s", a.Type)
}

// imageOf is an image by its digest, which doesn't change with its tag.
func (s *session) imageOf(ctx context.Context, a *lookup.Artifact) (code, error) {
	c := code{name: s.work.Target.Image}
	repository, digest := "", a.Choice.Digest
	if a.Registry != nil {
		repository = a.Registry.Image
	}
	if repository == "" || digest == "" {
		access, err := s.cfg.Accesses.Get(ctx, a.ECR.AWS, s.work.Execution)
		if err != nil {
			return code{}, err
		}
		out, err := ecr.NewFromConfig(access.Config).DescribeImages(ctx, &ecr.DescribeImagesInput{
			RepositoryName: &a.ECR.Repository, RegistryId: some(a.ECR.Account), ImageIds: []ecrtypes.ImageIdentifier{{ImageTag: &a.Choice.Version}},
		})
		if err != nil {
			return code{}, access.Failed(ctx, "ecr:DescribeImages", err)
		}
		if len(out.ImageDetails) == 0 {
			return code{}, fault.New(fault.NotFound, "%s has no image %s", a.ECR.Repository, a.Choice.Version)
		}
		found := out.ImageDetails[0]
		repository = aws.ECRHost(sdk.ToString(found.RegistryId), access.Region) + "/" + a.ECR.Repository
		digest = sdk.ToString(found.ImageDigest)
	}
	c.image = repository + "@" + lookup.CanonicalDigest(digest)
	s.Say("Image: %s", c.image)
	return c, nil
}

// objectOf is an object of S3. Lambda reads it itself where the bucket is in its
// region; else the delegate sends it.
func (s *session) objectOf(ctx context.Context, a *lookup.Artifact) (code, error) {
	client, err := s.cfg.Accesses.S3(ctx, *a.S3, s.work.Execution)
	if err != nil {
		return code{}, err
	}
	c := code{name: a.Choice.Version, bucket: a.S3.Bucket, key: a.Choice.Version}
	what := "s3://" + c.bucket + "/" + c.key
	head, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &c.bucket, Key: &c.key})
	var size int64
	switch status := (interface{ HTTPStatusCode() int })(nil); {
	case err == nil:
		size = sdk.ToInt64(head.ContentLength)
		if c.version = sdk.ToString(head.VersionId); c.version == "null" { // of a bucket without versions
			c.version = ""
		}
	case errors.As(err, &status) && status.HTTPStatusCode() == 403:
		s.Say("The connector of the artifact may not read %s; Lambda reads it", what)
	default:
		return code{}, aws.Refused(what, err)
	}
	c.read = func(ctx context.Context) ([]byte, error) { return download(ctx, client, c, size) }
	if region := client.Options().Region; region == s.access.Region {
		s.Say("Code: %s", what)
		return c, nil
	}
	s.Say("Code: %s, which is in another region than the function: the delegate sends it", what)
	return c.sent(ctx)
}

// fileOf is a zip of Artifactory or Nexus, which the delegate sends.
func (s *session) fileOf(ctx context.Context, a *lookup.Artifact) (code, error) {
	what := a.Choice.Version + " of " + a.Name
	s.Say("Code: %s, which the delegate sends", what)
	zip, err := artifact.File(ctx, *a, s.cfg.Transport, maxZip)
	if fault.Is(err, fault.TooLarge) {
		err = wrong("%s has more than 50 MB, which is the most that can be sent to Lambda; put it into a bucket of S3 in the function's region", what)
	}
	return code{name: a.Choice.Version, zip: zip}, err
}

// sent is code that the delegate sends to Lambda.
func (c code) sent(ctx context.Context) (code, error) {
	zip, err := c.read(ctx)
	return code{name: c.name, zip: zip}, err
}

// download reads an object that is small enough to be sent.
func download(ctx context.Context, client *s3.Client, c code, size int64) ([]byte, error) {
	what := "s3://" + c.bucket + "/" + c.key
	tooLarge := wrong("%s has more than 50 MB, which is the most that can be sent to Lambda; put it into a bucket in the function's region that the function's account may read", what)
	if size > maxZip {
		return nil, tooLarge
	}
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &c.bucket, Key: &c.key, VersionId: some(c.version)})
	if err != nil {
		return nil, aws.Refused(what, err)
	}
	defer out.Body.Close()
	zip, err := io.ReadAll(io.LimitReader(out.Body, maxZip+1))
	if err != nil {
		return nil, aws.Refused(what, err)
	}
	if len(zip) > maxZip {
		return nil, tooLarge
	}
	return zip, nil
}

// unread says whether Lambda couldn't read an object of S3 itself.
func unread(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && strings.Contains(api.ErrorMessage(), "Error occurred while GetObject") &&
		(strings.Contains(api.ErrorMessage(), "PermanentRedirect") || strings.Contains(api.ErrorMessage(), "AccessDenied"))
}

// advised adds to an error of Lambda about an image what its repository has to
// allow. Slipway changes no policy of a repository.
func advised(err error) error {
	text := err.Error()
	known := (*fault.Error)(nil)
	if !strings.Contains(text, "ECR") && !strings.Contains(text, "image") || !strings.Contains(text, "permission") && !strings.Contains(text, "policy") || !errors.As(err, &known) {
		return err
	}
	return fault.New(known.Code, `%w; the policy of the repository has to have a statement {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]}`, err).Causing(known.Failures...)
}
