package trigger

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
)

// Artifact is a new version of something in a registry or a bucket.
type Artifact struct {
	Build    string            `json:"build"` // the tag, or the key of an object
	Name     string            `json:"name"`  // of the image's repository, or of the bucket
	Account  string            `json:"account"`
	Region   string            `json:"region"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Source is what the trigger says of it (<+trigger.artifact.source.*>).
	Source map[string]string `json:"source,omitempty"`
}

// cloudEvent is what EventBridge delivers of ECR and S3.
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/ecr-eventbridge.html
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html
type cloudEvent struct {
	ID         string          `json:"id"`
	Source     string          `json:"source"`
	DetailType string          `json:"detail-type"`
	Account    string          `json:"account"`
	Region     string          `json:"region"`
	Time       time.Time       `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

// The kinds of event that ReadAWS reads, by source and detail type.
const (
	ImagePushed   = "aws.ecr: ECR Image Action"
	ObjectCreated = "aws.s3: Object Created"
)

// ReadAWS reads an event as EventBridge delivers it. One that makes no new
// version, such as an image that was deleted, has no Types.
func ReadAWS(body []byte) (Event, error) {
	var c cloudEvent
	if err := json.Unmarshal(body, &c); err != nil {
		return Event{}, invalid("the event can't be read: %w", err)
	}
	e := Event{Body: string(body), Artifact: &Artifact{Account: c.Account, Region: c.Region}}
	switch kind := c.Source + ": " + c.DetailType; kind {
	case ImagePushed:
		return e.image(c.Detail)
	case ObjectCreated:
		return e.object(c.Detail)
	default:
		return Event{}, invalid("the event is of the kind %q; want %q or %q", kind, ImagePushed, ObjectCreated)
	}
}

func (e Event) image(detail json.RawMessage) (Event, error) {
	var d struct {
		Action     string `json:"action-type"`
		Result     string `json:"result"`
		Repository string `json:"repository-name"`
		Digest     string `json:"image-digest"`
		Tag        string `json:"image-tag"`
	}
	if err := json.Unmarshal(detail, &d); err != nil {
		return Event{}, invalid("the detail of an image's event can't be read: %w", err)
	}
	if d.Repository == "" {
		return Event{}, invalid("the detail of an image's event has no repository-name")
	}
	e.Source, e.Artifact.Name, e.Artifact.Build, e.Tag = entity.ECR, d.Repository, d.Tag, d.Tag
	if d.Action == "PUSH" && d.Result == "SUCCESS" && d.Tag != "" {
		e.Types = []string{"Push"}
	}
	image := fmt.Sprintf("%s.dkr.ecr.%s.amazonaws.com/%s:%s", e.Artifact.Account, e.Artifact.Region, d.Repository, d.Tag)
	e.Artifact.Metadata = map[string]string{"tag": d.Tag, "digest": d.Digest, "SHAV2": d.Digest, "image": image, "imagePath": d.Repository}
	return e, nil
}

func (e Event) object(detail json.RawMessage) (Event, error) {
	var d struct {
		Bucket struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object struct {
			Key     string `json:"key"`
			ETag    string `json:"etag"`
			Version string `json:"version-id"`
		} `json:"object"`
	}
	if err := json.Unmarshal(detail, &d); err != nil {
		return Event{}, invalid("the detail of an object's event can't be read: %w", err)
	}
	if d.Bucket.Name == "" || d.Object.Key == "" {
		return Event{}, invalid("the detail of an object's event has no bucket.name or no object.key")
	}
	e.Source, e.Artifact.Name, e.Artifact.Build, e.Types = entity.AmazonS3, d.Bucket.Name, d.Object.Key, []string{"Push"}
	e.Artifact.Metadata = map[string]string{
		"bucketName": d.Bucket.Name, "key": d.Object.Key, "artifactPath": d.Object.Key, "etag": d.Object.ETag, "versionId": d.Object.Version,
		"url": "s3://" + d.Bucket.Name + "/" + d.Object.Key,
	}
	return e, nil
}

// ArtifactID names a new version: a version counts by its name, as in Harness,
// so one that is pushed again is the same event (semantics/pipeline §11.4).
func (e Event) ArtifactID() string {
	a := e.Artifact
	return strings.Join([]string{a.Account, a.Region, a.Name, a.Build}, "/")
}

// ConcernsArtifact says whether a trigger listens to the repository or bucket
// of a new version. account is whose registry its connector means; empty: any.
func ConcernsArtifact(t entity.ArtifactTrigger, account string, e Event) bool {
	a := e.Artifact
	switch {
	case t.Type.Value != e.Source || len(e.Types) == 0 || t.Region.Value != "" && t.Region.Value != a.Region:
		return false
	case e.Source == entity.ECR:
		return t.ImagePath.Value == a.Name && (account == "" || account == a.Account)
	}
	return t.Bucket.Value == a.Name
}

// MatchArtifact compares a new version that concerns a trigger with its
// conditions, all of which must hold. Empty: they do; else it says what
// doesn't. The error is of a condition that can't be evaluated.
func MatchArtifact(t entity.ArtifactTrigger, e Event) (mismatch string, err error) {
	if pattern := t.FilePath.Value; pattern != "" {
		re, err := whole(pattern)
		if err != nil {
			return "", invalid("filePathRegex: %w", err)
		}
		if !re.MatchString(e.Artifact.Build) {
			return fmt.Sprintf("the key %q isn't %q", shorten(e.Artifact.Build), pattern), nil
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

// artifact resolves trigger.artifact.*; what isn't there is null.
func (e Event) artifact(path []string) (expr.Value, int) {
	a := e.Artifact
	if a == nil || len(path) < 3 {
		return expr.Null(), len(path)
	}
	switch path[2] {
	case "build":
		return text(a.Build), 3
	case "metadata", "source":
		m := a.Metadata
		if path[2] == "source" {
			m = a.Source
		}
		if len(path) == 3 {
			return headers(m), 3
		}
		return text(m[path[3]]), min(4, len(path))
	}
	return expr.Null(), len(path)
}

// For is the event as one trigger gets it: with what the trigger says of the
// artifact.
func (e Event) For(id string, t entity.ArtifactTrigger) Event {
	a := *e.Artifact
	a.Source = map[string]string{}
	for name, f := range map[string]string{
		"type": t.Type.Value, "connectorRef": t.Connector.Value, "region": t.Region.Value, "registryId": t.RegistryID.Value,
		"imagePath": t.ImagePath.Value, "bucketName": t.Bucket.Value, "filePathRegex": t.FilePath.Value,
	} {
		if f != "" {
			a.Source[name] = f
		}
	}
	e.Trigger, e.Artifact = id, &a
	return e
}
