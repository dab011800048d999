package door_test

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/wire/door"
)

// listen opens a door on loopback that lets connections stay until the test
// ends.
func listen(t *testing.T, most, perRemote int) (address string, in chan net.Conn) {
	t.Helper()
	tcp, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &door.Listener{Listener: tcp, Log: slog.New(slog.DiscardHandler), Most: most, PerRemote: perRemote}
	t.Cleanup(func() { _ = l.Close() })
	in = make(chan net.Conn, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			in <- c
		}
	}()
	return tcp.Addr().String(), in
}

// dial connects from an address of this machine.
func dial(t *testing.T, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// closed says whether the other side has hung up, which the first byte or the
// end of what it sends tells.
func closed(c net.Conn) bool {
	_, err := c.Read(make([]byte, 1))
	return err != nil
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		most, perRemote int
		second, third   string // where the connections after the first come from
	}{
		{"of one address", 9, 2, "127.0.0.1", "127.0.0.1"},
		{"in all", 2, 9, "127.0.0.2", "127.0.0.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address, in := listen(t, c.most, c.perRemote)
			first := dial(t, "127.0.0.1", address)
			server := <-in
			dial(t, c.second, address)
			<-in
			if !closed(dial(t, c.third, address)) {
				t.Error("one too many is let in")
			}
			_ = first.Close()
			_ = server.Close()
			_ = server.Close() // counts once
			again := dial(t, c.third, address)
			server = <-in
			if _, err := io.WriteString(server, "x"); err != nil || closed(again) {
				t.Errorf("there is room again, and yet: %v", err)
			}
			if !closed(dial(t, c.third, address)) {
				t.Error("a connection that was closed twice has made room for two")
			}
		})
	}
}

func TestAnotherAddressHasRoom(t *testing.T) {
	t.Parallel()
	address, in := listen(t, 9, 1)
	dial(t, "127.0.0.1", address)
	<-in
	other := dial(t, "127.0.0.2", address)
	if _, err := io.WriteString(<-in, "x"); err != nil || closed(other) {
		t.Errorf("another address isn't let in: %v", err)
	}
}

// paper is a connection that takes down what happens to it.
type paper struct {
	net.Conn
	deadlines []time.Time
}

func (p *paper) SetWriteDeadline(t time.Time) error {
	p.deadlines = append(p.deadlines, t)
	return nil
}

func (p *paper) Write(b []byte) (int, error) { return len(b), nil }
func (p *paper) RemoteAddr() net.Addr        { return &net.TCPAddr{} }
func (p *paper) Close() error                { return nil }

// one is a listener to which one connection comes.
type one struct {
	net.Listener
	conn net.Conn
}

func (o one) Accept() (net.Conn, error) { return o.conn, nil }

func TestEachWriteHasADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &paper{}
		l := &door.Listener{Listener: one{conn: p}, Most: 1, PerRemote: 1}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for _, size := range []int{1, 16 << 10, 16 << 20} {
			if _, err := c.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		}
		var after []time.Duration
		for _, d := range p.deadlines {
			after = append(after, d.Sub(begun).Truncate(time.Second))
		}
		want := []time.Duration{30 * time.Second, 91 * time.Second, 150*time.Second + 1024*time.Second}
		if diff := cmp.Diff(want, after); diff != "" {
			t.Errorf("deadlines after the beginning (-want +got):\n%s", diff)
		}
	})
}
