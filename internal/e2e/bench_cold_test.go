package e2e_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// BenchmarkColdStart is the time from a function's process to its first poll,
// beside a function that does nothing but make the same clients. Nothing is
// called before the first event: the endpoints don't exist.
func BenchmarkColdStart(b *testing.B) {
	dir, err := e2e.Functions()
	if err != nil {
		b.Fatal(err)
	}
	empty := filepath.Join(b.TempDir(), "bootstrap")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", empty, "./testdata/empty").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	binaries := map[string]string{"empty": empty}
	for _, name := range []string{"api", "engine", "connect", "events", "sweeper", "webhooks", "login", "feed", "notify"} {
		binaries[name] = filepath.Join(dir, name)
	}
	for name, binary := range binaries {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				host := testaws.NewHost(b)
				host.Add(testaws.Function{Name: name, Binary: binary, Timeout: 10 * time.Second, Env: []string{
					"SLIPWAY_TABLE=t", "SLIPWAY_BUCKET=b", "SLIPWAY_KMS_KEY=k", "SLIPWAY_MACHINE=m", "SLIPWAY_EVENT_BUS=e", "SLIPWAY_SOCKET=https://127.0.0.1:1/x",
					"AWS_ENDPOINT_URL=http://127.0.0.1:1",
				}})
				var took []time.Duration
				for range 30 {
					d, err := host.ColdStart(name)
					if err != nil {
						b.Fatal(err)
					}
					took = append(took, d)
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			}
		})
	}
}

// BenchmarkFirstRequest is the time of requests through the gateway: the one
// that starts the function and uses an endpoint for the first time, the first
// one of another endpoint, and one more of that. What isn't done before the
// first poll is done in the former two.
func BenchmarkFirstRequest(b *testing.B) {
	a := e2e.StartAWS(b)
	a.Apply(b, steps("p", 10, "# nothing"))
	took := make([][]time.Duration, 3)
	request := func(n int, path string) {
		begun := time.Now()
		if err := a.Call(b.Context(), http.MethodGet, path, nil, nil); err != nil {
			b.Fatal(err)
		}
		took[n] = append(took[n], time.Since(begun))
	}
	for b.Loop() {
		a.Host.Renew("api")
		request(0, "/v1/executions")
		request(1, "/v1/entities/pipeline/p")
		request(2, "/v1/entities/pipeline/p")
	}
	for n, name := range []string{"cold-p50-ms", "first-p50-ms", "again-p50-ms"} {
		slices.Sort(took[n])
		b.ReportMetric(float64(took[n][len(took[n])/2].Microseconds())/1000, name)
	}
}
