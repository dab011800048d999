package artifact

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ECR is an image in AWS's registry.
type ECR struct {
	Base
	Path, Region yamldoc.Field[string]
	Account      yamldoc.Field[string] // that owns the registry; none: the connector's
}

var accountID = regexp.MustCompile(`^\d{12}$`)

// IsAccount says whether a text is the number of an account of AWS.
func IsAccount(text string) bool { return accountID.MatchString(text) }

func decodeECR(d *Decoder, v yamldoc.Value) Source {
	s := &ECR{Base: Base{FixedKey: "tag", PatternKey: "tagRegex"}}
	s.decode(d, v, form{need: []string{"region", "imagePath"}, digest: true}, document.Keys{
		"region": d.Text(&s.Region), "imagePath": d.Text(&s.Path),
		"registryId": func(v yamldoc.Value) {
			if s.Account = d.String(v); s.Account.Value != "" && !IsAccount(s.Account.Value) {
				d.Errorf(v, document.WrongValue, "found %q; want the twelve digits of an AWS account", s.Account.Value)
			}
		},
	})
	return s
}

// LookedUp says whether a delegate must ask: whose image it is may be known by
// the credentials only.
func (s *ECR) LookedUp() bool { return !s.fixed() || s.Account.Value+s.Account.Expr == "" }

// Ask fills in the image. Whose registry it is may be known to AWS alone; then
// it has no name yet.
func (s *ECR) Ask(_ Reach, c connector.Connector, a *Asked) error {
	account, err := c.AWS(s.Region.Value)
	if err != nil {
		return err
	}
	a.ECR = &lookup.ECRImages{AWS: account, Repository: s.Path.Value, Account: s.Account.Value}
	a.Name = a.ECR.Repository
	if host := ECRHost(*a.ECR); host != "" {
		a.Registry = &lookup.Registry{Repository: a.ECR.Repository, Image: host + "/" + a.ECR.Repository}
		a.Name = a.Registry.Image
	}
	return nil
}

// Pull fills in the account.
func (s *ECR) Pull(a Asked, p *task.PullSecret) {
	p.ECR = &a.ECR.AWS
	if host := ECRHost(*a.ECR); host != "" {
		p.Registry = "https://" + host
	}
}

// ECRHost is the address of an ECR registry. Its account is the image's own,
// else that of the role which the connector assumes; empty if neither says it.
func ECRHost(image lookup.ECRImages) string {
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

// S3 is an object of a bucket of AWS's.
type S3 struct {
	Base
	Bucket, Region yamldoc.Field[string]
}

func decodeS3(d *Decoder, v yamldoc.Value) Source {
	s := &S3{Base: Base{FixedKey: "filePath", PatternKey: "filePathRegex"}}
	s.decode(d, v, form{need: []string{"bucketName"}}, document.Keys{
		"bucketName": d.Text(&s.Bucket), "region": d.Text(&s.Region),
		"fileFilter": d.Refuse("filtering files (fileFilter) isn't supported"),
	})
	return s
}

// LookedUp says whether a delegate must ask.
func (s *S3) LookedUp() bool { return !s.fixed() }

// Ask fills in the objects.
func (s *S3) Ask(_ Reach, c connector.Connector, a *Asked) error {
	account, err := c.AWS(s.Region.Value)
	a.S3 = &task.S3Objects{AWS: account, Bucket: s.Bucket.Value}
	a.Name = "s3://" + a.S3.Bucket
	return err
}

// Knows says what is known of the object by its place.
func (s *S3) Knows(name string) bool {
	return slices.Contains([]string{"url", "artifactPath", "key", "fileName"}, name)
}

// Metadata is what is known of the object by its place.
func (s *S3) Metadata(name string) string {
	switch name {
	case "url":
		return "s3://" + s.Bucket.Value + "/" + s.Fixed.Value
	case "fileName":
		return path.Base(s.Fixed.Value)
	}
	return s.Fixed.Value
}

// GCR is an image in Google's Container Registry.
type GCR struct {
	Base
	Host, Path yamldoc.Field[string]
}

func decodeGCR(d *Decoder, v yamldoc.Value) Source {
	s := &GCR{Base: Base{FixedKey: "tag", PatternKey: "tagRegex"}}
	s.decode(d, v, form{need: []string{"registryHostname", "imagePath"}, digest: true},
		document.Keys{"registryHostname": d.Text(&s.Host), "imagePath": d.Text(&s.Path)})
	return s
}

// LookedUp says whether a delegate must ask.
func (s *GCR) LookedUp() bool { return !s.fixed() }

// Ask fills in the image.
func (s *GCR) Ask(_ Reach, c connector.Connector, a *Asked) (err error) {
	a.image(s.Host.Value, s.Path.Value)
	a.Registry.Google, err = c.Google()
	return err
}

// Pull fills in the access to Google Cloud.
func (s *GCR) Pull(a Asked, p *task.PullSecret) { a.pull(p) }

// GAR is an image in Google's Artifact Registry.
type GAR struct {
	Base
	Project, Region, Repository, Package yamldoc.Field[string]
}

func decodeGAR(d *Decoder, v yamldoc.Value) Source {
	s := &GAR{Base: Base{FixedKey: "version", PatternKey: "versionRegex"}}
	s.decode(d, v, form{need: []string{"repositoryType", "project", "region", "repositoryName", "package"}, digest: true}, document.Keys{
		"repositoryType": d.Literal(new(yamldoc.Field[string]), "docker"),
		"project":        d.Text(&s.Project), "region": d.Text(&s.Region), "repositoryName": d.Text(&s.Repository), "package": d.Text(&s.Package),
	})
	return s
}

// LookedUp says whether a delegate must ask.
func (s *GAR) LookedUp() bool { return !s.fixed() }

// Ask fills in the image.
func (s *GAR) Ask(_ Reach, c connector.Connector, a *Asked) (err error) {
	a.image(s.Region.Value+"-docker.pkg.dev", s.Project.Value+"/"+s.Repository.Value+"/"+s.Package.Value)
	a.Registry.Google, err = c.Google()
	return err
}

// Pull fills in the access to Google Cloud.
func (s *GAR) Pull(a Asked, p *task.PullSecret) { a.pull(p) }

// GCS is an object of a bucket of Google's, which is one of all of Google's: its
// project isn't looked for.
type GCS struct {
	Base
	Bucket yamldoc.Field[string]
}

func decodeGCS(d *Decoder, v yamldoc.Value) Source {
	s := &GCS{Base: Base{FixedKey: "artifactPath"}}
	s.decode(d, v, form{need: []string{"project", "bucket"}}, document.Keys{"project": d.Text(nil), "bucket": d.Text(&s.Bucket)})
	return s
}

// LookedUp says that a delegate looks whether the object is there.
func (s *GCS) LookedUp() bool { return true }

// Ask fills in the bucket.
func (s *GCS) Ask(_ Reach, c connector.Connector, a *Asked) error {
	access, err := c.Google()
	if err != nil {
		return err
	}
	a.Bucket, a.Name = &task.GoogleBucket{Google: *access, Bucket: s.Bucket.Value}, "bucket "+s.Bucket.Value
	return nil
}

// ACR is an image of Azure's container registry. A registry's name is one of
// all in its cloud, so its subscription isn't looked for.
type ACR struct {
	Base
	Registry, Repository yamldoc.Field[string]
}

func decodeACR(d *Decoder, v yamldoc.Value) Source {
	s := &ACR{Base: Base{FixedKey: "tag", PatternKey: "tagRegex"}}
	s.decode(d, v, form{need: []string{"subscriptionId", "registry", "repository"}, digest: true},
		document.Keys{"subscriptionId": d.Text(nil), "registry": d.Text(&s.Registry), "repository": d.Text(&s.Repository)})
	return s
}

// LookedUp says whether a delegate must ask.
func (s *ACR) LookedUp() bool { return !s.fixed() }

// Ask fills in the image.
func (s *ACR) Ask(_ Reach, c connector.Connector, a *Asked) error {
	access, err := c.Azure()
	if err != nil {
		return err
	}
	host := strings.ToLower(s.Registry.Value)
	switch {
	case strings.Contains(host, "."): // the login server
	case access.Government:
		host += ".azurecr.us"
	default:
		host += ".azurecr.io"
	}
	a.image(host, s.Repository.Value)
	a.Registry.Azure = access
	return nil
}

// Pull fills in the access to Azure.
func (s *ACR) Pull(a Asked, p *task.PullSecret) { a.pull(p) }
