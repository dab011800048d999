// Package probe says how a connector is tested: what the control plane asks a
// delegate to try, and what that comes to. How each kind is tried is for
// delegate/probe; which connector wants which, for pkg/connector.
package probe

import (
	"encoding/json"

	"github.com/slipway-cd/slipway/pkg/task"
)

// Spec tests a connector: whether what it stands for can be reached, and
// whether it lets the connector in (semantics/entities §9). The field that is set
// says how that is proved; none: nothing can be asked, and Untested says why.
type Spec struct {
	Connector string            `json:"connector"` // its type and its name, for people
	Cluster   *task.Cluster     `json:"cluster,omitempty"`
	Git       *Git              `json:"git,omitempty"`
	Registry  *task.Server      `json:"registry,omitempty"` // of images or charts; its credentials are Basic or none
	Charts    *task.Server      `json:"charts,omitempty"`   // a repository of charts, likewise
	Requests  *Requests         `json:"requests,omitempty"`
	AWS       *AWS              `json:"aws,omitempty"`
	Google    *task.Google      `json:"google,omitempty"`
	Azure     *task.Azure       `json:"azure,omitempty"`
	Vault     *task.VaultSecret `json:"vault,omitempty"` // without a path
	Script    *task.Shell       `json:"script,omitempty"`
	Untested  string            `json:"untested,omitempty"`
}

// Git is a connector to Git repositories.
type Git struct {
	Git task.Git `json:"git"`
	// Whole says that the URL is an account's or a project's: no repository is
	// there to be read, only its host to be reached.
	Whole bool `json:"whole,omitempty"`
	// API is what proves the access to the host's API; nil: none is given.
	API *Requests `json:"api,omitempty"`
}

// Requests is a request to an HTTP API that proves who asks. Its answer is
// JSON.
type Requests struct {
	Server task.Server `json:"server"`
	Path   string      `json:"path"` // below the server's URL
	// Lists says that the request lists something. Who may not do that may still
	// use the rest.
	Lists bool `json:"lists,omitempty"`
}

// AWS is an account of AWS.
type AWS struct {
	AWS task.AWS `json:"aws"`
	// Secrets says that it is to have secrets of AWS Secrets Manager.
	Secrets bool `json:"secrets,omitempty"`
}

// Status is what a test comes to.
type Status string

// The results of a test (semantics/entities §9). Partial: the connector is let in, but
// may not do all that was tried. Unknown: it couldn't be found out.
const (
	Success Status = "SUCCESS"
	Failure Status = "FAILURE"
	Partial Status = "PARTIAL"
	Unknown Status = "UNKNOWN"
)

// Result is what a task with a Spec puts out.
type Result struct {
	Status Status  `json:"status"`
	Checks []Check `json:"checks"`
}

// CheckName says what was tried.
type CheckName string

// The checks, in the order in which one needs the other.
const (
	CheckConfiguration CheckName = "configuration" // what the connector says can be used
	CheckSecrets       CheckName = "secrets"       // its secrets can be read
	CheckResolve       CheckName = "resolve"       // the host's name is known
	CheckReach         CheckName = "reach"         // the host takes connections
	CheckTLS           CheckName = "tls"           // the host is who it says it is
	CheckAnswer        CheckName = "answer"        // what is there speaks the protocol
	CheckLogin         CheckName = "login"         // the connector is let in
	CheckPermission    CheckName = "permission"    // it may do something there
)

// Check is one thing that was tried.
type Check struct {
	Name    CheckName `json:"name" enum:"configuration,secrets,resolve,reach,tls,answer,login,permission"`
	OK      bool      `json:"ok"`
	Message string    `json:"message" doc:"What was found, and what to do if it isn't ok"`
	Took    int64     `json:"took" doc:"Milliseconds"`
}

// Read reads the outputs of a task with a Spec; nil if it has none.
func Read(outputs json.RawMessage) (*Result, error) {
	if len(outputs) == 0 {
		return nil, nil //nolint:nilnil // a task that couldn't begin has none
	}
	var out struct {
		Output struct{ Test *Result } `json:"output"`
	}
	err := json.Unmarshal(outputs, &out)
	return out.Output.Test, err
}

// Failed is the first check that isn't ok, if any.
func (p Result) Failed() (Check, bool) {
	for _, c := range p.Checks {
		if !c.OK {
			return c, true
		}
	}
	return Check{}, false
}
