// Package protocol has what a delegate and the control plane say to each other: the
// bodies of the delegate's requests and of their answers, and the bounds on them.
// What a task is, and what comes of it, is for pkg/task; the requests themselves
// are pkg/api's and delegate/agent's.
package protocol

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/task"
)

// MaxTasks bounds a delegate's capacity, and so the tasks that it claims or
// names at once.
const MaxTasks = 1000

// Register is a delegate's first message.
type Register struct {
	ID       string      `json:"id"` // random, new at each start
	Name     string      `json:"name"`
	Host     string      `json:"host"`
	Tags     []string    `json:"tags"`
	Version  string      `json:"version"`
	Kinds    []task.Kind `json:"kinds"`
	Capacity int         `json:"capacity"` // tasks at once
	// Machine is the same for all processes of delegates that share a folder of
	// sessions; Tools are programs on it, each as name=version.
	Machine string   `json:"machine,omitempty"`
	Tools   []string `json:"tools,omitempty"`
}

// Registered answers Register.
type Registered struct {
	HeartbeatEvery time.Duration `json:"heartbeatEvery"` // of the delegate itself
	PollEvery      time.Duration `json:"pollEvery"`      // covers a lost wake-up
	// Quiet is how long a delegate may be silent that holds no task and whose
	// socket is open: its polls are its heartbeats. 0: it has to beat.
	Quiet time.Duration `json:"quiet,omitempty"`
	// Socket is where to open the WebSocket, if not at the API; the query
	// parameter delegate gets the delegate's id, line the socket's number: 1 for
	// the delegate's first, and so on.
	Socket string `json:"socket,omitempty"`
}

// Claim asks for work.
type Claim struct {
	Max     int `json:"max"`     // free places
	Running int `json:"running"` // tasks under way
	// Number counts the delegate's claims, from 1 on. It makes one at a time.
	Number int64 `json:"number,omitempty"`
	// Lost are the numbers of claims whose answers never came. The delegate hasn't
	// begun what they got it and never will, so it is given back. It says so for a
	// while: the server may come to such a claim late.
	Lost []int64 `json:"lost,omitempty"`
	// Replaces are earlier processes of the delegate that were killed, at most
	// MaxReplaced: what they claimed and hadn't begun is given back, and the rest is
	// lost at once. They are named for a while, as Lost are.
	Replaces []Replaced `json:"replaces,omitempty"`
	// Quiet makes the claim a heartbeat: the delegate will be silent that long.
	Quiet time.Duration `json:"quiet,omitempty"`
	// Line is the number of the socket that Quiet relies on: that it closes would
	// be seen.
	Line int64 `json:"line,omitempty"`
}

// MaxReplaced bounds how many processes a delegate names at once.
const MaxReplaced = 100

// Replaced is a process of a delegate that has ended without a goodbye. It
// registered with the token that speaks for it.
type Replaced struct {
	ID    string `json:"id"`
	Begun []Held `json:"begun,omitempty"` // what it may have had an effect by
}

// Heartbeat renews the leases of running tasks and says that the delegate lives.
type Heartbeat struct {
	Running  []Held `json:"running"`
	Draining bool   `json:"draining"`
	// Quiet is how long the delegate will be silent; 0: until the next beat.
	Quiet time.Duration `json:"quiet,omitempty"`
	Line  int64         `json:"line,omitempty"` // as in Claim
}

// Held is a task that the delegate holds.
type Held struct {
	ID    task.ID `json:"id"`
	Fence int64   `json:"fence"`
}

// HeartbeatAnswer lists the tasks to stop: cancelled, or lost to their lease.
type HeartbeatAnswer struct {
	Cancel []task.ID `json:"cancel,omitempty"`
}

// Wake is what the server says over the WebSocket: there is work, there is
// something new to watch, there is news for the GitOps agent that the delegate is,
// too, or stop a task. It never carries work itself.
type Wake struct {
	Type string  `json:"type"` // "work", "watch", "news" or "cancel"
	Task task.ID `json:"task,omitempty"`
}
