package share_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/share"
)

// Whoever asks for much has its share and no more: the other comes at once.
func TestNobodyHasMoreThanAShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := share.New(4, 3, 2)
		var order []string
		in := func(who string) {
			go func() {
				if _, err := p.Enter(t.Context(), who); err == nil {
					order = append(order, who)
				}
			}()
			synctest.Wait()
		}
		for range 5 { // three have a place, two wait
			in("a")
		}
		if diff := cmp.Diff([]string{"a", "a", "a"}, order); diff != "" {
			t.Errorf("with places left (-want +got):\n%s", diff)
		}
		if _, err := p.Enter(t.Context(), "a"); !errors.Is(err, share.ErrFull) {
			t.Errorf("one more waits: %v", err)
		}
		in("b")
		if last := order[len(order)-1]; last != "b" || len(order) != 4 {
			t.Errorf("they came in as %v; want b at once", order)
		}
	})
}

// Those who wait take turns, however many wait for one of them.
func TestThoseWhoWaitTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := share.New(1, 1, 0)
		hold, err := p.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, who := range []string{"a", "a", "a", "a", "b", "c", "b"} {
			go func() {
				leave, err := p.Enter(t.Context(), who)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, who)
				leave()
				leave() // twice is as good as once
			}()
			synctest.Wait()
		}
		hold()
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b", "c", "a", "b", "a", "a"}, order); diff != "" {
			t.Errorf("they came in (-want +got):\n%s", diff)
		}
	})
}

// Who gives up leaves nothing behind: neither a place that is taken nor one that
// is waited for.
func TestWhoGivesUpLeavesItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := share.New(2, 2, 3)
		var all []func()
		for range 2 {
			leave, err := p.Enter(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, leave)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var came []string
		for i := range 3 {
			go func() {
				if _, err := p.Enter(ctx, "a"); err == nil {
					came = append(came, strconv.Itoa(i))
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		for _, leave := range slices.Backward(all) {
			leave()
		}
		for range 2 {
			if _, err := p.Enter(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		}
		if len(came) > 0 {
			t.Errorf("%v came in although they had given up", came)
		}
	})
}
