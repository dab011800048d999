package testservers

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Jenkins is a Jenkins with the job team/deploy, which takes the parameters
// VERSION and RESULT, and the job plain, which takes none. A build waits in the
// queue for one look and runs for two; it prints two lines and ends as RESULT
// says, if not as SUCCESS. It knows itself by another address than its own.
//
// Source: "Remote Access API" and the pages /api of jobs, builds and the
// queue; "CSRF Protection".
type Jenkins struct {
	base
	builds []*jenkinsBuild
	Hang   bool // builds don't end by themselves
}

type jenkinsBuild struct {
	job        string
	parameters map[string]string
	looks      int
	queued     int
	result     string
	cancelled  bool
}

const jenkinsRoot = "https://jenkins.example.com"

// NewJenkins starts a Jenkins.
func NewJenkins(tb testing.TB) *Jenkins {
	tb.Helper()
	j := &Jenkins{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /crumbIssuer/api/json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "JSESSIONID=s1; Path=/; HttpOnly")
		answer(w, http.StatusOK, object{"crumbRequestField": "Jenkins-Crumb", "crumb": "c1"})
	})
	mux.HandleFunc("GET /api/json", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, object{"mode": "NORMAL"}) })
	mux.HandleFunc("GET /queue/item/{id}/api/json", j.queueItem)
	mux.HandleFunc("POST /queue/cancelItem", j.cancelItem)
	for _, path := range []string{"/job/team/job/deploy", "/job/plain"} {
		job := strings.ReplaceAll(strings.TrimPrefix(path, "/job/"), "/job/", "/")
		mux.HandleFunc("GET "+path+"/api/json", j.describe(job))
		mux.HandleFunc("POST "+path+"/build", j.enqueue(job, false))
		mux.HandleFunc("POST "+path+"/buildWithParameters", j.enqueue(job, true))
		mux.HandleFunc("GET "+path+"/{number}/api/json", j.withBuild(j.build))
		mux.HandleFunc("GET "+path+"/{number}/logText/progressiveText", j.withBuild(j.console))
		mux.HandleFunc("GET "+path+"/{number}/injectedEnvVars/api/json", j.withBuild(j.environment))
		mux.HandleFunc("POST "+path+"/{number}/stop", j.withBuild(j.halt))
	}
	j.start(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !authorized(r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if c, err := r.Cookie("JSESSIONID"); r.Method == http.MethodPost && (err != nil || c.Value != "s1" || r.Header.Get("Jenkins-Crumb") != "c1") {
			http.Error(w, "No valid crumb was included in the request", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return j
}

// Result is how the n-th build ended, from 1; empty while it runs.
func (j *Jenkins) Result(n int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.builds[n-1].result
}

func (j *Jenkins) describe(job string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		doc := object{"_class": "org.jenkinsci.plugins.workflow.job.WorkflowJob", "property": []object{{}}}
		if job == "team/deploy" {
			doc["property"] = []object{{}, {"parameterDefinitions": []object{{"name": "VERSION"}, {"name": "RESULT"}}}}
		}
		answer(w, http.StatusOK, doc)
	}
}

func (j *Jenkins) enqueue(job string, with bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if with != (job == "team/deploy") {
			http.Error(w, "Nothing is submitted", http.StatusBadRequest)
			return
		}
		b := &jenkinsBuild{job: job, parameters: map[string]string{"VERSION": "latest"}}
		_ = r.ParseForm()
		for name := range r.PostForm {
			b.parameters[name] = r.PostForm.Get(name)
		}
		j.builds = append(j.builds, b)
		w.Header().Set("Location", fmt.Sprintf("%s/queue/item/%d/", jenkinsRoot, 40+len(j.builds)))
		w.WriteHeader(http.StatusCreated)
	}
}

func (j *Jenkins) item(id string) (*jenkinsBuild, int) {
	n, err := strconv.Atoi(id)
	if err != nil || n <= 40 || n > 40+len(j.builds) {
		return nil, 0
	}
	return j.builds[n-41], n - 40
}

func (j *Jenkins) queueItem(w http.ResponseWriter, r *http.Request) {
	b, n := j.item(r.PathValue("id"))
	if b == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if b.queued++; b.queued == 1 {
		answer(w, http.StatusOK, object{"id": 40 + n, "why": "In the quiet period. Expires in 4.9 sec"})
		return
	}
	answer(w, http.StatusOK, object{"id": 40 + n, "cancelled": b.cancelled, "executable": object{"number": n, "url": j.address(b, n)}})
}

func (j *Jenkins) cancelItem(w http.ResponseWriter, r *http.Request) {
	if b, _ := j.item(r.FormValue("id")); b != nil {
		b.cancelled, b.result = true, "CANCELLED"
	}
	w.WriteHeader(http.StatusNoContent)
}

func (j *Jenkins) address(b *jenkinsBuild, n int) string {
	return fmt.Sprintf("%s/job/%s/%d/", jenkinsRoot, strings.ReplaceAll(b.job, "/", "/job/"), n)
}

func (j *Jenkins) withBuild(serve func(w http.ResponseWriter, r *http.Request, b *jenkinsBuild, n int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("number"))
		if err != nil || n < 1 || n > len(j.builds) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		serve(w, r, j.builds[n-1], n)
	}
}

func (j *Jenkins) build(w http.ResponseWriter, _ *http.Request, b *jenkinsBuild, n int) {
	if b.looks++; b.looks > 2 && !j.Hang && b.result == "" {
		if b.result = b.parameters["RESULT"]; b.result == "" {
			b.result = "SUCCESS"
		}
	}
	doc := object{
		"number": n, "url": j.address(b, n), "building": b.result == "", "result": nil,
		"displayName": fmt.Sprintf("#%d", n), "fullDisplayName": fmt.Sprintf("%s #%d", b.job, n),
	}
	if b.result != "" {
		doc["result"] = b.result
	}
	answer(w, http.StatusOK, doc)
}

// console gives what is printed: one line at once, the second when the build
// has ended.
func (j *Jenkins) console(w http.ResponseWriter, r *http.Request, b *jenkinsBuild, _ int) {
	text := "Deploying " + b.parameters["VERSION"] + "\n"
	if b.result != "" {
		text += "Finished: " + b.result + "\n"
	}
	start, err := strconv.Atoi(r.URL.Query().Get("start"))
	if err != nil || start > len(text) {
		start = 0
	}
	w.Header().Set("X-Text-Size", strconv.Itoa(len(text)))
	if b.result == "" {
		w.Header().Set("X-More-Data", "true")
	}
	w.Header().Set("Content-Type", "text/plain;charset=utf-8")
	_, _ = w.Write([]byte(text[start:]))
}

func (j *Jenkins) environment(w http.ResponseWriter, _ *http.Request, b *jenkinsBuild, n int) {
	if b.job == "plain" { // without the plugin
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, object{"envMap": object{"BUILD_NUMBER": strconv.Itoa(n), "VERSION": b.parameters["VERSION"]}})
}

func (j *Jenkins) halt(w http.ResponseWriter, _ *http.Request, b *jenkinsBuild, _ int) {
	b.result = "ABORTED"
	w.WriteHeader(http.StatusOK)
}
