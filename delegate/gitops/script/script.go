package script

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

const (
	// within bounds a script's time, and grace what it may take beyond that to notice.
	within = time.Second
	grace  = 200 * time.Millisecond
	// mostMemory is how much more memory a script may take, and looks how often that is
	// looked at. It is the process's, so that a script that is over soon isn't blamed
	// for others: it begins unwatched.
	mostMemory = 100 << 20
	looks      = 5 * time.Millisecond
	unwatched  = 20 * time.Millisecond
	// mostText bounds what string.rep makes at once, and mostSource a script.
	mostText   = 1 << 20
	mostSource = 256 << 10
	// patience is how often a script may take too much before it isn't run for a while:
	// a kind may have thousands of objects.
	patience, rest = 3, time.Minute
	// calls and registry bound a script's stacks; deepest the values that it returns.
	calls    = 200
	registry = 64 << 10
	deepest  = 32
	// mostValues bounds all of them.
	mostValues = 200_000
)

// Script is one that is ready to run, also side by side.
type Script struct {
	code *lua.FunctionProto
	// within is how long it may run; tests that aren't about it give more.
	within time.Duration
	// stuck: it didn't end when its time was over, and isn't run again.
	stuck atomic.Bool
	// over is how often in a row it took too much, and rests when it may run again.
	over  atomic.Int32
	rests atomic.Int64 // in nanoseconds
}

// Compile reads a script; name is for messages.
func Compile(name, source string) (*Script, error) {
	boundArrays()
	if len(source) > mostSource {
		return nil, fault.New(fault.TooLarge, "%s: found %d bytes; want %d at most", name, len(source), mostSource)
	}
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: it is no Lua: %w", name, err)
	}
	code, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: it is no Lua: %w", name, err)
	}
	return &Script{code: code, within: within}, nil
}

// Health says how an object fares; nil: the script says nothing of it. One that fails
// is Unknown, with the reason.
func (s *Script) Health(ctx context.Context, o map[string]any) *gitops.HealthStatus {
	got, err := s.run(ctx, o, nil)
	if err != nil {
		return &gitops.HealthStatus{Status: gitops.HealthUnknown, Message: err.Error()}
	}
	switch got := got.(type) {
	case nil:
		return nil
	case map[string]any:
		if len(got) == 0 {
			return nil
		}
		status, _ := got["status"].(string)
		message, _ := got["message"].(string)
		switch code := gitops.HealthCode(status); code {
		case gitops.Healthy, gitops.Suspended, gitops.Progressing, gitops.Missing, gitops.Degraded, gitops.HealthUnknown:
			return &gitops.HealthStatus{Status: code, Message: message}
		}
		return &gitops.HealthStatus{Status: gitops.HealthUnknown, Message: fmt.Sprintf("the script of its kind gave the status %q, which is none", status)}
	}
	return &gitops.HealthStatus{Status: gitops.HealthUnknown, Message: "the script of its kind gave " + describe(got) + "; want a table with a status"}
}

// What a script may take.
var (
	errTime   = errors.New("the script of its kind took more than a second")
	errMemory = errors.New("the script of its kind took too much memory")
)

// answer is what a script returned.
type answer struct {
	value any
	err   error
}

// errRests says that a script isn't run.
var errRests = errors.New("the script of its kind took too much time or memory again and again, and isn't run for a minute")

// run runs the script on an object, with parameters where it is an action.
func (s *Script) run(ctx context.Context, o map[string]any, parameters map[string]string) (any, error) {
	if s.stuck.Load() {
		return nil, errTime
	}
	if time.Now().UnixNano() < s.rests.Load() {
		return nil, errRests
	}
	v, err := s.bounded(ctx, o, parameters)
	if !errors.Is(err, errTime) && !errors.Is(err, errMemory) {
		s.over.Store(0)
	} else if s.over.Add(1) >= patience {
		s.over.Store(0)
		s.rests.Store(time.Now().Add(rest).UnixNano())
	}
	return v, err
}

// bounded runs the script for as long as it may.
func (s *Script) bounded(ctx context.Context, o map[string]any, parameters map[string]string) (any, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, s.within, errTime)
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		v, err := s.call(ctx, o, parameters)
		done <- answer{v, err}
	}()
	watch := time.NewTicker(looks)
	defer watch.Stop()
	over := time.NewTimer(s.within + grace)
	defer over.Stop()
	before, began := memory(), time.Now()
	for {
		select {
		case got := <-done:
			if cause := context.Cause(ctx); got.err != nil && cause != nil {
				return nil, cause
			}
			return got.value, got.err
		case <-watch.C:
			if time.Since(began) > unwatched && memory() > before+mostMemory {
				stop(errMemory)
			}
		case <-over.C:
			s.stuck.Store(true) // in a function of the library, which can't be stopped
			return nil, errTime
		}
	}
}

// memory is how much the process's objects take.
func memory() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// call runs the script in a state of its own.
func (s *Script) call(ctx context.Context, o map[string]any, parameters map[string]string) (value any, err error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: calls, RegistryMaxSize: registry, MinimizeStackMemory: true})
	defer l.Close()
	l.SetContext(ctx)
	defer func() { // the library panics where its stacks are full
		if r := recover(); r != nil {
			err = fault.New(fault.Invalid, "the script of its kind failed: %v", r)
		}
	}()
	open(l)
	l.SetGlobal("obj", toLua(l, o))
	if parameters != nil {
		given := l.NewTable()
		for name, text := range parameters {
			given.RawSetString(name, lua.LString(text))
		}
		l.SetGlobal("actionParams", given)
	}
	l.Push(l.NewFunctionFromProto(s.code))
	if err := l.PCall(0, 1, nil); err != nil {
		return nil, fault.New(fault.Invalid, "the script of its kind failed: %s", firstLine(err.Error()))
	}
	r := reader{left: mostValues}
	return r.value(l.Get(-1), deepest)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// open gives a script what it may use.
func open(l *lua.LState) {
	for name, library := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		l.Push(l.NewFunction(library))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	for _, name := range []string{"dofile", "loadfile", "load", "loadstring", "print", "module", "newproxy", "collectgarbage", "setfenv", "getfenv", "_printregs"} {
		l.SetGlobal(name, lua.LNil)
	}
	bound(l)
	clock := l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{"time": now, "date": date})
	l.SetGlobal("os", clock)
	l.SetGlobal("require", l.NewFunction(func(l *lua.LState) int {
		if name := l.CheckString(1); name != "os" {
			l.RaiseError("there is no module %s", name)
		}
		l.Push(clock)
		return 1
	}))
}

// now is os.time: of now, or of a table.
func now(l *lua.LState) int {
	at := time.Now()
	if l.GetTop() > 0 && l.Get(1) != lua.LNil {
		t := l.CheckTable(1)
		field := func(name string, none int) int {
			if n, ok := lua.LVAsNumber(t.RawGetString(name)), t.RawGetString(name) != lua.LNil; ok {
				return int(n)
			}
			return none
		}
		at = time.Date(field("year", 0), time.Month(field("month", 1)), field("day", 1), field("hour", 12), field("min", 0), field("sec", 0), 0, time.UTC)
	}
	l.Push(lua.LNumber(at.Unix()))
	return 1
}

// dates are the directives of os.date.
func dates() map[byte]string {
	return map[byte]string{
		'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'p': "PM", 'I': "03", 'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January",
		'c': "Mon Jan 2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05", 'Z': "MST",
	}
}

// date is os.date, in UTC whatever is asked for.
func date(l *lua.LState) int {
	format, at := strings.TrimPrefix(l.OptString(1, "%c"), "!"), time.Now().UTC()
	if l.GetTop() > 1 {
		at = time.Unix(l.CheckInt64(2), 0).UTC()
	}
	if strings.HasPrefix(format, "*t") {
		t := l.NewTable()
		for name, n := range map[string]int{
			"year": at.Year(), "month": int(at.Month()), "day": at.Day(), "hour": at.Hour(), "min": at.Minute(), "sec": at.Second(), "wday": int(at.Weekday()) + 1, "yday": at.YearDay(),
		} {
			t.RawSetString(name, lua.LNumber(n))
		}
		l.Push(t)
		return 1
	}
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		i++
		if layout, known := dates()[format[i]]; known {
			out.WriteString(at.Format(layout))
		} else {
			out.WriteByte(format[i])
		}
	}
	l.Push(lua.LString(out.String()))
	return 1
}

// toLua is a value of an object as scripts have it.
func toLua(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case int:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, one := range v {
			t.Append(toLua(l, one))
		}
		return t
	case map[string]any:
		t := l.CreateTable(0, len(v))
		for name, one := range v {
			t.RawSetString(name, toLua(l, one))
		}
		return t
	}
	return lua.LNil
}

// reader reads what a script returns, which may have itself in it.
type reader struct{ left int }

func (r *reader) value(v lua.LValue, depth int) (any, error) {
	if r.left--; depth == 0 || r.left < 0 {
		return nil, fault.New(fault.TooLarge, "the script of its kind gave more than %d values, or tables in tables deeper than %d", mostValues, deepest)
	}
	switch v := v.(type) {
	case lua.LBool:
		return bool(v), nil
	case lua.LString:
		return string(v), nil
	case lua.LNumber:
		if whole := int64(v); lua.LNumber(whole) == v {
			return whole, nil
		}
		return float64(v), nil
	case *lua.LTable:
		return r.table(v, depth-1)
	}
	return nil, nil
}

// table is a list if it has items, and else a mapping.
func (r *reader) table(t *lua.LTable, depth int) (any, error) {
	if n := t.Len(); n > 0 {
		var list []any
		for i := 1; i <= n; i++ {
			one, err := r.value(t.RawGetInt(i), depth)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	}
	out := map[string]any{}
	for k, one := t.Next(lua.LNil); k != lua.LNil; k, one = t.Next(k) {
		name, isText := k.(lua.LString)
		if !isText {
			continue
		}
		v, err := r.value(one, depth)
		if err != nil {
			return nil, err
		}
		out[string(name)] = v
	}
	return out, nil
}
