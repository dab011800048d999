package asl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// decode reads JSON with its numbers as they are written. Nothing at all is an
// empty object.
func decode(data []byte) (any, error) {
	if len(data) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("found more after the JSON")
	}
	return v, nil
}

// encode writes what decode has read: keys in order, nothing escaped that need
// not be, as Step Functions does.
func encode(v any) json.RawMessage { return appendJSON(nil, v) }

func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return append(b, v...)
	case string:
		return appendText(b, v)
	case json.RawMessage:
		return append(b, v...)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, key), ':')
			b = appendJSON(b, v[key])
		}
		return append(b, '}')
	}
	return append(b, "null"...) // only values that were decoded from JSON come here
}

const digits = "0123456789abcdef"

func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		case short(c) != 0:
			b = append(b, '\\', short(c))
		default:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(b, '"')
}

// short is the letter of a control character that JSON has one for.
func short(c byte) byte {
	switch c {
	case '\b':
		return 'b'
	case '\t':
		return 't'
	case '\n':
		return 'n'
	case '\f':
		return 'f'
	case '\r':
		return 'r'
	}
	return 0
}

// maxData is the limit of Step Functions for every input, output and result:
// bytes of JSON in UTF-8.
const maxData = 262144

// size is the length of a value's JSON.
func size(v any) int {
	switch v := v.(type) {
	case bool:
		if !v {
			return len("false")
		}
	case json.Number:
		return len(v)
	case string:
		return textSize(v)
	case []any:
		n := 1 + max(len(v), 1)
		for _, item := range v {
			n += size(item)
		}
		return n
	case map[string]any:
		n := 1 + max(len(v), 1)
		for key, item := range v {
			n += textSize(key) + 1 + size(item)
		}
		return n
	}
	return len("null") // and true
}

func textSize(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf || c >= ' ' && c != '"' && c != '\\':
		case c < ' ' && short(c) == 0:
			n += len(`\u000`)
		default:
			n++
		}
	}
	return n
}

// tooLarge says so if a value is over the limit.
func tooLarge(v any, what string) *Failure {
	if size(v) <= maxData {
		return nil
	}
	return &Failure{Name: errDataLimit, Cause: "The state/task '" + what + "' returned a result with a size exceeding the maximum number of bytes service limit."}
}
