package match

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/trigger"
)

// ConcernsArtifact says whether a trigger listens to the repository or bucket
// of a new version. account is whose registry its connector means; empty: any.
func ConcernsArtifact(t entity.ArtifactTrigger, account string, e trigger.Event) bool {
	a := e.Artifact
	switch {
	case t.Type.Value != e.Source || len(e.Types) == 0 || t.Region.Value != "" && t.Region.Value != a.Region:
		return false
	case e.Source == trigger.ECR:
		return t.ImagePath.Value == a.Name && (account == "" || account == a.Account)
	case e.Source == trigger.AmazonMachineImage:
		return account == "" || account == a.Account
	}
	return t.Bucket.Value == a.Name
}

// Artifact compares a new version that concerns a trigger with its
// conditions, all of which must hold. Empty: they do; else it says what
// doesn't. The error is of a condition that can't be evaluated.
func Artifact(t entity.ArtifactTrigger, e trigger.Event) (mismatch string, err error) {
	if e.Artifact.Unfit != "" {
		return e.Artifact.Unfit, nil
	}
	for what, pattern := range map[string]string{"the key": t.FilePath.Value, "the name": t.Name.Value} { // one of both, if any
		if pattern == "" {
			continue
		}
		re, err := whole(pattern)
		if err != nil {
			return "", fault.New(fault.Invalid, "the pattern of %s: %w", what, err)
		}
		if !re.MatchString(e.Artifact.Build) {
			return fmt.Sprintf("%s %q isn't %q", what, shorten(e.Artifact.Build), pattern), nil
		}
	}
	scope := e.Names()
	for _, c := range t.Versions {
		if c.Key == entity.Build {
			c.Key = "<+trigger.artifact.build>"
		}
		if m, err := condition(c, e, scope); m != "" || err != nil {
			return m, err
		}
	}
	for _, c := range t.Metadata {
		if m, err := condition(c, e, scope); m != "" || err != nil {
			return m, err
		}
	}
	return jexl(t.JEXL.Value+t.JEXL.Expr, scope)
}

// For is the event as one trigger gets it: with what the trigger says of the
// artifact.
func For(e trigger.Event, id string, t entity.ArtifactTrigger) trigger.Event {
	a := *e.Artifact
	a.Source = map[string]string{}
	for name, f := range map[string]string{
		"type": t.Type.Value, "connectorRef": t.Connector.Value, "region": t.Region.Value, "registryId": t.RegistryID.Value,
		"imagePath": t.ImagePath.Value, "bucketName": t.Bucket.Value, "filePathRegex": t.FilePath.Value, "versionRegex": t.Name.Value,
	} {
		if f != "" {
			a.Source[name] = f
		}
	}
	e.Trigger, e.Artifact = id, &a
	return e
}
