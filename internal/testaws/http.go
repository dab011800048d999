package testaws

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// Route is a route that isn't $default, such as "POST /webhooks/{proxy+}".
type Route struct{ Key, Function string }

// fits says whether a request takes the route: its method, and a path of which
// {proxy+} is the rest.
func (t Route) fits(r *http.Request) bool {
	method, path, _ := strings.Cut(t.Key, " ")
	prefix, greedy := strings.CutSuffix(path, "{proxy+}")
	return method == r.Method && (r.URL.Path == path || greedy && len(r.URL.Path) > len(prefix) && strings.HasPrefix(r.URL.Path, prefix))
}

// before says whether API Gateway prefers the route to another one that fits, too:
// one without {proxy+}, then the one that says more, and $default last.
func (t Route) before(o Route) bool {
	greedy := func(r Route) bool { return strings.HasSuffix(r.Key, "{proxy+}") }
	switch {
	case o.Key == "$default":
		return true
	case greedy(t) != greedy(o):
		return !greedy(t)
	}
	return len(t.Key) > len(o.Key)
}

// HTTPGateway is API Gateway's HTTP API: it gives every request to a function,
// or to that of its route, payload format 2.0, and sends its answer. It ends
// with the test.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
func HTTPGateway(tb testing.TB, host *Host, function string, routes ...Route) string {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := Route{Function: function, Key: "$default"}
		for _, t := range routes {
			if t.fits(r) && t.before(to) {
				to = t
			}
		}
		event, err := requestEvent(r, to.Key)
		if err != nil {
			refuse(w, http.StatusBadRequest)
			return
		}
		if len(event) > maxPayload {
			refuse(w, http.StatusRequestEntityTooLarge)
			return
		}
		result, err := host.Invoke(r.Context(), to.Function, event)
		if err != nil || result.Error != "" {
			refuse(w, http.StatusInternalServerError)
			return
		}
		if err := answer(w, result.Payload); err != nil {
			tb.Logf("function %s: %v", to.Function, err)
			refuse(w, http.StatusInternalServerError)
		}
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// refuse answers as API Gateway does where no function has.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"message":%q}`, http.StatusText(status)) // the client has gone; nobody is left to tell
}

// requestEvent is a request as the function gets it.
func requestEvent(r *http.Request, route string) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: route, RawPath: r.URL.EscapedPath(), RawQueryString: r.URL.RawQuery,
		Headers: joined(r.Header), QueryStringParameters: queryOf(r.URL.Query()),
	}
	e.Headers["host"] = r.Host
	delete(e.Headers, "cookie")
	for _, c := range r.Cookies() {
		e.Cookies = append(e.Cookies, c.Name+"="+c.Value)
	}
	if e.Body = string(body); len(body) > 0 && !isText(r.Header.Get("Content-Type"), body) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	e.RequestContext = events.APIGatewayV2HTTPRequestContext{
		RouteKey: route, AccountID: Account, Stage: "$default", RequestID: rand.Text(), APIID: "test",
		DomainName: r.Host, TimeEpoch: time.Now().UnixMilli(),
		HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
			Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: sourceOf(r), UserAgent: r.UserAgent(),
		},
	}
	return json.Marshal(e)
}

// sourceOf is the address that a request comes from.
func sourceOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// joined gives headers in lower case, several of one name joined by commas.
func joined(headers http.Header) map[string]string {
	all := map[string]string{}
	for name, values := range headers {
		all[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return all
}

func queryOf(query url.Values) map[string]string {
	all := map[string]string{}
	for name, values := range query {
		all[name] = strings.Join(values, ",")
	}
	return all
}

// isText says whether a body reaches the function as it is; the rest, forms
// among them, is in base64.
func isText(contentType string, body []byte) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return utf8.Valid(body)
	}
	text := strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "application/xml" ||
		kind == "application/javascript" || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
	return text && utf8.Valid(body)
}

// answer sends what a function gave: a response of format 2.0, or any other
// JSON as a body.
func answer(w http.ResponseWriter, payload []byte) error {
	var a events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(payload, &a); err != nil || a.StatusCode == 0 {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(payload) // the client has gone; nobody is left to tell
		return nil
	}
	body := []byte(a.Body)
	if a.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(a.Body); err != nil {
			return fmt.Errorf("decode the answer's body: %w", err)
		}
	}
	for name, v := range a.Headers { // format 2.0 knows no multiValueHeaders
		w.Header().Set(name, v)
	}
	for _, c := range a.Cookies {
		w.Header().Add("Set-Cookie", c)
	}
	w.WriteHeader(a.StatusCode)
	_, _ = w.Write(body) // as above
	return nil
}
