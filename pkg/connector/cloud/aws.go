package cloud

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// AWS is an account of AWS and how a delegate proves there who it is. Fields
// that end in Ref name secrets.
type AWS struct {
	Credential      yamldoc.Field[string] // ManualConfig, InheritFromDelegate, Irsa or OidcAuthentication
	AccessKey       yamldoc.Field[string]
	AccessKeyRef    yamldoc.Field[string]
	SecretKeyRef    yamldoc.Field[string]
	SessionTokenRef yamldoc.Field[string]
	Region          yamldoc.Field[string]
	// WebRole is assumed with a token of OidcAuthentication, whose claims TagKeys
	// AWS's session gets as tags.
	WebRole yamldoc.Field[string]
	TagKeys []string
	// Role is assumed with the credentials above; none: they are used themselves.
	Role       yamldoc.Field[string]
	ExternalID yamldoc.Field[string]
	BackOff    BackOff
}

// BackOff says how often and after which time a request that failed is
// sent again. All times are milliseconds.
type BackOff struct {
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

func decodeAWS(d *connector.Decoder, v yamldoc.Value) *AWS {
	a := &AWS{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"credential":                          func(v yamldoc.Value) { a.credential(d, v) },
		"awsSdkClientBackOffStrategyOverride": func(v yamldoc.Value) { a.BackOff.decode(d, v) },
	}))
	d.Need(v, "credential")
	return a
}

func (a *AWS) credential(d *connector.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type":   d.Supported(&a.Credential, "AWS authentication", []string{manual, inherit, irsa, oidc}),
		"region": d.Text(&a.Region),
		"crossAccountAccess": func(v yamldoc.Value) {
			if v.Null() {
				return
			}
			d.Fields(v, document.Keys{"crossAccountRoleArn": d.Role(&a.Role), "externalId": d.Text(&a.ExternalID)})
			d.Need(v, "crossAccountRoleArn")
		},
		"spec": func(v yamldoc.Value) {
			switch typ {
			case manual:
				a.keys(d, v)
			case oidc:
				d.Fields(v, document.Keys{"iamRoleArn": d.Role(&a.WebRole), "sessionTagKeys": a.tagKeys(d)})
				d.Need(v, "iamRoleArn")
			case inherit, irsa:
				d.LeftOver(v, typ)
			}
		},
	})
	d.Need(v, "type")
	if typ == manual || typ == oidc {
		d.Need(v, "spec")
	}
}

func (a *AWS) keys(d *connector.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"accessKey":       d.Text(&a.AccessKey),
		"accessKeyRef":    d.Secret(&a.AccessKeyRef),
		"secretKeyRef":    d.Secret(&a.SecretKeyRef),
		"sessionTokenRef": d.Secret(&a.SessionTokenRef),
	})
	d.Need(v, "secretKeyRef")
	if document.Neutral(v.Node.Get("accessKey")) && document.Neutral(v.Node.Get("accessKeyRef")) && v.Is(yamldoc.Mapping) {
		d.Errorf(v, document.MissingKey, "one of the keys accessKey, accessKeyRef is missing")
	}
}

// tagKeys are names of claims.
func (a *AWS) tagKeys(d *connector.Decoder) document.Rule {
	return func(v yamldoc.Value) {
		for item := range d.Items(v) {
			var key yamldoc.Field[string]
			d.Literal(&key, identity.Claims()...)(item)
			if key.Value != "" && slices.Contains(a.TagKeys, key.Value) {
				d.Errorf(item, document.WrongValue, "found %q twice", key.Value)
			}
			a.TagKeys = append(a.TagKeys, key.Value)
		}
	}
}

func (b *BackOff) decode(d *connector.Decoder, v yamldoc.Value) {
	if v.Null() {
		return
	}
	typ := document.Peek(v, "type")
	count := func(f *yamldoc.Field[int]) document.Rule {
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

// AWS is the account, for a delegate. A region wins over the connector's own.
func (a *AWS) AWS(r connector.Reach, region string) (task.AWS, error) {
	out := task.AWS{Auth: task.AWSAuth(a.Credential.Value), Region: region, Role: a.Role.Value, ExternalID: a.ExternalID.Value}
	if out.Region == "" {
		out.Region = a.Region.Value
	}
	if b := a.BackOff; b.Strategy.Value != "" { // else as the SDK does
		out.BackOff = &task.AWSBackOff{Strategy: b.Strategy.Value, Retries: b.Retries.Value, Fixed: b.Fixed.Value, Base: b.Base.Value, Max: b.Max.Value}
	}
	switch out.Auth {
	case task.AWSOIDC:
		name, subject := r.Identity(identity.AWSAudience, a.TagKeys)
		out.Web = &task.AWSWeb{Role: a.WebRole.Value, Identity: name, Subject: subject}
		return out, nil
	case task.AWSInherit, task.AWSIRSA:
		return out, nil
	case task.AWSKeys:
	}
	var err error
	if out.AccessKey = a.AccessKey.Value; out.AccessKey == "" {
		if out.AccessKey, err = r.Secret(a.AccessKeyRef); err != nil {
			return task.AWS{}, err
		}
	}
	if out.SecretKey, err = r.Secret(a.SecretKeyRef); err != nil {
		return task.AWS{}, err
	}
	out.SessionToken, err = r.Secret(a.SessionTokenRef)
	return out, err
}

// Account is that of the role which the connector assumes last.
func (a *AWS) Account() string {
	if parts := strings.Split(cmp.Or(a.Role.Value, a.WebRole.Value), ":"); len(parts) > 4 {
		return parts[4]
	}
	return ""
}

// Probe asks AWS who the connector is.
func (a *AWS) Probe(r connector.Reach) (connector.Probe, error) {
	account, err := a.AWS(r, "")
	return connector.Probe{Task: probe.Spec{AWS: &probe.AWS{AWS: account}}}, err
}
