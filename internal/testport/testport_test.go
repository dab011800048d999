package testport

import "testing"

// TestFree: nobody is given an address that somebody else was given.
func TestFree(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 20 {
		addresses, err := Free(50)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			if given[a] {
				t.Errorf("%s was given twice", a)
			}
			given[a] = true
		}
	}
}
