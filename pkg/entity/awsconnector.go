package entity

import (
	"regexp"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// AWSConnector is an account of AWS and how a delegate proves there who it is
// (entities spec §9). Fields that end in Ref name secrets.
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

func (d *decoder) awsConnector(v yamldoc.Value, common keys, a *AWSConnector) {
	d.fields(v, merge(common, keys{
		"credential":                          func(v yamldoc.Value) { d.awsCredential(v, a) },
		"awsSdkClientBackOffStrategyOverride": func(v yamldoc.Value) { d.awsBackOff(v, &a.BackOff) },
	}))
	d.need(v, "credential")
}

func (d *decoder) awsCredential(v yamldoc.Value, a *AWSConnector) {
	typ := peek(v, "type")
	d.fields(v, keys{
		"type":   d.supported(&a.Credential, "AWS authentication", []string{"ManualConfig", "InheritFromDelegate", "Irsa"}, "OidcAuthentication"),
		"region": d.text(&a.Region),
		"crossAccountAccess": func(v yamldoc.Value) {
			if v.Null() {
				return
			}
			d.fields(v, keys{
				"crossAccountRoleArn": func(v yamldoc.Value) { d.role(v, &a.Role) },
				"externalId":          d.text(&a.ExternalID),
			})
			d.need(v, "crossAccountRoleArn")
		},
		"spec": func(v yamldoc.Value) {
			if typ != "ManualConfig" {
				return // blank, or left over from another type
			}
			d.fields(v, keys{
				"accessKey":       d.text(&a.AccessKey),
				"accessKeyRef":    d.secretRef(&a.AccessKeyRef),
				"secretKeyRef":    d.secretRef(&a.SecretKeyRef),
				"sessionTokenRef": d.secretRef(&a.SessionTokenRef),
			})
			d.need(v, "secretKeyRef")
			if neutral(v.Node.Get("accessKey")) && neutral(v.Node.Get("accessKeyRef")) && v.Is(yamldoc.Mapping) {
				d.Errorf(v, missingKey, "one of the keys accessKey, accessKeyRef is missing")
			}
		},
	})
	d.need(v, "type")
	if typ == "ManualConfig" {
		d.need(v, "spec")
	}
}

func (d *decoder) role(v yamldoc.Value, f *yamldoc.Field[string]) {
	if *f = d.String(v); f.Value != "" && !roleARN.MatchString(f.Value) {
		d.Errorf(v, wrongValue, "found %q; want the ARN of a role, such as arn:aws:iam::123456789012:role/deployer", f.Value)
	}
}

func (d *decoder) awsBackOff(v yamldoc.Value, b *AWSBackOff) {
	if v.Null() {
		return
	}
	typ := peek(v, "type")
	count := func(f *yamldoc.Field[int]) func(yamldoc.Value) {
		return func(v yamldoc.Value) {
			if *f = d.Int(v); f.Value < 0 {
				d.Errorf(v, wrongValue, "found %d; want a number that isn't negative", f.Value)
			}
		}
	}
	d.fields(v, keys{
		"type": d.literal(&b.Strategy, fixedDelay, equalJitter, fullJitter),
		"spec": func(v yamldoc.Value) {
			known := keys{"retryCount": count(&b.Retries), "baseDelay": count(&b.Base), "maxBackoffTime": count(&b.Max)}
			if typ == fixedDelay {
				known = keys{"retryCount": count(&b.Retries), "fixedBackoff": count(&b.Fixed)}
			}
			d.fields(v, known)
		},
	})
	d.need(v, "type", "spec")
}
