package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// maxOutputs bounds the values of a script's output variables together, in
// bytes (semantics/pipeline §7.4).
const maxOutputs = 512 << 10

// outputs are the output variables of a script that has ended.
type outputs struct {
	plain  map[string]json.RawMessage
	secret map[string]string
}

func values(m map[string]string) []string { return slices.Collect(maps.Values(m)) }

// The dump's format: for every variable that is set, its name, NUL, its value,
// NUL; then the sentinel: one more NUL. A shell's values can't hold a NUL, so
// values of several lines and of any encoding come through as they are, and a
// dump without the sentinel was cut short.

// bourneEpilogue dumps variables after a script that ended with status 0. The
// script's own status is kept, and a script that traces itself (set -x) must
// not trace secrets here.
func bourneEpilogue(outputs []task.ShellOutput, file string) string {
	var b strings.Builder
	b.WriteString("{ __slipway_status=$?; set +xve; } 2>/dev/null\n")
	b.WriteString("[ \"$__slipway_status\" -eq 0 ] || exit \"$__slipway_status\"\n{\n")
	for _, o := range outputs {
		fmt.Fprintf(&b, "if [ -n \"${%[1]s+x}\" ]; then printf '%%s\\0%%s\\0' '%[1]s' \"${%[1]s}\"; fi\n", o.Variable)
	}
	fmt.Fprintf(&b, "printf '\\0'\n} >%s\nexit 0\n", quote(file))
	return b.String()
}

// powerShellEpilogue dumps the script's variables, or those of the
// environment where the script has none of that name.
func powerShellEpilogue(outputs []task.ShellOutput, file string) string {
	var b strings.Builder
	b.WriteString("$__slipway = New-Object System.Text.StringBuilder\n")
	for _, o := range outputs {
		fmt.Fprintf(&b, "$__v = Get-Variable -Name '%[1]s' -ValueOnly -ErrorAction SilentlyContinue\n"+
			"if ($null -eq $__v) { $__v = [Environment]::GetEnvironmentVariable('%[1]s') }\n"+
			"if ($null -ne $__v) { [void]$__slipway.Append('%[1]s').Append([char]0).Append([string]$__v).Append([char]0) }\n", o.Variable)
	}
	b.WriteString("[void]$__slipway.Append([char]0)\n")
	fmt.Fprintf(&b, "[IO.File]::WriteAllText('%s', $__slipway.ToString(), (New-Object System.Text.UTF8Encoding $false))\n", strings.ReplaceAll(file, "'", "''"))
	return b.String()
}

// quote makes one word of a text for a Bourne shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// readOutputs reads a dump. Without one, the script exited early and has no
// output variables (semantics/pipeline §7.4).
func readOutputs(file string, wanted []task.ShellOutput) (outputs, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return outputs{}, nil
	}
	if err != nil {
		return outputs{}, fmt.Errorf("read the output variables: %w", err)
	}
	defer f.Close()
	return decodeOutputs(f, wanted)
}

// decodeOutputs reads a dump.
func decodeOutputs(f io.Reader, wanted []task.ShellOutput) (outputs, error) {
	const overhead = 64 << 10 // names and separators
	doc, err := io.ReadAll(io.LimitReader(f, maxOutputs+overhead+1))
	if err != nil {
		return outputs{}, fmt.Errorf("read the output variables: %w", err)
	}
	dumped, size, err := parseDump(doc)
	if size > maxOutputs || len(doc) > maxOutputs+overhead {
		return outputs{}, fault.New(fault.TooLarge, "the output variables are larger than %d KiB together", maxOutputs>>10)
	}
	if err != nil {
		return outputs{}, err
	}
	return convert(dumped, wanted)
}

// parseDump gives the dumped values by shell variable, and their size.
func parseDump(doc []byte) (map[string]string, int, error) {
	dumped, size := map[string]string{}, 0
	for {
		name, rest, ok := bytes.Cut(doc, []byte{0})
		if ok && len(name) == 0 && len(rest) == 0 {
			return dumped, size, nil
		}
		value, rest, ok2 := bytes.Cut(rest, []byte{0})
		if !ok || !ok2 || len(name) == 0 {
			return nil, size, fault.New(fault.Invalid, "the output variables couldn't be read: their dump ends after %d of them", len(dumped))
		}
		dumped[string(name)] = string(value)
		size += len(value)
		doc = rest
	}
}

// convert gives each wanted output its dumped value; one that the script
// didn't set stays away, so that expressions read null.
func convert(dumped map[string]string, wanted []task.ShellOutput) (outputs, error) {
	out := outputs{plain: map[string]json.RawMessage{}, secret: map[string]string{}}
	var wrong []error
	for _, o := range wanted {
		value, set := dumped[o.Variable]
		switch {
		case o.Secret && value == "":
			wrong = append(wrong, fmt.Errorf("secret output variable %q is empty", o.Name))
		case o.Secret:
			out.secret[o.Name] = value
		case !set:
		case o.Number:
			n, err := number(value)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("output variable %q is %q; want a number", o.Name, value))
				continue
			}
			out.plain[o.Name] = n
		default:
			text, err := json.Marshal(strings.ToValidUTF8(value, "\uFFFD"))
			if err != nil {
				return out, fmt.Errorf("encode output variable %q: %w", o.Name, err)
			}
			out.plain[o.Name] = text
		}
	}
	if len(wrong) > 0 {
		return out, fault.New(fault.Invalid, "%w", errors.Join(wrong...))
	}
	return out, nil
}

// number reads a number as people write it and gives it as JSON does.
func number(s string) (json.RawMessage, error) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return json.RawMessage(strconv.FormatInt(n, 10)), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("parse number: %w", err)
	}
	doc, err := json.Marshal(f) // refuses infinities
	if err != nil {
		return nil, fmt.Errorf("encode number: %w", err)
	}
	return doc, nil
}
