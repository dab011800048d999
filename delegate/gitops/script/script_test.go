package script

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

func run(t *testing.T, source string, o map[string]any) string {
	t.Helper()
	s, err := Compile("health", source)
	if err != nil {
		return err.Error()
	}
	if !strings.Contains(source, "while true") { // those are stopped; what a busy machine is slow with isn't
		s.within = time.Minute
	}
	h := s.Health(t.Context(), o)
	if h == nil {
		return "none"
	}
	return strings.TrimSpace(string(h.Status) + " " + h.Message)
}

// TestHealth: what a script may say and use, and what it may not.
func TestHealth(t *testing.T) { //nolint:paralleltest // scripts are watched by what the process takes
	o := map[string]any{"kind": "Widget", "status": map[string]any{"ready": true, "n": int64(3), "list": []any{"a", "b"}}}
	for source, want := range map[string]string{ //nolint:paralleltest // as above
		`return {status = "Healthy", message = obj.kind .. #obj.status.list}`:             "Healthy Widget2",
		`if obj.status.n == 3 and obj.status.ready then return {status = "Degraded"} end`: "Degraded",
		`return {}`:                "none",
		`return nil`:               "none",
		``:                         "none",
		`return {status = "Fine"}`: `Unknown the script of its kind gave the status "Fine", which is none`,
		`return 3`:                 "Unknown the script of its kind gave a number or a truth; want a table with a status",
		`return obj.nothing.more`:  "Unknown the script of its kind failed: health:1: attempt to index a non-table object(nil) with key 'more'",
		`this is none`:             "health: it is no Lua",
		`while true do end`:        "Unknown the script of its kind took more than a second",
		`local s = "xxxxxxxx"; while true do s = s .. s end`:                                                      "Unknown the script of its kind took ",
		`return string.rep("x", 1e9)`:                                                                             "Unknown the script of its kind failed: health:1: a text of more than 1048576 bytes",
		`local t = {}; t[60000000] = 1; return {status = "Healthy"}`:                                              "Healthy",
		`local t = {}; for i = 1, 20000 do t[i] = ("x"):rep(1000) end; return table.concat(t)`:                    "Unknown the script of its kind failed: health:1: a text of more than",
		`return string.gsub(("x"):rep(1e6), "x", ("y"):rep(1e6))`:                                                 "Unknown the script of its kind failed: health:1: a text of more than",
		`return string.gsub(("x"):rep(1e5), "x", {x = ("y"):rep(1e6)})`:                                           "Unknown the script of its kind failed: ",
		`return {status = "Healthy", message = string.gsub("a-b", "-", "+") .. string.gsub("c", "c", {c = "d"})}`: "Healthy a+bd",
		`return string.format("%[1]1000000d", 1)`:                                                                 "Unknown the script of its kind failed: health:1: a format of more than",
		`return {status = "Healthy", message = string.format("%05.2f of %3d", 1.5, 2)}`:                           "Healthy 01.50 of   2",
		`local t = {}; t.a = t; t.b = t; return t`:                                                                "Unknown the script of its kind gave more than",
		`while true do pcall(function() while true do end end) end`:                                               "Unknown the script of its kind took more than a second",
		`obj.status.n = 4; obj.kind = nil; return {status = "Healthy"}`:                                           "Healthy",
		`return {status = "Healthy", message = tostring(obj.status.n) .. tostring(actionParams)}`:                 "Healthy 3nil",
		`local function f() return 1 + f() end; f()`:                                                              "Unknown the script of its kind failed: ",
		`io.open("/etc/passwd")`:                                                                                  "Unknown the script of its kind failed: ",
		`os.execute("true")`:                                                                                      "Unknown the script of its kind failed: ",
		`dofile("/etc/passwd")`:                                                                                   "Unknown the script of its kind failed: ",
		`loadstring("return 1")()`:                                                                                "Unknown the script of its kind failed: ",
		`require("io")`:                                                                                           "Unknown the script of its kind failed: health:1: there is no module io",
		`debug.getinfo(1)`:                                                                                        "Unknown the script of its kind failed: ",
		`return {status = "Healthy", message = require("os").date("!%Y-%m-%dT%H:%M:%SZ", os.time{year=2026, month=11, day=23, hour=1})}`: "Healthy 2026-11-23T01:00:00Z",
	} {
		t.Run(source, func(t *testing.T) {
			if got := run(t, source, o); !strings.HasPrefix(got, want) || want == "none" && got != want {
				t.Errorf("it gives %q; want %q", got, want)
			}
		})
	}
}

// TestArgoCD: Argo CD's own scripts give its own verdicts on its own fixtures. They
// are read where the cache of modules has them.
func TestArgoCD(t *testing.T) { //nolint:paralleltest // as above
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3")
	list.Dir = filepath.Join("..", "..", "..", "tools", "argocd")
	list.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := list.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skip("the cache of modules doesn't have Argo CD")
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "resource_customizations", "*", "*", "health.lua"))
	if err != nil || len(scripts) < 200 {
		t.Fatalf("found %d scripts: %v", len(scripts), err)
	}
	// Whose exact script isn't the one that its fixture lies beside.
	other := map[string]bool{"_.crossplane.io/_/testdata/provider_degraded.yaml": true}
	cases := 0
	for _, path := range scripts {
		folder := filepath.Dir(path)
		name, _ := filepath.Rel(filepath.Join(dir, "resource_customizations"), folder)
		source := read(t, path)
		s, err := Compile(name, string(source))
		if err != nil {
			t.Error(err)
			continue
		}
		s.within = time.Minute
		var tests struct {
			Tests []struct {
				InputPath    string
				HealthStatus gitops.HealthStatus
			}
		}
		if err := yaml.Unmarshal(read(t, filepath.Join(folder, "health_test.yaml")), &tests); err != nil {
			t.Fatal(err)
		}
		for _, one := range tests.Tests {
			var o map[string]any
			if err := yaml.Unmarshal(read(t, filepath.Join(folder, one.InputPath)), &o); err != nil {
				t.Fatal(err)
			}
			cases++
			got := s.Health(context.Background(), o)
			if got == nil {
				got = &gitops.HealthStatus{}
			}
			if *got != one.HealthStatus && !other[name+"/"+one.InputPath] {
				t.Errorf("%s: %s: %+v; want %+v", name, one.InputPath, *got, one.HealthStatus)
			}
		}
	}
	t.Logf("%d scripts, %d cases", len(scripts), cases)
	if cases < 1000 {
		t.Errorf("there were %d cases; want more than 1000", cases)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
