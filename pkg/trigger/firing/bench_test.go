package firing_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/wire"
)

// BenchmarkDeliver is the work of one delivery over SQLite: one trigger starts
// an execution, all others are for another repository.
func BenchmarkDeliver(b *testing.B) {
	for _, triggers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d triggers", triggers), func(b *testing.B) {
			local, err := wire.Open(b.Context(), wire.ServeConfig{Data: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = local.Close(b.Context()) })
			h := &host{b, local}
			h.save(documents)
			for i := range triggers {
				doc := onPush(fmt.Sprintf("t%d", i), "")
				if i > 0 {
					doc = strings.Replace(doc, "repoName: web", "repoName: api", 1)
				}
				h.save(doc)
			}
			for i := 0; b.Loop(); i++ {
				if fires := h.deliver(push(fmt.Sprintf("d%d", i), "web", "main")); len(fires) != 1 {
					b.Fatalf("%d fires", len(fires))
				}
			}
		})
	}
}
