package testservers

import (
	"fmt"
	"net/http"
	"testing"
)

// Bamboo is a Bamboo with the plan WEB-DEPLOY. A build isn't known at the
// first look, is queued at the second and has ended at the third: as the
// variable "state" says, if not as Successful.
//
// Source: "Bamboo REST APIs", queue, result and current user.
type Bamboo struct {
	base
	builds []object // variables, "looks" and "stopped"
	Hang   bool     // builds don't end by themselves
}

// NewBamboo starts a Bamboo.
func NewBamboo(tb testing.TB) *Bamboo {
	tb.Helper()
	b := &Bamboo{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /rest/api/latest/currentUser", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, object{"name": Username})
	})
	mux.HandleFunc("POST /rest/api/latest/queue/{plan}", b.enqueue)
	mux.HandleFunc("DELETE /rest/api/latest/queue/{key}", b.halt)
	mux.HandleFunc("GET /rest/api/latest/result/{key}", b.result)
	b.start(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !authorized(r) {
			answer(w, http.StatusUnauthorized, object{"message": "Client must be authenticated", "status-code": 401})
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return b
}

// Variables are those of the n-th build, from 1; "stopped" is true once it is
// stopped.
func (b *Bamboo) Variables(n int) map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.builds[n-1]
}

func (b *Bamboo) enqueue(w http.ResponseWriter, r *http.Request) {
	if plan := r.PathValue("plan"); plan != "WEB-DEPLOY" {
		answer(w, http.StatusNotFound, object{"message": "Plan " + plan + " not found.", "status-code": 404})
		return
	}
	build := object{"looks": 0}
	for name, values := range r.URL.Query() {
		build[name] = values[0]
	}
	b.builds = append(b.builds, build)
	n := len(b.builds)
	answer(w, http.StatusOK, object{"planKey": "WEB-DEPLOY", "buildNumber": n, "buildResultKey": fmt.Sprintf("WEB-DEPLOY-%d", n), "triggerReason": "Manual build"})
}

func (b *Bamboo) find(r *http.Request) (object, int) {
	for i, build := range b.builds {
		if r.PathValue("key") == fmt.Sprintf("WEB-DEPLOY-%d", i+1) {
			return build, i + 1
		}
	}
	return nil, 0
}

func (b *Bamboo) result(w http.ResponseWriter, r *http.Request) {
	build, n := b.find(r)
	looks, _ := build["looks"].(int)
	if build != nil {
		build["looks"] = looks + 1
	}
	switch {
	case build == nil || looks == 0:
		answer(w, http.StatusNotFound, object{"message": "No result", "status-code": 404})
	case looks == 1 || b.Hang && build["stopped"] == nil:
		answer(w, http.StatusOK, object{"buildNumber": n, "lifeCycleState": "Queued", "buildState": "Unknown"})
	default:
		state, _ := build["bamboo.variable.state"].(string)
		if state == "" {
			state = "Successful"
		}
		answer(w, http.StatusOK, object{"buildNumber": n, "lifeCycleState": "Finished", "buildState": state})
	}
}

func (b *Bamboo) halt(w http.ResponseWriter, r *http.Request) {
	if build, _ := b.find(r); build != nil {
		build["stopped"] = true
	}
	w.WriteHeader(http.StatusNoContent)
}
