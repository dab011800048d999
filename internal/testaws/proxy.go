package testaws

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/crc32"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Recorder knows which function has made which calls of AWS, as IAM names
// them, and what DynamoDB would bill for them.
type Recorder struct {
	mu    sync.Mutex
	calls map[string]map[string]int // function -> action -> how often
	spent map[string]Spent
	wrote chan struct{} // something was written to DynamoDB; nil: nobody asks
}

// Spent is what DynamoDB bills.
type Spent struct{ Reads, Writes float64 } // units

// Calls lists a function's actions.
func (r *Recorder) Calls(function string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.calls[function]))
}

// Counts are how often a function has done what.
func (r *Recorder) Counts(function string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.calls[function])
}

// Spent is what a function's calls of DynamoDB cost.
func (r *Recorder) Spent(function string) Spent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spent[function]
}

func (r *Recorder) record(function string, actions ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls, r.spent = map[string]map[string]int{}, map[string]Spent{}
	}
	if r.calls[function] == nil {
		r.calls[function] = map[string]int{}
	}
	for _, a := range actions {
		r.calls[function][a]++
	}
}

// written tells when functions have written to DynamoDB, once for several writes.
func (r *Recorder) written() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrote == nil {
		r.wrote = make(chan struct{}, 1)
	}
	return r.wrote
}

// bill adds what an answer of DynamoDB says that it cost.
func (r *Recorder) bill(function, operation string, items int, answer []byte) {
	var one struct {
		ConsumedCapacity struct{ CapacityUnits float64 }
	}
	var several struct {
		ConsumedCapacity []struct{ CapacityUnits float64 }
	}
	units := 0.0
	switch {
	case json.Unmarshal(answer, &one) == nil:
		units = one.ConsumedCapacity.CapacityUnits
	case json.Unmarshal(answer, &several) == nil:
		for _, c := range several.ConsumedCapacity {
			units += c.CapacityUnits
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.spent[function]
	switch operation {
	case "GetItem", "BatchGetItem", "Query":
		s.Reads += units
	case "TransactWriteItems":
		// DynamoDB Local adds up wrongly when a transaction puts several items.
		// Each costs two, as long as it has less than a KB.
		s.Writes += max(units, 2*float64(items))
	default:
		s.Writes += units
	}
	if s.Writes > r.spent[function].Writes {
		select {
		case r.wrote <- struct{}{}:
		default:
		}
	}
	r.spent[function] = s
}

// AppID is the variable by which a function says in every request who it is.
const AppID = "AWS_SDK_UA_APP_ID"

var app = regexp.MustCompile(`\bapp/(\w+)`)

// Proxy stands before a service of AWS: it records who calls what, and
// refuses a part of all calls as DynamoDB does when it is busy.
func Proxy(tb testing.TB, target string, r *Recorder, throttled func() float64) string {
	tb.Helper()
	u, err := url.Parse(target)
	if err != nil {
		tb.Fatal(err)
	}
	next := httputil.NewSingleHostReverseProxy(u)
	next.ModifyResponse = r.read
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		doc := body(req)
		if m := app.FindStringSubmatch(req.Header.Get("User-Agent")); m != nil {
			r.record(m[1], action(req, doc)...)
			req = metered(req, m[1], doc)
		}
		if rand.Float64() < throttled() { //nolint:gosec // a die is enough
			busy := refusal(req, doc, rand.N(2) == 0) //nolint:gosec // likewise
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(busy)), 10)) // clients drop a connection without it
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(busy)
			return
		}
		next.ServeHTTP(w, req)
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// asked is what the answer to a request is read with.
type asked struct {
	function, operation string
	items               int // of a transaction
}

// askedKey is where a request's context has it.
type askedKey struct{}

// metered has DynamoDB say what a request costs.
func metered(req *http.Request, function string, doc []byte) *http.Request {
	service, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	var in map[string]json.RawMessage
	if !strings.HasPrefix(service, "DynamoDB_") || json.Unmarshal(doc, &in) != nil {
		return req
	}
	a := asked{function: function, operation: operation}
	if operation == "TransactWriteItems" {
		var list []json.RawMessage
		if json.Unmarshal(in["TransactItems"], &list) == nil {
			a.items = len(list)
		}
	}
	in["ReturnConsumedCapacity"] = json.RawMessage(`"TOTAL"`)
	out, err := json.Marshal(in)
	if err != nil {
		return req // it has nothing that can't be encoded
	}
	req = req.WithContext(context.WithValue(req.Context(), askedKey{}, a))
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	req.Header.Set("Content-Length", strconv.Itoa(len(out)))
	return req
}

// read takes the bill from an answer.
func (r *Recorder) read(resp *http.Response) error {
	a, ok := resp.Request.Context().Value(askedKey{}).(asked)
	if !ok || resp.StatusCode != http.StatusOK {
		return nil
	}
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(doc))
	r.bill(a.function, a.operation, a.items, doc)
	return nil
}

// reason is why DynamoDB refuses a part of a transaction.
type reason struct {
	Code string `json:"Code"`
}

// refusal is how DynamoDB refuses a request for now: there is too much to do
// or, of a write that it met another one at an item.
func refusal(r *http.Request, doc []byte, met bool) []byte {
	var answer struct {
		Type    string   `json:"__type"`
		Message string   `json:"message"`
		Reasons []reason `json:"CancellationReasons,omitempty"`
	}
	answer.Type, answer.Message = "ProvisionedThroughputExceededException", "busy"
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch {
	case !met:
	case operation == "TransactWriteItems":
		var in struct{ TransactItems []json.RawMessage }
		if json.Unmarshal(doc, &in) == nil && len(in.TransactItems) > 0 {
			answer.Type, answer.Message = "TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons"
			answer.Reasons = make([]reason, len(in.TransactItems))
			for i := range answer.Reasons {
				answer.Reasons[i].Code = "None"
			}
			answer.Reasons[len(answer.Reasons)-1].Code = "TransactionConflict"
		}
	case slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem"}, operation):
		answer.Type, answer.Message = "TransactionConflictException", "Transaction is ongoing for the item"
	}
	answer.Type = "com.amazonaws.dynamodb.v20120810#" + answer.Type
	out, err := json.Marshal(answer)
	if err != nil {
		return nil // it has nothing that can't be encoded
	}
	return out
}

// body reads a request's body, and leaves it to be read.
func body(r *http.Request) []byte {
	doc, err := io.ReadAll(r.Body)
	if err != nil {
		return nil // the service will tell
	}
	r.Body = io.NopCloser(bytes.NewReader(doc))
	return doc
}

// action is what a request does, as IAM names it, and on which index of a
// table. A transaction is what it writes, which the table's own actions say.
func action(r *http.Request, body []byte) []string {
	service, operation, found := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !found && strings.HasPrefix(r.URL.Path, functions) {
		return []string{"lambda:InvokeFunction"}
	}
	if !found { // S3, which has paths, methods and parts of objects
		if r.Method == http.MethodPut && r.URL.Query().Has("tagging") {
			return []string{"s3:PutObjectTagging"}
		}
		return []string{"s3:" + map[string]string{http.MethodGet: "GetObject", http.MethodPut: "PutObject"}[r.Method]}
	}
	switch {
	case strings.HasPrefix(service, "DynamoDB") && operation == "TransactWriteItems":
		return nil
	case strings.HasPrefix(service, "DynamoDB"):
		var in struct{ IndexName string }
		if err := json.Unmarshal(body, &in); err == nil && in.IndexName != "" {
			return []string{"dynamodb:" + operation + " on " + in.IndexName}
		}
		return []string{"dynamodb:" + operation}
	case service == "AWSStepFunctions":
		return []string{"states:" + operation}
	case service == "AWSEvents":
		return []string{"events:" + operation}
	case service == "TrentService":
		return []string{"kms:" + operation}
	}
	return []string{service + ":" + operation}
}
