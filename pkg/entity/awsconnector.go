package entity

import (
	"regexp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// AWSConnector is an account of AWS and how a delegate proves there who it is
// (semantics/entities §9). Fields that end in Ref name secrets.
type AWSConnector struct {
	Credential      yamldoc.Field[string] // ManualConfig, InheritFromDelegate or Irsa
	AccessKey       yamldoc.Field[string]
	AccessKeyRef    yamldoc.Field[string]
	SecretKeyRef    yamldoc.Field[string]
	SessionTokenRef yamldoc.Field[string]
	Region          yamldoc.Field[string]
	// Role is assumed with the credentials above; none: they are used themselves.
	Role       yamldoc.Field[string]
	ExternalID yamldoc.Field[string]
	BackOff    AWSBackOff
}

// AWSBackOff says how often and after which time a request that failed is
// sent again. All times are milliseconds.
type AWSBackOff struct {
	Strategy yamldoc.Field[string]
	Retries  yamldoc.Field[int]
	Fixed    yamldoc.Field[int] // FixedDelayBackoffStrategy
	Base     yamldoc.Field[int] // the two with jitter
	Max      yamldoc.Field[int] // the two with jitter
}

const (
	fixedDelay  = "FixedDelayBackoffStrategy"
	equalJitter = "EqualJitterBackoffStrategy"
	fullJitter  = "FullJitterBackoffStrategy"
)

// roleARN is what a role's name is from AWS's point of view.
var roleARN = regexp.MustCompile(`^arn:[a-z-]+:iam::\d{12}:role/.+$`)

func (d *decoder) awsConnector(v yamldoc.Value, common document.Keys, a *AWSConnector) {
	d.Fields(v, document.Merge(common, document.Keys{
		"credential":                          func(v yamldoc.Value) { d.awsCredential(v, a) },
		"awsSdkClientBackOffStrategyOverride": func(v yamldoc.Value) { d.awsBackOff(v, &a.BackOff) },
	}))
	d.Need(v, "credential")
}

func (d *decoder) awsCredential(v yamldoc.Value, a *AWSConnector) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type":   d.Supported(&a.Credential, "AWS authentication", []string{"ManualConfig", "InheritFromDelegate", "Irsa"}, "OidcAuthentication"),
		"region": d.Text(&a.Region),
		"crossAccountAccess": func(v yamldoc.Value) {
			if v.Null() {
				return
			}
			d.Fields(v, document.Keys{
				"crossAccountRoleArn": func(v yamldoc.Value) { d.role(v, &a.Role) },
				"externalId":          d.Text(&a.ExternalID),
			})
			d.Need(v, "crossAccountRoleArn")
		},
		"spec": func(v yamldoc.Value) {
			if typ != "ManualConfig" {
				return // blank, or left over from another type
			}
			d.Fields(v, document.Keys{
				"accessKey":       d.Text(&a.AccessKey),
				"accessKeyRef":    d.secretRef(&a.AccessKeyRef),
				"secretKeyRef":    d.secretRef(&a.SecretKeyRef),
				"sessionTokenRef": d.secretRef(&a.SessionTokenRef),
			})
			d.Need(v, "secretKeyRef")
			if document.Neutral(v.Node.Get("accessKey")) && document.Neutral(v.Node.Get("accessKeyRef")) && v.Is(yamldoc.Mapping) {
				d.Errorf(v, document.MissingKey, "one of the keys accessKey, accessKeyRef is missing")
			}
		},
	})
	d.Need(v, "type")
	if typ == "ManualConfig" {
		d.Need(v, "spec")
	}
}

func (d *decoder) role(v yamldoc.Value, f *yamldoc.Field[string]) {
	if *f = d.String(v); f.Value != "" && !roleARN.MatchString(f.Value) {
		d.Errorf(v, document.WrongValue, "found %q; want the ARN of a role, such as arn:aws:iam::123456789012:role/deployer", f.Value)
	}
}

func (d *decoder) awsBackOff(v yamldoc.Value, b *AWSBackOff) {
	if v.Null() {
		return
	}
	typ := document.Peek(v, "type")
	count := func(f *yamldoc.Field[int]) func(yamldoc.Value) {
		return func(v yamldoc.Value) {
			if *f = d.Int(v); f.Value < 0 {
				d.Errorf(v, document.WrongValue, "found %d; want a number that isn't negative", f.Value)
			}
		}
	}
	d.Fields(v, document.Keys{
		"type": d.Literal(&b.Strategy, fixedDelay, equalJitter, fullJitter),
		"spec": func(v yamldoc.Value) {
			known := document.Keys{"retryCount": count(&b.Retries), "baseDelay": count(&b.Base), "maxBackoffTime": count(&b.Max)}
			if typ == fixedDelay {
				known = document.Keys{"retryCount": count(&b.Retries), "fixedBackoff": count(&b.Fixed)}
			}
			d.Fields(v, known)
		},
	})
	d.Need(v, "type", "spec")
}
