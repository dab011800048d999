package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
)

// Line is a record as destinations get it: in the words of Harness's streams,
// with all of which its hash is made.
type Line struct {
	EventID  string       `json:"auditEventId"` // the same each time that the record comes
	Author   lineAuthor   `json:"auditEventAuthor"`
	Module   string       `json:"auditModule"`
	Resource lineResource `json:"auditResource"`
	Scope    lineScope    `json:"auditResourceScope"`
	Action   Action       `json:"auditAction"`
	Time     time.Time    `json:"auditEventTime"`

	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
	Request string `json:"request,omitempty"`
	// Attestation is the signed statement of an approval, as JSON.
	Attestation string `json:"attestation,omitempty"`
	Sequence    int64  `json:"sequence"`
	Previous    string `json:"previous"`
	Hash        string `json:"hash"`
}

type lineAuthor struct {
	Principal linePrincipal `json:"principal"`
}

type linePrincipal struct {
	Identifier string `json:"identifier"`
	Email      string `json:"email,omitempty"`
}

type lineResource struct {
	Type       string `json:"type"`
	Identifier string `json:"identifier"`
}

type lineScope struct {
	Account string `json:"accountIdentifier"`
	Org     string `json:"orgIdentifier,omitempty"`
	Project string `json:"projectIdentifier,omitempty"`
}

// LineOf is a stored record as a line.
func LineOf(r Record) Line {
	l := Line{
		EventID: fmt.Sprintf("%s-%d", r.Scope.Account, r.Sequence), Module: "CD", Author: lineAuthor{linePrincipal{Identifier: r.Actor}},
		Resource: lineResource{r.Kind, r.ID}, Scope: lineScope{r.Scope.Account, r.Scope.Org, r.Scope.Project}, Action: r.Action, Time: r.Time,
		Before: r.Before, After: r.After, Request: r.Request, Attestation: r.Attestation, Sequence: r.Sequence, Previous: r.Previous, Hash: r.Hash,
	}
	if _, err := mail.ParseAddress(r.Actor); err == nil {
		l.Author.Principal.Email = r.Actor
	}
	return l
}

// Record is the record that the line was made of.
func (l Line) Record() Record {
	return Record{
		Sequence: l.Sequence, Time: l.Time, Actor: l.Author.Principal.Identifier, Scope: ref.Scope{Account: l.Scope.Account, Org: l.Scope.Org, Project: l.Scope.Project},
		Action: l.Action, Kind: l.Resource.Type, ID: l.Resource.Identifier, Before: l.Before, After: l.After, Request: l.Request, Attestation: l.Attestation,
		Previous: l.Previous, Hash: l.Hash,
	}
}

// Lines writes records as lines of JSON.
func Lines(list []Record) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, r := range list {
		if err := enc.Encode(LineOf(r)); err != nil {
			return nil, fmt.Errorf("encode audit record %d: %w", r.Sequence, err)
		}
	}
	return out.Bytes(), nil
}

// ReadLines gives the records of lines to fn, until that has an error.
func ReadLines(in io.Reader, fn func(Record) error) error {
	lines := bufio.NewReader(in)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			var l Line
			if wrong := json.Unmarshal(text, &l); wrong != nil || l.Sequence < 1 || l.Hash == "" {
				return fmt.Errorf("line %d isn't an audit record as destinations get it", n)
			}
			if wrong := fn(l.Record()); wrong != nil {
				return wrong
			}
		}
		if err != nil {
			return nil
		}
	}
}
