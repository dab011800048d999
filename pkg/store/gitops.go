package store

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// GitOpsLink is what a GitOps agent has said of itself, and how far the control
// plane and it have come with each other.
type GitOpsLink struct {
	Agent   ref.Ref
	Version int64
	Hello   protocol.Hello // the last one; none: it has never been heard of, or is being moved
	Left    string         `json:",omitempty"` // the uid of the cluster that it was moved away from
	Seen    time.Time      // when that was, or its last report
	Seq     int64          // of the last report of Hello.Fence
	Digest  string         // as that report said it
	// Documents and Requests grow whenever a document of the agent is saved or
	// deleted, and whenever somebody asks it for something.
	Documents int64
	Requests  int64
}

// GitOpsApp is what is known of an application.
type GitOpsApp struct {
	Agent   ref.Ref
	Key     protocol.AppKey
	Fence   int64 // of who reported it
	At      time.Time
	Summary protocol.Summary
}

// GitOpsRequest is what somebody asked of an agent.
type GitOpsRequest struct {
	Agent   ref.Ref
	Request protocol.Request
	Result  *protocol.Result // nil: nobody has answered it
}

// GitOpsRequestsKept is how long the answer to a request is kept.
const GitOpsRequestsKept = 24 * time.Hour

// GitOpsHistoryKept is how long it is kept that an application was synced.
const GitOpsHistoryKept = 365 * 24 * time.Hour

// Deposed is the error of who speaks for an agent that somebody else leads.
func (l GitOpsLink) Deposed(fence int64) error {
	return fault.New(fault.LeaseLost, "agent %s is led by who has the fence %d; this has %d", l.Agent.ID, l.Hello.Fence, fence)
}
