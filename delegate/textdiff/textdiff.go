// Package textdiff tells how a text differs from an earlier one, as previews of
// deployments show it.
//
// What is compared, and how it becomes text, is said by who asks.
package textdiff

import (
	"fmt"
	"strings"
)

// around is how many unchanged lines are shown beside changed ones.
const around = 3

// maxTable bounds the memory of a comparison, in pairs of lines.
const maxTable = 4 << 20

// Unified is how a text differs from an earlier one, as unified hunks without
// the names of files; empty if it doesn't. Texts that differ in very many
// lines are shown as replaced.
func Unified(before, after string) string {
	if before == after {
		return ""
	}
	a, b := Lines(before), Lines(after)
	return hunks(editsOf(a, b))
}

// Lines are those of a text, without the end of the last one.
func Lines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// edit is one line of a comparison; sign is ' ', '-' or '+'.
type edit struct {
	sign byte
	line string
}

// editsOf turns a into b: what they begin and end with alike stays, and
// between that a longest common subsequence does.
func editsOf(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []edit
	for _, line := range a[:head] {
		out = append(out, edit{' ', line})
	}
	out = append(out, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, line := range a[len(a)-tail:] {
		out = append(out, edit{' ', line})
	}
	return out
}

// middle compares by a table of the lengths of common subsequences of rests.
func middle(a, b []string) []edit {
	var out []edit
	i, j := 0, 0
	if len(a)*len(b) <= maxTable {
		table := lengths(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				out = append(out, edit{' ', a[i]})
				i, j = i+1, j+1
			case table[i+1][j] >= table[i][j+1]:
				out = append(out, edit{'-', a[i]})
				i++
			default:
				out = append(out, edit{'+', b[j]})
				j++
			}
		}
	}
	for ; i < len(a); i++ {
		out = append(out, edit{'-', a[i]})
	}
	for ; j < len(b); j++ {
		out = append(out, edit{'+', b[j]})
	}
	return out
}

// lengths has the length of the longest common subsequence of a[i:] and b[j:]
// at [i][j].
func lengths(a, b []string) [][]int32 {
	table := make([][]int32, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// hunks writes the changed lines with those around them.
func hunks(edits []edit) string {
	near := make([]bool, len(edits))
	for i, e := range edits {
		if e.sign == ' ' {
			continue
		}
		for k := max(0, i-around); k <= min(len(edits)-1, i+around); k++ {
			near[k] = true
		}
	}
	var b strings.Builder
	old, now := 1, 1 // line numbers
	for i := 0; i < len(edits); {
		if !near[i] {
			old, now, i = old+1, now+1, i+1
			continue
		}
		var body strings.Builder
		left, right := 0, 0
		for ; i < len(edits) && near[i]; i++ {
			fmt.Fprintf(&body, "%c%s\n", edits[i].sign, edits[i].line)
			if edits[i].sign != '+' {
				left++
			}
			if edits[i].sign != '-' {
				right++
			}
		}
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n%s", old, left, now, right, body.String())
		old, now = old+left, now+right
	}
	return b.String()
}
