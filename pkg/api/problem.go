package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/scim"
)

// Problem is the body of every answer that isn't a success.
type Problem struct {
	Code      fault.Code     `json:"code" doc:"What kind of thing went wrong; docs/errors.md lists every code with its cure"`
	Message   string         `json:"message" doc:"A sentence for people"`
	Details   []fault.Detail `json:"details" nullable:"false" doc:"The places that are wrong, if the input is"`
	RequestID string         `json:"requestId" doc:"Finds the request in the server's log"`
}

// Error is the message (error).
func (p *Problem) Error() string { return p.Message }

// GetStatus is the HTTP status of the problem's code (huma.StatusError).
func (p *Problem) GetStatus() int { return status(p.Code) }

// ContentType is JSON, whatever the caller accepts (huma.ContentTypeFilter).
func (p *Problem) ContentType(string) string { return "application/json" }

// GetHeaders tells when to try again what may go then (huma.HeadersError).
func (p *Problem) GetHeaders() http.Header {
	switch p.Code { //nolint:exhaustive // the others don't pass by themselves
	case fault.TooMany, fault.Unavailable, fault.StorageFull:
		return http.Header{"Retry-After": {retryAfter}}
	}
	return nil
}

// retryAfter is in how many seconds to try again, at the earliest.
const retryAfter = "5"

// status is the one table of codes and HTTP statuses.
func status(c fault.Code) int {
	switch c {
	case fault.Invalid, fault.Unsupported, fault.UnresolvedExpression, fault.Frozen, fault.PolicyDenied:
		return http.StatusBadRequest
	case fault.Unauthenticated, fault.ExpiredToken:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict, fault.StaleVersion, fault.Referenced, fault.LeaseLost:
		return http.StatusConflict
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.TooMany:
		return http.StatusTooManyRequests
	case fault.StorageFull:
		return http.StatusInsufficientStorage
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Internal:
	}
	return http.StatusInternalServerError
}

// codeOf is the code of a status that the framework chose.
func codeOf(httpStatus int) fault.Code {
	switch {
	case httpStatus == http.StatusRequestEntityTooLarge:
		return fault.TooLarge
	case httpStatus == http.StatusRequestTimeout:
		return fault.Unavailable
	case httpStatus < http.StatusInternalServerError:
		return fault.Invalid
	}
	return fault.Internal
}

func notFound(format string, args ...any) error { return fault.New(fault.NotFound, format, args...) }
func invalid(format string, args ...any) error  { return fault.New(fault.Invalid, format, args...) }

// ErrOutOfTime is the cause of a request's context that ends because whoever
// serves it has no more time for it.
var ErrOutOfTime = errors.New("the request took longer than it may")

// problem makes the answer of an error. What has no code is logged, and hidden
// from the caller: its text may tell of the machine.
func (s *Server) problem(ctx context.Context, err error) *Problem {
	p := &Problem{Code: fault.CodeOf(err), Message: err.Error(), Details: []fault.Detail{}, RequestID: requestID(ctx)}
	var f *fault.Error
	if errors.As(err, &f) && len(f.Details) > 0 {
		p.Details = f.Details
	}
	if p.Code == fault.Internal && errors.Is(context.Cause(ctx), ErrOutOfTime) {
		p.Code = fault.Unavailable
		p.Message = "the request took longer than it may, and what it asks for may have happened; ask again, with the same Idempotency-Key where there is one"
		s.Log.WarnContext(ctx, "request ran out of its time", "request", p.RequestID, "error", err)
	}
	if p.Code == fault.Internal && ctx.Err() == nil {
		s.Log.ErrorContext(ctx, "request broke", "request", p.RequestID, "error", err)
	}
	if p.Code == fault.Internal {
		p.Message = "something broke; the server's log has more under request " + p.RequestID
	}
	return p
}

// refuse writes a problem outside the framework.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problem(r.Context(), err)
	for name, values := range p.GetHeaders() {
		if w.Header().Get(name) == "" { // which may say more exactly when
			w.Header()[name] = values
		}
	}
	unread(w, r)
	body, mediaType := any(p), "application/json"
	if ofSCIM(r.URL.Path) {
		body, mediaType = asSCIM(p, err), scim.MediaType
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(p.GetStatus())
	_ = json.NewEncoder(w).Encode(body) // the caller has gone; nobody is left to tell
}

// translation lets the framework's own refusals leave with our body and our
// status.
type translation struct {
	framework
	status int // 0: as the framework says
}

// framework is huma.Context under a name that isn't one of its methods'.
type framework = huma.Context

func translate(ctx huma.Context, next func(huma.Context)) { next(&translation{framework: ctx}) }

// SetStatus writes the status (huma.Context).
func (t *translation) SetStatus(code int) {
	if t.status != 0 {
		code = t.status
	}
	t.framework.SetStatus(code)
}

// Unwrap gives the context beneath, as adapters want it.
func (t *translation) Unwrap() huma.Context { return t.framework }

// asProblem is a huma.Transformer: it replaces the framework's error body.
func asProblem(ctx huma.Context, _ string, v any) (any, error) {
	e, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := &Problem{Code: codeOf(e.Status), Message: e.Detail, Details: []fault.Detail{}, RequestID: requestID(ctx.Context())}
	for _, d := range e.Errors {
		if strings.HasPrefix(d.Message, huma.ErrUnknownContentType.Error()) {
			d.Message += "; want application/json"
		}
		p.Details = append(p.Details, fault.Detail{Path: d.Location, Severity: "error", Message: d.Message})
		p.Message += ": " + d.Location + ": " + d.Message
	}
	if t, ok := ctx.(*translation); ok {
		t.status = p.GetStatus()
	}
	if ofSCIM(ctx.URL().Path) {
		ctx.SetHeader("Content-Type", scim.MediaType)
		return asSCIM(p, nil), nil
	}
	ctx.SetHeader("Content-Type", "application/json")
	return p, nil
}
