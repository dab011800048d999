package mail

import (
	"bytes"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Message is what is sent.
type Message struct {
	ID      string // of the Message-ID, before the @: the same message again has the same
	Date    time.Time
	To, CC  []string // addresses as in RFC 5322
	Subject string
	HTML    bool // whether Body is HTML rather than plain text
	Body    string
}

// maxSubject is how much of a subject is sent, in characters: a line of a
// message has at most 998 (RFC 5322 §2.1.1).
const maxSubject = 500

// check finds wrong addresses and gives the recipients' bare ones.
func (m Message) check(server Server) ([]string, error) {
	if _, err := mail.ParseAddress(server.From); err != nil {
		return nil, fault.New(fault.Invalid, "the sender %q isn't an e-mail address", server.From)
	}
	var to []string
	for _, list := range [][]string{m.To, m.CC} {
		for _, text := range list {
			a, err := mail.ParseAddress(text)
			if err != nil {
				return nil, fault.New(fault.Invalid, "%q isn't an e-mail address", text)
			}
			to = append(to, a.Address)
		}
	}
	if len(to) == 0 {
		return nil, fault.New(fault.Invalid, "the message has no recipient")
	}
	return to, nil
}

// bare is an address without a name; check has read it before.
func bare(text string) string {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return text
	}
	return a.Address
}

// compose writes the message (RFC 5322). Whatever a header is made of is
// parsed or encoded, so that nothing in it begins a header of its own.
func (m Message) compose(from string) []byte {
	var b bytes.Buffer
	header := func(key, value string) { fmt.Fprintf(&b, "%s: %s\r\n", key, value) }
	header("Date", m.Date.Format(time.RFC1123Z))
	header("From", encoded([]string{from}))
	if len(m.To) > 0 {
		header("To", encoded(m.To))
	}
	if len(m.CC) > 0 {
		header("Cc", encoded(m.CC))
	}
	_, domain, _ := strings.Cut(bare(from), "@")
	header("Message-ID", "<"+oneLine(m.ID)+"@"+domain+">")
	header("Subject", mime.QEncoding.Encode("utf-8", subject(m.Subject)))
	header("Auto-Submitted", "auto-generated") // RFC 3834: nobody's absence answers it
	header("MIME-Version", "1.0")
	kind := "text/plain"
	if m.HTML {
		kind = "text/html"
	}
	header("Content-Type", kind+"; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(m.Body)) // into memory
	_ = w.Close()
	return b.Bytes()
}

// encoded is a header's list of addresses.
func encoded(list []string) string {
	var out []string
	for _, text := range list {
		if a, err := mail.ParseAddress(text); err == nil {
			out = append(out, a.String())
		}
	}
	return strings.Join(out, ",\r\n ")
}

func subject(text string) string {
	text = oneLine(text)
	if r := []rune(text); len(r) > maxSubject {
		return string(r[:maxSubject])
	}
	return text
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
