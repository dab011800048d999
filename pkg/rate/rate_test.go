package rate

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestACallerAsksSoOften(t *testing.T) {
	t.Parallel()
	l, now := New(50, 200), time.Now()
	take := func(caller string, n int) (through int, wait time.Duration) {
		for range n {
			var w time.Duration
			if _, w = l.Take(caller, now); w == 0 {
				through++
			}
			wait = max(wait, w)
		}
		return through, wait
	}
	if got, wait := take("ada", 300); got != 200 || wait != 20*time.Millisecond {
		t.Errorf("of 300 at once %d come through, and the others wait %s; want 200 and 20 ms", got, wait)
	}
	if got, _ := take("bob", 1); got != 1 {
		t.Error("another caller has none")
	}
	now = now.Add(time.Second)
	if got, _ := take("ada", 300); got != 50 {
		t.Errorf("a second later %d; want 50", got)
	}
	now = now.Add(time.Hour)
	if got, _ := take("ada", 300); got != 200 {
		t.Errorf("an hour later %d; want 200, and no more", got)
	}
	if left, _ := l.Take("eve", now); left != 199 {
		t.Errorf("after one there are %d; want 199", left)
	}
	now = now.Add(-time.Hour) // a clock that jumps back
	if _, wait := l.Take("bob", now); wait != 0 {
		t.Errorf("bob, who asked little, waits %s", wait)
	}
	if left, wait := New(0, 0).Take("ada", now); left != 0 || wait != 0 {
		t.Error("without a limit somebody waits")
	}
}

func TestALimiterKnowsSoManyCallers(t *testing.T) {
	t.Parallel()
	l, now := New(1, 1), time.Now()
	l.most = 100
	for i := range 1000 {
		l.Take(fmt.Sprint(i), now)
	}
	if len(l.full) > 100 {
		t.Errorf("it knows %d", len(l.full))
	}
	if _, wait := l.Take("0", now); wait == 0 {
		t.Error("whoever comes with many names gets a full bucket")
	}
	now = now.Add(2 * time.Second)
	l.Take("new", now)
	if len(l.full) != 1 {
		t.Errorf("it remembers %d; want those alone that aren't full", len(l.full))
	}
}

func TestAtOnceNoneComesTwice(t *testing.T) {
	t.Parallel()
	l, now := New(1, 100), time.Now()
	var through atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if _, wait := l.Take("ada", now); wait == 0 {
					through.Add(1)
				}
			}
		})
	}
	all.Wait()
	if got := through.Load(); got != 100 {
		t.Errorf("%d come through; want 100", got)
	}
}
