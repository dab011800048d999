package api_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// TestEveryCodeIsDocumentedWithItsStatus keeps docs/errors.md true.
func TestEveryCodeIsDocumentedWithItsStatus(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(doc)) {
		if strings.HasPrefix(line, "| `") {
			rows++
		}
	}
	if rows != len(fault.Codes()) {
		t.Errorf("docs/errors.md has %d codes; there are %d", rows, len(fault.Codes()))
	}
	for _, code := range fault.Codes() {
		p := api.Problem{Code: code}
		if want := fmt.Sprintf("\n| `%s` | %d |", code, p.GetStatus()); !strings.Contains(string(doc), want) {
			t.Errorf("docs/errors.md has no row that begins with %q", want)
		}
	}
}

func TestAWrongContentTypeIsRefusedWithTheRightOne(t *testing.T) {
	t.Parallel()
	p := setup(t).ask("POST", "/v1/pipelines/x/executions"+scope, "a=b", "Content-Type", "application/x-www-form-urlencoded").problem(400)
	if p.Code != fault.Invalid || !strings.Contains(p.Message, "application/x-www-form-urlencoded; want application/json") {
		t.Errorf("the problem is %s: %s", p.Code, p.Message)
	}
}
