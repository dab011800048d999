package entity

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionName = regexp.MustCompile(`^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$`)
	roleName   = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[-+=,.@_/0-9A-Za-z]+$`)
	externalID = regexp.MustCompile(`^[-+=,.@:_/0-9A-Za-z]{2,}$`)
)

// The longest name of a role with its path in an ARN, and the longest external
// ID, in bytes. They aren't in the expressions: these would be a thousand times
// as large, and each program compiles them when it starts.
const (
	maxRoleName   = len("arn:aws-us-gov:iam::123456789012:role/") + 512 + 64
	maxExternalID = 1000
)

// streamingDestination decodes where the audit trail is brought to
// (semantics/entities §12).
func (d settings) streamingDestination(v yamldoc.Value, e *Entity) *audit.Destination {
	to := &audit.Destination{}
	var status yamldoc.Field[string]
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"status":       d.Literal(&status, "ACTIVE", "INACTIVE"),
		"connectorRef": d.Never("a connector's credentials are a delegate's, and the control plane itself writes there: by its own role, or the one that spec.roleArn names"),
		"spec":         func(v yamldoc.Value) { d.destination(v, e, to) },
	}))
	d.Need(v, "identifier", "name", "spec")
	if e.Scope.Org != "" {
		d.Errorf(v, wrongScope, "streaming destinations are the account's; want no orgIdentifier, and to save it with --org ''")
	}
	to.ID, to.Name, to.Active = e.Identifier.Value, e.Name.Value, status.Value == "ACTIVE"
	return to
}

func (d settings) destination(v yamldoc.Value, e *Entity, to *audit.Destination) {
	var typ, secret yamldoc.Field[string]
	s3, http := string(audit.ToS3), string(audit.ToHTTP)
	text := func(into *string, right *regexp.Regexp, longest int, want string) document.Rule {
		return func(v yamldoc.Value) {
			*into = d.Spelled(v, document.WrongValue, func(text string) error {
				if len(text) > longest || !right.MatchString(text) {
					return fmt.Errorf("found %q; want %s", yamldoc.Shorten(text), want)
				}
				return nil
			}).Value
		}
	}
	only := func(of string, rule document.Rule) document.Rule {
		if found := document.Peek(v, "type"); found == of || found != s3 && found != http {
			return rule
		}
		return d.Forbid(document.MisplacedKey, "only a destination of the type "+of+" has this")
	}
	d.Fields(v, document.Keys{
		"type":       d.Supported(&typ, "a destination of the type", []string{s3, http}, "GOOGLE_CLOUD_STORAGE", "SPLUNK", "SUMO_LOGIC"),
		"bucket":     only(s3, text(&to.Bucket, bucketName, 63, "the name of a bucket")),
		"region":     only(s3, text(&to.Region, regionName, 32, "a region such as eu-central-1")),
		"roleArn":    only(s3, text(&to.Role, roleName, maxRoleName, "the ARN of a role, such as arn:aws:iam::123456789012:role/audit")),
		"externalId": only(s3, text(&to.ExternalID, externalID, maxExternalID, "an external ID of AWS, 2 to 1,000 characters")),
		"url": only(http, func(v yamldoc.Value) {
			to.URL = d.Spelled(v, document.WrongValue, func(text string) error {
				if sso.CheckAddress(text) != nil {
					return errors.New("want an address that begins with https://, without a user and a fragment; on the control plane's own machine it may be http://")
				}
				return nil
			}).Value
		}),
		"secretRef": only(http, func(v yamldoc.Value) {
			d.Reference(ref.Secret, &secret)(v)
			if d.Plain(v, secret.Expr, "a secret of the account"); secret.Expr == "" && secret.Value != "" {
				to.Secret, _ = ref.Parse(secret.Value, e.Scope) // found wrong by the rule above
			}
		}),
	})
	d.Need(v, "type")
	switch to.Type = audit.DestinationType(typ.Value); to.Type {
	case audit.ToS3:
		d.Need(v, "bucket")
		if strings.Contains(to.Bucket, "..") {
			d.Errorf(document.Child(v, "bucket"), document.WrongValue, "found two dots in a row; want the name of a bucket")
		}
		if to.ExternalID != "" && to.Role == "" {
			d.Errorf(document.Child(v, "externalId"), document.WrongValue, "no role is assumed, so that this would count for nothing; want roleArn with it")
		}
	case audit.ToHTTP:
		d.Need(v, "url", "secretRef")
	}
}
