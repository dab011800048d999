package main

import "strings"

// difference lists the lines of two texts: those of the first alone after
// "-", those of the second alone after "+", and around them, up to two lines
// of both after a blank.
func difference(before, after string) []string {
	a, b := strings.Split(strings.TrimSuffix(before, "\n"), "\n"), strings.Split(strings.TrimSuffix(after, "\n"), "\n")
	var all []string
	common := longest(a, b)
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, " "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			all = append(all, "-"+a[i])
			i++
		default:
			all = append(all, "+"+b[j])
			j++
		}
	}
	return nearChanges(all)
}

// longest[i][j] is how many lines a[i:] and b[j:] have in common, in order.
func longest(a, b []string) [][]int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			rows[i][j] = max(rows[i+1][j], rows[i][j+1])
			if a[i] == b[j] {
				rows[i][j] = rows[i+1][j+1] + 1
			}
		}
	}
	return rows
}

// nearChanges leaves out lines that are far from any change.
func nearChanges(all []string) []string {
	const context = 2
	var out []string
	skipped := false
	for i, line := range all {
		near := false
		for k := max(i-context, 0); k <= min(i+context, len(all)-1); k++ {
			near = near || all[k][0] != ' '
		}
		if near {
			if skipped && len(out) > 0 {
				out = append(out, "...")
			}
			out = append(out, line)
		}
		skipped = !near
	}
	return out
}
