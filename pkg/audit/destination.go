package audit

import "github.com/slipway-cd/slipway/pkg/ref"

// DestinationType says how a trail is brought to a destination.
type DestinationType string

// The types (semantics/entities §12).
const (
	ToS3   DestinationType = "AWS_S3"
	ToHTTP DestinationType = "HTTP"
)

// Destination is where a trail is brought to, outside of the installation.
type Destination struct {
	ID, Name string
	Active   bool // one that isn't gets nothing, and goes on from there once it is
	Type     DestinationType

	// Of S3.

	Bucket     string
	Region     string // of the bucket; empty: the control plane's own
	Role       string // that is assumed to write there; empty: the control plane's own
	ExternalID string // that the role wants to hear

	// Of HTTP.

	URL    string
	Secret ref.Ref // what is sent is signed with it
}
