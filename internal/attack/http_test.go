package attack_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A head that is too large is refused, and one that doesn't come ends the
// connection; so does silence.
func TestTheHeadOfARequestIsBounded(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	send := func(text string) *bufio.Reader {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, text)
		return bufio.NewReader(conn)
	}
	for size, want := range map[int]int{60 << 10: http.StatusNoContent, 80 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		resp, err := http.ReadResponse(send("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", size)+"\r\n\r\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a head of %d bytes is answered with %d, want %d", size, resp.StatusCode, want)
		}
	}
	if rest, err := io.ReadAll(send("GET /healthz HTTP/1.1\r\nX-Slow: ")); err != nil || !strings.Contains(string(rest), "408") && len(rest) > 0 {
		t.Errorf("a head that doesn't come is answered with %q, %v; want that the server hangs up", rest, err)
	}
}
