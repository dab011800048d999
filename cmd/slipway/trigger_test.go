package main

import "testing"

func TestSwitched(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doc  string
		on   bool
		want string
	}{
		{"trigger:\n  name: t # here\n", false, "trigger:\n  enabled: false\n  name: t # here\n"},
		{"trigger:\n  name: t\n  enabled: true # now\n", false, "trigger:\n  name: t\n  enabled: false # now\n"},
		{"trigger:\n  enabled: false\n  name: t\n", true, "trigger:\n  enabled: true\n  name: t\n"},
		{"trigger: {name: t}", false, "trigger: {enabled: false, name: t}"},
		{"trigger: {enabled: true, name: t}\n", false, "trigger: {enabled: false, name: t}\n"},
		{"trigger:\n    \"name\": t\n", true, "trigger:\n    enabled: true\n    \"name\": t\n"},
		{"trigger:\n  enabled: 'true'\n", false, ""},
		{"pipeline: {name: p}", true, ""},
	} {
		got, err := switched([]byte(c.doc), c.on)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q to %t: %q, %v; want %q", c.doc, c.on, got, err, c.want)
		}
	}
}
