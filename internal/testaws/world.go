package testaws

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// World is an account that tests deploy to: moto's services, whose ECS, ELB,
// Lambda and others take their time as AWS's do. README.md says what it can.
//
// It refuses parameters that the API doesn't have and requests without what
// the API requires, by the models of AWS's own clients.
type World struct {
	Endpoint string

	tb      testing.TB
	policed func(*World) // UnderPolicy, for copies too
}

// NewWorld makes a World that ends with the test.
func NewWorld(tb testing.TB) *World {
	tb.Helper()
	return &World{Endpoint: start(tb, readWorld, "none"), tb: tb}
}

// Copy makes another World that begins as this one is now, for the test's time,
// which has to end first: what many tests begin with is made once. Nobody may call
// meanwhile. The policy of UnderPolicy is the copy's too.
func (w *World) Copy(tb testing.TB) *World {
	tb.Helper()
	other := &World{tb: tb, policed: w.policed}
	other.Endpoint = copied(tb, func(port string, life int) error {
		w.ask("copy", struct {
			Port string `json:"port"`
			Life int    `json:"life"`
		}{port, life}, nil)
		return nil
	})
	if w.policed != nil {
		w.policed(other)
	}
	return other
}

// readWorld starts the template of the process's worlds, at the first call.
var readWorld = sync.OnceValues(func() (*template, error) { return read("deploy") })

// Config is a configuration of the SDK for the account.
func (w *World) Config() aws.Config { return Config(w.Endpoint) }

// Network is where the account's tasks and machines may be.
type Network struct {
	VPC     string   `json:"vpc"`
	Subnets []string `json:"subnets"`
	Group   string   `json:"group"` // of security
}

// Network gives the account's network.
func (w *World) Network() Network {
	w.tb.Helper()
	var n Network
	w.ask("network", nil, &n)
	return n
}

// Role makes a role, which nothing checks the rights of, and gives its ARN.
func (w *World) Role(name string) string {
	w.tb.Helper()
	var arn string
	w.ask("role", name, &arn)
	return arn
}

// Call is a request that the account got and has done, whether its answer was
// heard or not. S3's aren't among them.
type Call struct {
	// Operation is as policies name it: "ecs:CreateService".
	Operation string
	// Parameters are those of the request, by the API's names; bytes are null.
	Parameters json.RawMessage
	// Code is that of the error it was answered with, or "cut"; empty for none.
	Code string
}

// Decode reads the parameters, as into the SDK's input of the operation.
func (c Call) Decode(tb testing.TB, into any) {
	tb.Helper()
	if err := json.Unmarshal(c.Parameters, into); err != nil {
		tb.Fatalf("parameters of %s: %v", c.Operation, err)
	}
}

// Calls are the requests so far, those that failed too, in the order in which
// they were done.
func (w *World) Calls() []Call {
	w.tb.Helper()
	var calls []Call
	w.ask("calls", nil, &calls)
	return calls
}

// Changes are the operations that changed something since a number of calls, in
// their order, but for some that are the tests' own.
func (w *World) Changes(since int, but ...string) []string {
	var out []string
	for _, c := range w.Calls()[since:] {
		name := c.Operation[strings.IndexByte(c.Operation, ':')+1:]
		if Changing(name) && !slices.Contains(but, name) {
			out = append(out, name)
		}
	}
	return out
}

// CallsOf are the requests of an operation ("ecs:CreateService").
func (w *World) CallsOf(operation string) []Call {
	w.tb.Helper()
	var of []Call
	for _, c := range w.Calls() {
		if c.Operation == operation {
			of = append(of, c)
		}
	}
	return of
}

// Count is how many requests of an operation there were.
func (w *World) Count(operation string) int {
	w.tb.Helper()
	return len(w.CallsOf(operation))
}

// Await waits until an operation was called and done that often, as before a test
// ends whoever calls it.
func (w *World) Await(operation string, n int) {
	w.tb.Helper()
	for w.Count(operation) < n {
		select {
		case <-w.tb.Context().Done():
			w.tb.Fatalf("%s was called %d times, want %d: %v", operation, w.Count(operation), n, w.tb.Context().Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Fault is what goes wrong with calls of an operation. Either Code or Cut is
// set.
type Fault struct {
	Code    string `json:"code"` // AWS's, like "AccessDeniedException"
	Message string `json:"message"`
	Cut     Cut    `json:"cut"`
	After   int    `json:"after"` // how many calls go well before
	Times   int    `json:"times"` // how many go wrong then; -1: all
}

// Cut is when a connection ends without an answer.
type Cut string

// The ends of a connection.
const (
	CutBefore Cut = "before" // the call had no effect
	CutAfter  Cut = "after"  // the call took effect
	Stall     Cut = "stall"  // the call took effect, and nothing comes until the caller goes
)

// Fail makes calls of an operation ("ecs:CreateService") go wrong from now on.
// The SDK repeats those that were cut or throttled, as it does with AWS.
func (w *World) Fail(operation string, f Fault) {
	w.tb.Helper()
	w.ask("fault", struct {
		Operation string `json:"operation"`
		Fault
	}{operation, f}, nil)
}

// Throttle makes the next calls of an operation be too many.
func (w *World) Throttle(operation string, times int) {
	w.tb.Helper()
	w.Fail(operation, Fault{Code: "ThrottlingException", Message: "Rate exceeded", Times: times})
}

// Hold stops the account's time, of which a second takes 10 ms otherwise:
// what is pending stays so.
func (w *World) Hold() {
	w.tb.Helper()
	w.setClock(true, 0)
}

// Pass lets some of the account's time pass at once, and holds it there.
func (w *World) Pass(d time.Duration) {
	w.tb.Helper()
	w.setClock(true, d)
}

// Go lets the account's time go on after Hold or Pass.
func (w *World) Go() {
	w.tb.Helper()
	w.setClock(false, 0)
}

func (w *World) setClock(held bool, advance time.Duration) {
	w.tb.Helper()
	w.ask("clock", struct {
		Held    bool    `json:"held"`
		Advance float64 `json:"advance"`
	}{held, advance.Seconds()}, nil)
}

// ask calls one of the world's own addresses.
func (w *World) ask(address string, wanted, answer any) {
	w.tb.Helper()
	body, err := json.Marshal(wanted)
	if err != nil {
		w.tb.Fatal(err)
	}
	resp, err := http.Post(w.Endpoint+"/world/"+address, "application/json", bytes.NewReader(body))
	if err != nil {
		w.tb.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		w.tb.Fatalf("/world/%s: %s", address, resp.Status)
	}
	if answer == nil {
		return
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		w.tb.Fatalf("/world/%s: %v", address, err)
	}
}
