package fault_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Where an error happened is said without losing what it was.
func TestWrapKeepsCodeAndTypes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		code fault.Code
		want []fault.FailureType
	}{
		"types of its own":    {fault.New(fault.Unavailable, "no").Causing(fault.Authorization), fault.Unavailable, []fault.FailureType{fault.Authorization}},
		"those of its code":   {fault.New(fault.Forbidden, "no"), fault.Forbidden, []fault.FailureType{fault.Authorization}},
		"wrapped in between":  {fmt.Errorf("b: %w", fault.New(fault.Invalid, "no").Causing(fault.Timeout)), fault.Invalid, []fault.FailureType{fault.Timeout}},
		"an error of no code": {errors.New("no"), fault.Internal, []fault.FailureType{fault.Unknown}},
		"told a second time":  {fault.Wrap(fault.New(fault.Conflict, "no").Causing(fault.Verification), "b"), fault.Conflict, []fault.FailureType{fault.Verification}},
	} {
		err := fault.Wrap(tt.err, "step %q", "a")
		if got := fault.Failures(err); fault.CodeOf(err) != tt.code || !slices.Equal(got, tt.want) {
			t.Errorf("%s: it is %s by %v; want %s by %v", name, fault.CodeOf(err), got, tt.code, tt.want)
		}
		if want := `step "a": ` + tt.err.Error(); err.Error() != want || !errors.Is(err, tt.err) {
			t.Errorf("%s: it says %q; want %q, and the cause below it", name, err, want)
		}
	}
}
