package task

import (
	"maps"
	"strings"
	"testing"
)

// The properties of an instance are those that fit, the same ones each time.
func TestPropertiesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxProperties-2)
	for name, c := range map[string]struct{ given, want map[string]string }{
		"none":             {nil, nil},
		"a few":            {map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1", "b": "2"}},
		"as many as fit":   {map[string]string{"a": long, "b": ""}, map[string]string{"a": long, "b": ""}},
		"one byte more":    {map[string]string{"a": long, "b": "1"}, map[string]string{"a": long}},
		"one is too large": {map[string]string{"a": long + "xx"}, nil},
	} {
		i := Instance{Properties: map[string]string{"was": "there"}}
		i.Describe(c.given)
		if !maps.Equal(i.Properties, c.want) || i.Described() > MaxProperties {
			t.Errorf("%s: it has %d bytes: %.40v", name, i.Described(), i.Properties)
		}
	}
}
