package resolve

import (
	"path"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// amazonS3 is the type of artifact sources that are objects of a bucket.
const amazonS3 = "AmazonS3"

// ecrRegistry fills in an image of ECR. Whose registry it is may be known to
// AWS alone; then it has no name yet.
func (s *Scope) ecrRegistry(spec *yamldoc.Node, a *artifact) error {
	set, err := s.settings(spec, "imagePath", "region", "registryId")
	if err != nil {
		return err
	}
	account, err := a.connector.AWS(set["region"])
	if err != nil {
		return err
	}
	a.ECR = &task.ECRImages{AWS: account, Repository: set["imagePath"], Account: set["registryId"]}
	a.Name = a.ECR.Repository
	if host := ecrHost(*a.ECR); host != "" {
		a.Registry = &task.ImageRegistry{Repository: a.ECR.Repository, Image: host + "/" + a.ECR.Repository}
		a.Name = a.Registry.Image
	}
	return nil
}

// s3Bucket fills in the objects of a bucket.
func (s *Scope) s3Bucket(spec *yamldoc.Node, a *artifact) error {
	set, err := s.settings(spec, "bucketName", "region")
	if err != nil {
		return err
	}
	account, err := a.connector.AWS(set["region"])
	a.S3 = &task.S3Objects{AWS: account, Bucket: set["bucketName"]}
	a.Name = "s3://" + a.S3.Bucket
	return err
}

// unknownOwner is the error of an image in ECR that was asked for before AWS
// was.
func unknownOwner() error {
	return fault.New(fault.UnresolvedExpression, "which account has the image isn't known: the artifact source has no registryId, and wasn't asked")
}

// ecrHost is the address of an ECR registry. Its account is the source's
// registryId, else that of the role which the connector assumes; empty if
// neither says it.
func ecrHost(image task.ECRImages) string {
	owner := image.Account
	if owner == "" || owner == "null" {
		parts := strings.Split(image.AWS.Role, ":")
		if len(parts) < 5 || parts[4] == "" {
			return ""
		}
		owner = parts[4]
	}
	return owner + ".dkr.ecr." + image.AWS.Region + ".amazonaws.com" + partition(image.AWS.Region)
}

// partition is what the names of China's regions have behind them.
func partition(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return ".cn"
	}
	return ""
}

// objectURL is the address of an artifact in S3.
func (s *Scope) objectURL(spec *yamldoc.Node) (expr.Value, error) {
	bucket, err := s.scalar(spec.Get("bucketName"))
	if err != nil {
		return expr.Null(), err
	}
	key, err := s.scalar(spec.Get("filePath"))
	if err != nil {
		return expr.Null(), err
	}
	return expr.String("s3://" + bucket.Text() + "/" + key.Text()), nil
}

// objectName is the key of an artifact in S3, or the last part of it; null for
// artifacts of other types.
func (s *Scope) objectName(source *yamldoc.Node, name string, used int) (expr.Value, int, error) {
	if text(source.Get("type")) != amazonS3 {
		return expr.Null(), used, nil
	}
	v, err := s.scalar(source.At("spec", "filePath"))
	if err != nil || name != "fileName" {
		return v, used, err
	}
	return expr.String(path.Base(v.Text())), used, nil
}
