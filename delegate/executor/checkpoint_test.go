package executor_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
)

// The first that is kept of a key counts, and a rollback finds the newest first.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	env := executortest.New(t, nil).Env
	for _, c := range []struct{ key, data, want string }{
		{"web/a", "as found", "as found"}, {"other", "else", "else"}, {"web/b", "too", "too"}, {"web/a", "half done", "as found"},
	} {
		if got, err := executor.Keep(t.Context(), env, c.key, c.data); got != c.want || err != nil {
			t.Errorf("kept of %s: %q, %v; want %q", c.key, got, err, c.want)
		}
	}
	for prefix, want := range map[string][]string{"web/": {"too", "as found"}, "none/": nil} {
		got, err := executor.Kept[string](t.Context(), env, prefix)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("of %s: %v (-want +got):\n%s", prefix, err, diff)
		}
	}
	const want = "decode the checkpoint other: "
	if _, err := executor.Kept[int](t.Context(), env, "other"); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("of another sort: %v; want %s", err, want)
	}
	if _, err := executor.Keep(t.Context(), env, "other", 1); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("kept by another sort: %v; want %s", err, want)
	}
}
