package applying

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// ours is the answer to a request that was sent again because the answer to the
// first was lost: a refusal because of what the first has done is none. What
// has all that was sent is what the first has made, or as good.
func (p patient) ours(req *http.Request, resp *http.Response) *http.Response {
	switch {
	case req.Method == http.MethodDelete && resp.StatusCode == http.StatusNotFound:
		return answered(resp, http.StatusOK, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	case resp.StatusCode != http.StatusConflict || req.Method != http.MethodPost && req.Method != http.MethodPut:
		return resp
	}
	sent := bodyOf(req)
	name, _ := valueAt(sent, "metadata", "name").(string)
	if name == "" {
		return resp
	}
	look := req.Clone(req.Context())
	look.Method, look.Body, look.GetBody, look.ContentLength = http.MethodGet, nil, nil, 0
	look.URL.RawQuery = ""
	look.Header.Del("Content-Type")
	status := http.StatusOK
	if req.Method == http.MethodPost {
		look.URL.Path, status = strings.TrimSuffix(look.URL.Path, "/")+"/"+name, http.StatusCreated
	}
	found, err := p.RoundTrip(look)
	if err != nil {
		return resp
	}
	defer found.Body.Close()
	doc, err := io.ReadAll(found.Body)
	var live map[string]any
	if err != nil || found.StatusCode != http.StatusOK || json.Unmarshal(doc, &live) != nil || !has(live, sent) {
		return resp
	}
	return answered(resp, status, doc)
}

// answered is an answer with another status and body.
func answered(resp *http.Response, status int, doc []byte) *http.Response {
	_ = resp.Body.Close() // it was read
	out := *resp
	out.StatusCode, out.Status, out.Header = status, http.StatusText(status), resp.Header.Clone()
	out.Header.Del("Content-Length")
	out.Header.Set("Content-Type", "application/json")
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(doc)), int64(len(doc))
	return &out
}

// bodyOf is what a request has sent, without what a server changes; nil if it
// is no JSON.
func bodyOf(req *http.Request) map[string]any {
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	var sent map[string]any
	if json.NewDecoder(body).Decode(&sent) != nil {
		return nil
	}
	delete(sent, "status")
	if meta, ok := sent["metadata"].(map[string]any); ok {
		for _, key := range []string{"resourceVersion", "managedFields", "creationTimestamp", "generation", "uid"} {
			delete(meta, key)
		}
	}
	return sent
}

func valueAt(of any, path ...string) any {
	for _, key := range path {
		m, _ := of.(map[string]any)
		of = m[key]
	}
	return of
}

// has says whether a value has all that another has.
func has(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		in, _ := live.(map[string]any)
		for key, value := range want {
			if there, ok := in[key]; !has(there, value) || !ok && value != nil {
				return false
			}
		}
		return true
	case []any:
		in, _ := live.([]any)
		if len(in) != len(want) {
			return false
		}
		for i := range want {
			if !has(in[i], want[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(live, want)
}
