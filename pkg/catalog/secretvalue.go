package catalog

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// SetFile keeps the content of a secret of the type SecretFile.
func (c *Catalog) SetFile(ctx context.Context, key store.EntityKey, content []byte, by audit.Author) error {
	stored, err := c.Store.Entity(ctx, key)
	if err != nil {
		return err
	}
	docs, _ := yamldoc.Parse("", stored.YAML) // it was read when it was saved
	if kind := secretType(docs); kind != "SecretFile" {
		return fault.New(fault.Conflict, "%s is of type %s; only a SecretFile has a file", key.Describe(), kind)
	}
	if err := c.Secret.Put(ctx, ref.Ref{Scope: key.Scope, ID: key.ID}, string(content)); err != nil {
		return err
	}
	record := c.record(key, by, audit.Update)
	record.After = "a new file"
	_, err = c.Store.AppendAudit(ctx, record)
	return err
}

// withoutValue takes the value out of an inline secret's document. Everything
// else in it stays as it is, byte for byte.
func withoutValue(doc []byte) ([]byte, *string, error) {
	docs, _ := yamldoc.Parse("", doc) // it was read before
	if secretType(docs) != "SecretText" {
		return doc, nil, nil
	}
	spec := docs[0].At("secret", "spec")
	value := spec.Get("value")
	if kind := spec.Get("valueType"); kind != nil && kind.Value != "Inline" {
		return doc, nil, nil
	}
	if value == nil || value.Kind != yamldoc.Scalar || value.Value == "" {
		return doc, nil, nil
	}
	want := blanked(docs[0])
	for _, flow := range []bool{false, true} {
		blank := cut(doc, value, flow)
		if got, _ := yamldoc.Parse("", blank); len(got) == 1 && reflect.DeepEqual(got[0].Any(), want) {
			return blank, &value.Value, nil
		}
	}
	const message = "the value can't be taken out of the document; write it as a quoted text, without an anchor or a tag"
	return nil, nil, fault.New(fault.Invalid, message).With(fault.Detail{
		Path: "spec.value", Line: value.Line, Column: value.Column, Severity: "error", Code: "WRONG_VALUE", Message: message,
	})
}

// secretType is the type of a secret by its document.
func secretType(docs []*yamldoc.Node) string {
	if len(docs) != 1 {
		return ""
	}
	if t := docs[0].At("secret", "type"); t != nil {
		return t.Value
	}
	return ""
}

// blanked is the document with an empty value, to compare with.
func blanked(doc *yamldoc.Node) any {
	all := doc.Any()
	if m, ok := all.(map[string]any)["secret"].(map[string]any)["spec"].(map[string]any); ok {
		m["value"] = ""
	}
	return all
}

// cut replaces a scalar by an empty text; flow says that braces or brackets
// are around it. It may go wrong on rare forms of YAML: the caller compares.
func cut(doc []byte, n *yamldoc.Node, flow bool) []byte {
	lines := bytes.SplitAfter(doc, []byte("\n"))
	if n.Line < 1 || n.Line > len(lines) {
		return nil
	}
	start := len(bytes.Join(lines[:n.Line-1], nil))
	for range n.Column - 1 { // columns count characters
		_, size := utf8.DecodeRune(doc[start:])
		start += size
	}
	if start >= len(doc) {
		return nil
	}
	end := start + length(string(doc[start:]), indentation(lines[n.Line-1]), flow)
	return bytes.Join([][]byte{doc[:start], []byte(`""`), doc[end:]}, nil)
}

func indentation(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// length is how many bytes a scalar at the start of a text has; indent is
// that of the line that it starts in.
func length(text string, indent int, flow bool) int {
	switch text[0] {
	case '"':
		return quoted(text, '"', `\`)
	case '\'':
		return quoted(text, '\'', "")
	case '|', '>':
		return block(text, indent)
	}
	line, _, _ := strings.Cut(text, "\n")
	line, _, _ = strings.Cut(line, " #")
	if end := strings.IndexAny(line, ",[]{}"); flow && end >= 0 {
		line = line[:end]
	}
	return len(strings.TrimRight(line, " \t\r"))
}

// quoted is the length of a quoted text. Within '...' a quote is doubled,
// which looks like two texts side by side.
func quoted(text string, quote byte, escape string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case escape != "" && text[i] == escape[0]:
			i++
		case text[i] == quote && escape == "" && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

// block is the length of a block text, without its last line break.
func block(text string, indent int) int {
	end := 0
	for line := range strings.Lines(text) {
		blank := strings.TrimSpace(line) == ""
		if end > 0 && !blank && indentation([]byte(line)) <= indent {
			break
		}
		end += len(line)
	}
	return len(strings.TrimRight(text[:end], "\n"))
}
