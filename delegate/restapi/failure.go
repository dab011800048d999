package restapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// classify gives an error its failure types.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var s *StatusError
	switch {
	case errors.As(err, &s):
		return fault.New(fault.Unavailable, "%w", err).Causing(typesOf(s.Status)...)
	case fault.CodeOf(err) != fault.Internal:
		return err
	}
	if v := (*tls.CertificateVerificationError)(nil); errors.As(err, &v) {
		return fault.New(fault.Unavailable, "%w (the server's certificate isn't trusted by this delegate)", err).Causing(fault.Connectivity)
	}
	return fault.New(fault.Unavailable, "%w", err).Causing(fault.Connectivity, fault.RetryableTransientFailure)
}

func typesOf(status int) []fault.FailureType {
	switch {
	case status == http.StatusUnauthorized:
		return []fault.FailureType{fault.Authentication}
	case status == http.StatusForbidden:
		return []fault.FailureType{fault.Authorization}
	case transient(status):
		return []fault.FailureType{fault.Connectivity, fault.RetryableTransientFailure}
	}
	return []fault.FailureType{fault.Unknown}
}

// maxReason is how much is repeated of what a server says, in bytes.
const maxReason = 1000

// reason reads what a server says is wrong, in the shapes of Jira
// ({errorMessages, errors}), ServiceNow ({error: {message, detail}}), Spot
// ({response: {errors: [{message, field}], data}}) and others ({message}); else
// it is the text.
func reason(body []byte) string {
	var doc struct {
		Messages []string          `json:"errorMessages"`
		Errors   map[string]string `json:"errors"`
		Error    json.RawMessage   `json:"error"`
		Message  string            `json:"message"`
		Response json.RawMessage   `json:"response"`
	}
	if json.Unmarshal(body, &doc) != nil {
		text := strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
		if strings.HasPrefix(text, "<") { // a page for browsers says nothing here
			return ""
		}
		return bounded(text)
	}
	parts := doc.Messages
	for _, field := range slices.Sorted(maps.Keys(doc.Errors)) {
		parts = append(parts, field+": "+doc.Errors[field])
	}
	parts = append(parts, within(doc.Response)...)
	var nested struct{ Message, Detail string }
	var plain string
	switch {
	case json.Unmarshal(doc.Error, &nested) == nil:
		parts = append(parts, nested.Message, nested.Detail)
	case json.Unmarshal(doc.Error, &plain) == nil:
		parts = append(parts, plain)
	}
	parts = slices.DeleteFunc(append(parts, doc.Message), func(s string) bool { return s == "" })
	return bounded(strings.Join(parts, "; "))
}

// within is what the answer says that Spot wraps.
func within(response json.RawMessage) []string {
	var doc struct {
		Errors []struct{ Message, Field string }
		Data   string
	}
	if json.Unmarshal(response, &doc) != nil {
		return nil
	}
	var parts []string
	for _, e := range doc.Errors {
		if e.Field != "" {
			e.Message = e.Field + ": " + e.Message
		}
		parts = append(parts, e.Message)
	}
	return append(parts, doc.Data)
}

func bounded(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	return Cut(reason, maxReason) + "…"
}

// Cut is the beginning of a text: at most limit bytes of whole characters.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
