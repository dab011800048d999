package asl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// object reads a JSON object that may have the given fields, spelled exactly
// so, and no null that isn't allowed by name.
func object(data []byte, fields, nullable []string) (map[string]json.RawMessage, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, err
	}
	if keys == nil {
		return nil, errors.New("found null; want an object")
	}
	for key, v := range keys {
		if !slices.Contains(fields, key) {
			return nil, fmt.Errorf("%s: no such field here", key)
		}
		if string(v) == "null" && !slices.Contains(nullable, key) {
			return nil, fmt.Errorf("%s: found null", key)
		}
	}
	return keys, nil
}

// fillFields decodes the fields of an object into their places; those that aren't
// there are left.
func fillFields(keys map[string]json.RawMessage, into map[string]any) error {
	for key, place := range into {
		v, ok := keys[key]
		if !ok {
			continue
		}
		if err := json.Unmarshal(v, place); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// wellFormed finds what encoding/json is silent about: a field that is there
// twice, and text after the end.
func wellFormed(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := value(dec, ""); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("found more after the definition's JSON")
	}
	return nil
}

func value(dec *json.Decoder, at string) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for i := 0; dec.More(); i++ {
		inner := fmt.Sprintf("%s[%d]", at, i)
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return fmt.Errorf("%s.%s: the field is there twice", at, name)
			}
			seen[name] = true
			inner = at + "." + name
		}
		if err := value(dec, inner); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}
