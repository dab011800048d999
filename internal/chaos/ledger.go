package chaos

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// Ledger is a file in which steps note what they do, and what became of the
// executions that they are of.
type Ledger struct {
	File string

	mu    sync.Mutex
	steps []Step
	ends  map[string]int // executions by how they ended
}

// Step is one that an execution had, as the control plane tells of it.
type Step struct {
	Name     string // as its script notes it; no other has it
	Attempts int
	Noted    int // attempts that a delegate had noted as begun when it was killed
	Good     bool
}

// Script is a step's: it notes that it began, takes some time, and notes that
// it ended. That is its effect.
func (l *Ledger) Script(name, seconds string) string {
	return fmt.Sprintf("echo 'began %[1]s' >> %[2]s; sleep %[3]s; echo 'ended %[1]s' >> %[2]s", name, l.File, seconds)
}

// Ended notes how an execution ended, and its steps.
func (l *Ledger) Ended(how string, steps ...Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil {
		l.ends = map[string]int{}
	}
	l.ends[how]++
	l.steps = append(l.steps, steps...)
}

// Sum is what a run comes to.
type Sum struct {
	Ends map[string]int // executions by how they ended
	// Lost are good steps without an effect; Doubled have more effects than
	// attempts; NeverRan have attempts that never began, neither by their own word
	// nor by their delegate's.
	Lost, Doubled, NeverRan []string
}

// Sum compares what the control plane says with what the steps noted.
func (l *Ledger) Sum() (Sum, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	doc, err := os.ReadFile(l.File)
	if err != nil {
		return Sum{}, fmt.Errorf("read the ledger: %w", err)
	}
	noted := map[string]int{}
	for line := range strings.Lines(string(doc)) {
		noted[strings.TrimSpace(line)]++
	}
	out := Sum{Ends: l.ends}
	for _, s := range l.steps {
		began, ended := noted["began "+s.Name], noted["ended "+s.Name]
		told := fmt.Sprintf("%s (%d attempts, began %d times, ended %d times, killed %d times)", s.Name, s.Attempts, began, ended, s.Noted)
		if s.Good && ended == 0 {
			out.Lost = append(out.Lost, told)
		}
		if began > s.Attempts {
			out.Doubled = append(out.Doubled, told)
		}
		if began+s.Noted < s.Attempts {
			out.NeverRan = append(out.NeverRan, told)
		}
	}
	return out, nil
}
