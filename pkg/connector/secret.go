package connector

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// The value types of a SecretText that a manager keeps: what the manager calls
// the secret, and the inputs of a custom manager's template.
const (
	ValueReference = "Reference"
	ValueCustom    = "CustomSecretManagerValues"
)

// CustomValues reads the value of a secret of a custom manager: JSON with the
// values of its template's inputs, by name. Blank means none.
func CustomValues(text string) (map[string]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var doc struct {
		Variables []struct {
			Name  string `json:"name"`
			Value any    `json:"value"`
		} `json:"environmentVariables"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&doc) != nil {
		return nil, fault.New(fault.Invalid, `the value isn't JSON such as {"environmentVariables": [{"name": "path", "type": "String", "value": "a/b"}]}`)
	}
	out := map[string]string{}
	for _, v := range doc.Variables {
		switch value := v.Value.(type) {
		case string:
			out[v.Name] = value
		case json.Number:
			out[v.Name] = value.String()
		default:
			return nil, fault.New(fault.Invalid, "the value of the input %q is neither a text nor a number", v.Name)
		}
	}
	return out, nil
}

// Kept is a secret that an expression names by its manager and where it is kept
// there.
type Kept struct {
	Manager string // its reference
	Secret  string
}

var kept = regexp.MustCompile(`^((?:account|org)\.)?([a-z]+)://([^/]+)/(.+)$`)

// Kept takes apart such a name; nil if the text is no such name. One of a
// manager that isn't there is an error.
func (l Types) Kept(text string) (*Kept, error) {
	m := kept.FindStringSubmatch(text)
	if m == nil {
		return nil, nil //nolint:nilnil // most names aren't
	}
	var schemes []string
	for _, t := range l {
		if t.Scheme == "" {
			continue
		}
		if t.Scheme == m[2] {
			return &Kept{Manager: m[1] + m[3], Secret: m[4]}, nil
		}
		schemes = append(schemes, t.Scheme+"://")
	}
	return nil, fault.New(fault.Unsupported, "secrets that are named as %q aren't supported yet; want %s", text, strings.Join(schemes, " or "))
}
