package asl

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// The bounds of the language.
const (
	maxName    = 80       // characters of a state's name
	maxSeconds = 99999999 // of every time, and of MaxAttempts
)

// check finds what is wrong between the states.
func (s *states) check() error {
	if len(s.States) == 0 {
		return errNoStates
	}
	if s.States[s.StartAt] == nil {
		return fmt.Errorf("there is no state %q to start at", s.StartAt)
	}
	for name, st := range s.States {
		if err := st.check(s); err != nil {
			return fmt.Errorf("state %s: %w", name, err)
		}
	}
	return s.checkReached()
}

// checkReached finds states that no way leads to.
func (s *states) checkReached() error {
	reached := map[string]bool{s.StartAt: true}
	for todo := []string{s.StartAt}; len(todo) > 0; todo = todo[1:] {
		for _, next := range s.States[todo[0]].targets() {
			if !reached[next] {
				reached[next] = true
				todo = append(todo, next)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.States)) {
		if !reached[name] {
			return fmt.Errorf("state %s: no way leads to it", name)
		}
	}
	return nil
}

// checkNames finds names that are too long, or there twice in the machine.
func (s *states) checkNames(seen map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(s.States)) {
		if name == "" || utf8.RuneCountInString(name) > maxName {
			return fmt.Errorf("state %q: a name has 1 to %d characters", name, maxName)
		}
		if seen[name] {
			return fmt.Errorf("state %s: the machine has two of this name", name)
		}
		seen[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.States)) {
		for _, inner := range s.States[name].inner() {
			if err := inner.checkNames(seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// inner are the states below a Parallel or Map state.
func (st *state) inner() []*states {
	if st.ItemProcessor != nil {
		return []*states{&st.ItemProcessor.states}
	}
	return st.Branches
}

// targets are the states that may come next.
func (st *state) targets() []string {
	var out []string
	for i := range st.Choices {
		out = append(out, st.Choices[i].Next)
	}
	for _, c := range st.Catch {
		out = append(out, c.Next)
	}
	for _, next := range []string{st.Next, st.Default} {
		if next != "" {
			out = append(out, next)
		}
	}
	return out
}

func (st *state) check(s *states) error {
	if err := st.checkFields(); err != nil {
		return err
	}
	for _, t := range st.targets() {
		if s.States[t] == nil {
			return fmt.Errorf("there is no state %q to go to", t)
		}
	}
	return nil
}

func (st *state) checkFields() error {
	switch st.Type {
	case "Choice":
		return st.checkChoices()
	case "Succeed":
		return nil
	case "Fail":
		return errors.Join(exclusive("Error", st.Error != "", "ErrorPath", st.ErrorPath != nil), exclusive("Cause", st.Cause != "", "CausePath", st.CausePath != nil))
	}
	if st.End == (st.Next != "") {
		return errors.New("either Next or End is needed")
	}
	if st.ResultPath != nil && st.ResultPath.context {
		return errors.New("ResultPath: the context object can't be written")
	}
	return errors.Join(st.checkWork(), checkRetry(st.Retry), checkCatch(st.Catch))
}

func (st *state) checkChoices() error {
	if len(st.Choices) == 0 {
		return errors.New("at least one of Choices is needed")
	}
	for i := range st.Choices {
		if err := st.Choices[i].check(true); err != nil {
			return fmt.Errorf("at Choices[%d]: %w", i, err)
		}
	}
	return nil
}

func (st *state) checkWork() error {
	switch st.Type {
	case "Task":
		return st.checkTask()
	case "Map":
		return st.checkMap()
	case "Parallel":
		if len(st.Branches) == 0 {
			return errors.New("at least one of Branches is needed")
		}
	case "Wait":
		return st.checkWait()
	}
	return nil
}

// exclusive refuses two fields that say the same.
func exclusive(a string, hasA bool, b string, hasB bool) error {
	if hasA && hasB {
		return fmt.Errorf("found %s and %s; want one of them", a, b)
	}
	return nil
}

// within refuses a number out of its bounds.
func within(field string, n *int64, least, most int64) error {
	if n != nil && (*n < least || *n > most) {
		return fmt.Errorf("%s is %d; want %d to %d", field, *n, least, most)
	}
	return nil
}
