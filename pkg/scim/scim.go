// Package scim is the System for Cross-domain Identity Management 2.0 (RFC 7643 and
// RFC 7644) as far as it is a matter of texts: users and groups as a directory
// reads and writes them, filters, patches, and what is told of the server.
//
// It is pure. What becomes of users and groups is pkg/scim/people's, and how
// requests come is pkg/api's.
package scim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// The schemas of what is read and written.
const (
	UserSchema  = "urn:ietf:params:scim:schemas:core:2.0:User"
	GroupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group"

	ErrorSchema = "urn:ietf:params:scim:api:messages:2.0:Error"

	listSchema = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
)

// MediaType is that of requests and answers.
const MediaType = "application/scim+json"

// Object is a resource, or another message, as JSON has it.
type Object map[string]any

// Problem says in a word of RFC 7644 what is wrong with a request.
type Problem string

// The problems.
const (
	InvalidFilter Problem = "invalidFilter"
	InvalidSyntax Problem = "invalidSyntax"
	InvalidPath   Problem = "invalidPath"
	InvalidValue  Problem = "invalidValue"
	NoTarget      Problem = "noTarget"
	Uniqueness    Problem = "uniqueness"
)

// Error is an error with its problem.
type Error struct {
	Problem Problem
	cause   *fault.Error
}

// Error is the sentence for people (error).
func (e *Error) Error() string { return e.cause.Message }

// Unwrap gives the error with its code.
func (e *Error) Unwrap() error { return e.cause }

func refuse(p Problem, format string, args ...any) error {
	code := fault.Invalid
	if p == Uniqueness {
		code = fault.Conflict
	}
	return &Error{Problem: p, cause: fault.New(code, format, args...)}
}

// Taken is the error of a name that another user or group has.
func Taken(format string, args ...any) error { return refuse(Uniqueness, format, args...) }

// Unfit is the error of a value that can't be.
func Unfit(format string, args ...any) error { return refuse(InvalidValue, format, args...) }

// ProblemOf is the problem of an error; empty: it has none.
func ProblemOf(err error) Problem {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Problem
	}
	return ""
}

// List is the answer to a search: the part of all from a place on, which counts
// from 1.
func List(found []Object, all, from int) Object {
	if found == nil {
		found = []Object{}
	}
	return Object{"schemas": []string{listSchema}, "totalResults": all, "startIndex": from, "itemsPerPage": len(found), "Resources": found}
}

// maxDepth is how deep a body is nested: a patch with the emails of a user is 6.
const maxDepth = 12

// Parse reads the body of a request: one JSON object. Its names of attributes are
// spelled as the schemas spell them.
func Parse(body []byte) (Object, error) {
	if err := shallow(body); err != nil {
		return nil, err
	}
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&out); err != nil {
		return nil, refuse(InvalidSyntax, "the body isn't a JSON object: %v", syntax(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(InvalidSyntax, "the body has more than one JSON object")
	}
	if out == nil {
		return nil, refuse(InvalidSyntax, "the body is null; want a JSON object")
	}
	return spelled(out), nil
}

// syntax is where a body is wrong, without what is in it.
func syntax(err error) string {
	var s *json.SyntaxError
	if errors.As(err, &s) {
		return fmt.Sprintf("%s, at byte %d", s.Error(), s.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too soon"
	}
	return "it is something else"
}

// shallow refuses what is nested too deep, before anything is made of it.
func shallow(body []byte) error {
	depth, text := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return refuse(InvalidSyntax, "the body is nested too deep, at byte %d; want %d levels at most", i, maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// spelling has the names of attributes, by themselves in lower case: case says
// nothing (RFC 7643, 2.1).
func spelling(name string) string {
	for _, known := range []string{
		"schemas", "id", "externalId", "userName", "displayName", "name", "formatted", "givenName", "familyName", "emails", "value", "type", "primary",
		"active", "members", "display", "$ref", "meta", "resourceType", "created", "lastModified", "location", "Operations", "op", "path",
	} {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return name
}

func spelled(in map[string]any) Object {
	out := make(Object, len(in))
	for name, v := range in {
		out[spelling(name)] = spelledValue(v)
	}
	return out
}

func spelledValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return map[string]any(spelled(v))
	case []any:
		for i := range v {
			v[i] = spelledValue(v[i])
		}
	}
	return v
}
