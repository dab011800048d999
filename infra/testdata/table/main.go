// Command table prints what pkg/store/dynamo wants its table to be, for the
// test that compares it with the template. It is run in the product's module.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/slipway-cd/slipway/pkg/blob/s3"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
)

func main() {
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"Table": dynamo.TableInput("table"), "TimeToLive": dynamo.TimeToLiveInput("table").TimeToLiveSpecification,
		"ChangedPrefixes": dynamo.ChangedPrefixes(),
		"BlobPrefix":      dynamo.BlobPrefix,
		"RetiredTag":      s3.RetiredTag,
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
