package awsdiff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/awsdiff"
)

type variable struct{ Name, Value string }

type container struct {
	Image       string
	Environment []variable
}

// What a container's variables were isn't shown, unless it stays.
func TestOldValues(t *testing.T) {
	t.Parallel()
	was := awsdiff.Plain(struct{ ContainerDefinitions []container }{[]container{
		{"web:1", []variable{{"STAGE", "prod"}, {"TOKEN", "old-secret"}, {"GONE", "gone-secret"}}}, {"log:1", []variable{{"KEY", "log-secret"}}},
	}})
	is := awsdiff.Plain(struct{ ContainerDefinitions []container }{[]container{{"web:2", []variable{{"STAGE", "prod"}, {"TOKEN", "new"}}}}})
	var d awsdiff.Diff
	if _, err := d.Add("TaskDefinition/web", was, is); err != nil {
		t.Fatal(err)
	}
	out := d.Outputs(t.Logf)
	if strings.Contains(out.Diff, "-secret") || !strings.Contains(out.Diff, "-          \"value\": \"(another value, not shown)\"\n") || !strings.Contains(out.Diff, "+          \"value\": \"new\"\n") {
		t.Errorf("the difference is\n%s", out.Diff)
	}
	if strings.Contains(out.Diff, "prod") || !*out.HasChanges || fmt.Sprint(out.Changed) != "[TaskDefinition/web]" {
		t.Errorf("%+v", out)
	}
}

// The output is bounded, and nothing is one of the two.
func TestLargeDifferences(t *testing.T) {
	t.Parallel()
	var d awsdiff.Diff
	if d.Empty() != true {
		t.Error("no difference isn't empty")
	}
	if _, err := d.Add("Service/web", nil, map[string]any{"text": strings.Repeat("ä", 64<<10)}); err != nil {
		t.Fatal(err)
	}
	warned := 0
	out := d.Outputs(func(string, ...any) { warned++ })
	if len(out.Diff) > 64<<10 || warned != 1 || !strings.HasSuffix(out.Diff, "ä") {
		t.Errorf("%d bytes, warned %d times", len(out.Diff), warned)
	}
}
