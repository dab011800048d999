package api_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// TestOpenAPI compares the description with the committed one, so that a
// change of the API shows in review. go generate ./pkg/api writes it anew.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	got, err := api.New(api.Config{Version: "v1"}).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile("openapi.json", got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("openapi.json isn't what the handlers say; run go generate ./pkg/api (-committed +generated):\n%s", cmp.Diff(string(want), string(got)))
	}
}
