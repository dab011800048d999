package script

import (
	"regexp"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

const (
	// mostArray bounds the place to which a table is an array: a table is filled up to
	// it at once.
	mostArray = 1 << 20
	// mostMade bounds what a function makes of texts at once, and mostFormat a format.
	mostMade   = 16 << 20
	mostFormat = 16 << 10
)

// boundArrays has the library fill no table beyond mostArray. The bound is the
// library's own, and of the whole process.
var boundArrays = sync.OnceFunc(func() { lua.MaxArrayIndex = mostArray })

// bound puts functions in the place of those that make much of little at once, where
// nothing can stop them.
func bound(l *lua.LState) {
	if t, ok := l.GetGlobal(lua.StringLibName).(*lua.LTable); ok {
		t.RawSetString("rep", l.NewFunction(repeat))
		t.RawSetString("dump", lua.LNil)
		t.RawSetString("format", checked(l, t, "format", checkFormat))
		t.RawSetString("gsub", checked(l, t, "gsub", checkSubstitution))
	}
	if t, ok := l.GetGlobal(lua.TabLibName).(*lua.LTable); ok {
		t.RawSetString("concat", checked(l, t, "concat", checkConcatenation))
	}
}

// checked is a function of a library behind a check.
func checked(l *lua.LState, t *lua.LTable, name string, check func(*lua.LState)) *lua.LFunction {
	next, _ := t.RawGetString(name).(*lua.LFunction)
	return l.NewFunction(func(l *lua.LState) int {
		check(l)
		return next.GFunction(l)
	})
}

// repeat is string.rep.
func repeat(l *lua.LState) int {
	text, n := l.CheckString(1), max(0, l.CheckInt(2))
	if len(text) > 0 && n > mostText/len(text) {
		l.RaiseError("a text of more than %d bytes", mostText)
	}
	l.Push(lua.LString(strings.Repeat(text, n)))
	return 1
}

// wide are the directives that pad, or that choose what they show.
var wide = regexp.MustCompile(`%[-+# 0]*(\[|\*|\d{3}|\d*\.(\*|\d{3}))`)

func checkFormat(l *lua.LState) {
	if text := l.CheckString(1); len(text) > mostFormat || wide.MatchString(text) {
		l.RaiseError("a format of more than %d bytes, or a width of more than 99", mostFormat)
	}
}

// checkSubstitution bounds what a replacement may come to.
func checkSubstitution(l *lua.LState) {
	text := l.CheckString(1)
	made := 0
	switch by := l.Get(3).(type) {
	case lua.LString:
		made = (len(by) + 1) * (len(text) + 1)
	case lua.LNumber:
		made = len(by.String()) * (len(text) + 1)
	case *lua.LTable:
		l.Replace(3, l.NewFunction(func(l *lua.LState) int {
			v := l.GetField(by, l.CheckString(1))
			if made += len(v.String()); made > mostMade {
				l.RaiseError("a text of more than %d bytes", mostMade)
			}
			l.Push(v)
			return 1
		}))
	default: // a function is watched as the script is
	}
	if made > mostMade {
		l.RaiseError("a text of more than %d bytes", mostMade)
	}
}

func checkConcatenation(l *lua.LState) {
	t, between := l.CheckTable(1), len(l.OptString(2, ""))
	made := 0
	for i := 1; i <= t.Len(); i++ {
		if text, is := t.RawGetInt(i).(lua.LString); is {
			made += len(text)
		}
		made += between
		if made > mostMade {
			l.RaiseError("a text of more than %d bytes", mostMade)
		}
	}
}
