package trigger

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/expr"
)

// Artifact is a new version of something in a registry or a bucket, or a machine
// image.
type Artifact struct {
	Build    string            `json:"build"` // the tag, the key of an object, or the image's name
	Name     string            `json:"name"`  // of the image's repository, or of the bucket; of a machine image its region
	Account  string            `json:"account"`
	Region   string            `json:"region"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Source is what the trigger says of it (<+trigger.artifact.source.*>).
	Source map[string]string `json:"source,omitempty"`
	// Unfit is why it isn't what its trigger listens to, where a delegate had to
	// find that out.
	Unfit string `json:"unfit,omitempty"`
}

// cloudEvent is what EventBridge delivers of ECR, S3 and EC2.
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/ecr-eventbridge.html
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitor-ami-events.html
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
	AMIChanged    = "aws.ec2: EC2 AMI State Change"
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
	case AMIChanged:
		return e.machineImage(c.Detail)
	default:
		return Event{}, invalid("the event is of the kind %q; want %q, %q or %q", kind, ImagePushed, ObjectCreated, AMIChanged)
	}
}

// machineImage reads that the state of one has changed. The event has its id
// alone: until a delegate has asked for its name, that is the build.
func (e Event) machineImage(detail json.RawMessage) (Event, error) {
	var d struct {
		Image string `json:"ImageId"`
		State string `json:"State"`
	}
	if err := json.Unmarshal(detail, &d); err != nil {
		return Event{}, invalid("the detail of a machine image's event can't be read: %w", err)
	}
	if d.Image == "" || e.Artifact.Region == "" {
		return Event{}, invalid("a machine image's event has no detail.ImageId or no region")
	}
	e.Source, e.Artifact.Name, e.Artifact.Build = AmazonMachineImage, e.Artifact.Region, d.Image
	e.Artifact.Metadata = map[string]string{"amiId": d.Image}
	if d.State == "available" {
		e.Types = []string{"Push"}
	}
	return e, nil
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
	e.Source, e.Artifact.Name, e.Artifact.Build, e.Tag = ECR, d.Repository, d.Tag, d.Tag
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
	e.Source, e.Artifact.Name, e.Artifact.Build, e.Types = AmazonS3, d.Bucket.Name, d.Object.Key, []string{"Push"}
	e.Artifact.Metadata = map[string]string{
		"bucketName": d.Bucket.Name, "key": d.Object.Key, "artifactPath": d.Object.Key, "etag": d.Object.ETag, "versionId": d.Object.Version,
		"url": "s3://" + d.Bucket.Name + "/" + d.Object.Key,
	}
	return e, nil
}

// ArtifactID names a new version: a version counts by its name, as in Harness,
// so one that is pushed again is the same event (semantics/pipeline §11.4). It is
// the same whether an event or a delegate tells of it, who doesn't know whose a
// bucket is; no other bucket has its name. The name of a machine image may be
// given again.
func (e Event) ArtifactID() string {
	a := e.Artifact
	switch e.Source {
	case AmazonS3:
		return a.Name + "/" + a.Build
	case AmazonMachineImage:
		return a.Metadata["amiId"]
	}
	return strings.Join([]string{a.Account, a.Region, a.Name, a.Build}, "/")
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
		if v := strings.Join(path[3:], "."); path[3] == "tags" && m[v] != "" {
			return text(m[v]), len(path)
		}
		return text(m[path[3]]), min(4, len(path))
	}
	return expr.Null(), len(path)
}
