package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// hinted is a hint as it comes.
type hinted struct {
	Executions []string
	All        bool
}

// hints opens the hints of a scope and gives the next one at each call; false at the end.
func (c *control) hints(token, query string) func() (hinted, bool) {
	c.t.Helper()
	next := c.events(token, "/v1/live"+query)
	return func() (hinted, bool) {
		e, more := next()
		if !more {
			return hinted{}, false
		}
		var h hinted
		if err := json.Unmarshal([]byte(e.data), &h); err != nil || e.name != "hint" {
			c.t.Fatalf("the event is %+v, %v; want a hint", e, err)
		}
		return h, true
	}
}

func TestHintsNameTheExecutionsOfTheScopeThatChange(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	here, all, elsewhere := c.hints(c.admin, scope), c.hints(c.admin, ""), c.hints(c.admin, "?org=default&project=other")
	for name, next := range map[string]func() (hinted, bool){"the project": here, "the account": all, "another project": elsewhere} {
		if first, more := next(); !more || !first.All || len(first.Executions) != 0 {
			t.Errorf("the first hint of %s is %+v; want one that names none and may mean all", name, first)
		}
	}
	e := c.run(pipeline)
	a := c.claim("d1")
	for name, next := range map[string]func() (hinted, bool){"the project": here, "the account": all} {
		if got, more := next(); !more || got.All || !slices.Equal(got.Executions, []string{e.ID}) {
			t.Errorf("after the start %s hears %+v; want %s", name, got, e.ID)
		}
	}
	c.post(c.dlg, taskPath("d1", a, "result"), protocol.Report{Fence: 1, Result: task.Result{Status: task.Failed, Message: "no"}}, nil)
	// Some may still be of the start; one of them is of the end, after which the list says so.
	for ended := false; !ended; {
		if got, more := here(); !more || !slices.Equal(got.Executions, []string{e.ID}) {
			t.Fatalf("after the end the project hears %+v", got)
		}
		var l api.ExecutionList
		c.send(http.MethodGet, "/v1/executions"+scope, "", &l)
		ended = l.Executions[0].Status.Terminal()
	}
	other := c.runIn(ref.Scope{Org: "default", Project: "other"}, pipeline)
	if got, more := elsewhere(); !more || !slices.Equal(got.Executions, []string{other.ID}) {
		t.Errorf("another project hears %+v; want %s alone", got, other.ID)
	}
}

func TestHintsEndWithTheToken(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	var made api.NewToken
	c.send(http.MethodPost, "/v1/tokens", `{"name": "leaver", "kind": "user"}`, &made)
	next := c.hints(made.Secret, scope)
	if _, more := next(); !more {
		t.Fatal("there is no first hint")
	}
	c.send(http.MethodDelete, "/v1/tokens/"+made.ID, "", nil)
	c.run(pipeline)
	if got, more := next(); more {
		t.Errorf("after the token was revoked came %+v", got)
	}
}
