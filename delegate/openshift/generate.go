package openshift

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// maxGenerated is how long one class of an expression may be, as in OpenShift.
const maxGenerated = 255

// The characters that expressions name by a letter.
const (
	lower       = "abcdefghijklmnopqrstuvwxyz"
	upper       = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits      = "0123456789"
	punctuation = "~!@#$%^&*()-_+={}[]\\|<,>.?/\"';:`"
)

// class is a part of an expression: characters in brackets and how many.
var class = regexp.MustCompile(`\[([a-zA-Z0-9\\\-_]+)\]\{([0-9]+)\}`)

// generate makes a random text of an expression such as "user-[a-z0-9]{8}".
func generate(expression string, random io.Reader) (string, error) {
	if expression == "" {
		return "", fault.New(fault.Invalid, "from is empty; want an expression such as [a-zA-Z0-9]{16}")
	}
	var b strings.Builder
	rest := 0
	for _, m := range class.FindAllStringSubmatchIndex(expression, -1) {
		b.WriteString(expression[rest:m[0]])
		rest = m[1]
		n, err := strconv.Atoi(expression[m[4]:m[5]])
		if err != nil || n < 1 || n > maxGenerated {
			return "", fault.New(fault.Invalid, "from is %q; want 1 to %d characters of a class", expression, maxGenerated)
		}
		set, err := characters(expression[m[2]:m[3]])
		if err != nil {
			return "", fault.New(fault.Invalid, "from is %q: %w", expression, err)
		}
		if err := choose(&b, set, n, random); err != nil {
			return "", err
		}
	}
	b.WriteString(expression[rest:])
	return b.String(), nil
}

// characters are those of a class, each once, as in OpenShift: \w, \d, \a, \A,
// ranges and themselves.
func characters(class string) (string, error) {
	named := map[byte]string{'w': lower + upper + digits + "_", 'd': digits, 'a': lower + upper + digits, 'A': punctuation}
	var b strings.Builder
	for i := 0; i < len(class); i++ {
		switch {
		case class[i] == '\\':
			i++
			if i == len(class) || named[class[i]] == "" {
				return "", fault.New(fault.Invalid, `found a \ in [%s]; want \w, \d, \a or \A`, class)
			}
			b.WriteString(named[class[i]])
		case i+2 < len(class) && class[i+1] == '-':
			from, to := class[i], class[i+2]
			if from > to {
				return "", fault.New(fault.Invalid, "found the range %c-%c, which has nothing in it", from, to)
			}
			for c := from; c <= to; c++ {
				b.WriteByte(c)
			}
			i += 2
		default:
			b.WriteByte(class[i])
		}
	}
	set := []byte(b.String())
	slices.Sort(set)
	return string(slices.Compact(set)), nil
}

// choose writes n characters of a set, each as likely as another.
func choose(b *strings.Builder, set string, n int, random io.Reader) error {
	one := make([]byte, 1)
	fair := 256 - 256%len(set)
	for n > 0 {
		if _, err := io.ReadFull(random, one); err != nil {
			return fmt.Errorf("read random bits: %w", err)
		}
		if int(one[0]) >= fair {
			continue
		}
		b.WriteByte(set[int(one[0])%len(set)])
		n--
	}
	return nil
}
