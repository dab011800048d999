package message

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// longest is how much of a reason a message shows, in characters. The
// channels take some thousands for the whole.
const longest = 1000

func clip(text string) string { return cut(text, longest) }

// cut bounds a text, in characters.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 MST")
}

func duration(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	return max(to.Sub(from), 0).Round(time.Second).String()
}

func without(list []string, s string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == s })
}

// lines are facts as plain text.
func lines(facts []fact) string {
	var b strings.Builder
	for _, f := range facts {
		b.WriteString(f.name + ": " + f.value + "\n")
	}
	return b.String()
}
