package resolve

import (
	"path"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// amazonS3 is the type of artifact sources that are objects of a bucket.
const amazonS3 = "AmazonS3"

// AWS resolves an Aws connector for a delegate: its keys as placeholders, and
// the selectors that it adds (semantics/entities §9). region wins over its own.
func (s *Scope) AWS(connector *yamldoc.Node, region string) (task.AWS, []string, error) {
	doc, err := s.connector(connector, s.Execution.Scope)
	if err != nil {
		return task.AWS{}, nil, err
	}
	a, err := s.awsAccess(doc, region)
	return a, words(doc.At("spec", "delegateSelectors")), err
}

// awsAccess resolves the document of an Aws connector.
func (s *Scope) awsAccess(doc *yamldoc.Node, region string) (task.AWS, error) {
	err := wantConnector(doc, "Aws")
	if err != nil {
		return task.AWS{}, err
	}
	credential := doc.At("spec", "credential")
	cross := credential.Get("crossAccountAccess")
	a := task.AWS{
		Auth: task.AWSAuth(text(credential.Get("type"))), Region: region,
		Role: text(cross.Get("crossAccountRoleArn")), ExternalID: text(cross.Get("externalId")),
	}
	if a.Region == "" {
		a.Region = text(credential.Get("region"))
	}
	if a.BackOff, err = backOff(doc.At("spec", "awsSdkClientBackOffStrategyOverride")); err != nil {
		return task.AWS{}, err
	}
	if a.Auth == task.AWSKeys {
		err = s.awsKeys(credential.Get("spec"), &a)
	}
	return a, err
}

func (s *Scope) awsKeys(spec *yamldoc.Node, a *task.AWS) (err error) {
	if a.AccessKey = text(spec.Get("accessKey")); a.AccessKey == "" {
		if a.AccessKey, err = s.secretAt(spec.Get("accessKeyRef")); err != nil {
			return err
		}
	}
	if a.SecretKey, err = s.secretAt(spec.Get("secretKeyRef")); err != nil {
		return err
	}
	a.SessionToken, err = s.secretAt(spec.Get("sessionTokenRef"))
	return err
}

// backOff is how requests that failed are sent again; nil: as the SDK does.
func backOff(n *yamldoc.Node) (*task.AWSBackOff, error) {
	if text(n.Get("type")) == "" {
		return nil, nil //nolint:nilnil // none is the usual case
	}
	b := &task.AWSBackOff{Strategy: text(n.Get("type"))}
	for key, to := range map[string]*int{"retryCount": &b.Retries, "fixedBackoff": &b.Fixed, "baseDelay": &b.Base, "maxBackoffTime": &b.Max} {
		word := text(n.At("spec", key))
		if word == "" {
			continue
		}
		number, err := strconv.Atoi(word)
		if err != nil || number < 0 {
			return nil, fault.New(fault.Invalid, "%s of awsSdkClientBackOffStrategyOverride is %q; want a number that isn't negative", key, word)
		}
		*to = number
	}
	return b, nil
}

// ecrRegistry fills in an image of ECR. Whose registry it is may be known to
// AWS alone; then it has no name yet.
func (s *Scope) ecrRegistry(spec *yamldoc.Node, a *artifact) error {
	set, err := s.settings(spec, "imagePath", "region", "registryId")
	if err != nil {
		return err
	}
	account, err := s.awsAccess(a.connector, set["region"])
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
	account, err := s.awsAccess(a.connector, set["region"])
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
