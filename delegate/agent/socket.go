package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

const (
	// pingEvery finds out that a connection is dead, and keeps it open through
	// gateways that close idle ones after minutes.
	pingEvery   = time.Minute
	pingTimeout = 15 * time.Second
	// maxMessage bounds a message of the server in bytes; they carry an id.
	maxMessage = 16 << 10
)

// socketLoop keeps the WebSocket open until ctx ends. Without it the agent
// works on, only slower: claims are polled and cancels come with heartbeats.
func (a *Agent) socketLoop(ctx context.Context) {
	for failures := 0; ; failures++ {
		opened, err := a.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if opened {
			failures = 0
		}
		if failures == 0 { // one line for each change
			a.Log.WarnContext(ctx, "the socket is closed; polling until it is open again", "error", err)
		}
		if pause(ctx, backOff(failures)) != nil {
			return
		}
	}
}

// listen opens the socket and follows what it says until it breaks.
func (a *Agent) listen(ctx context.Context) (opened bool, err error) {
	address, err := a.socketAddress()
	if err != nil {
		return false, err
	}
	conn, resp, err := websocket.Dial(ctx, address, &websocket.DialOptions{ //nolint:bodyclose // the library closes it
		HTTPClient: a.HTTP, HTTPHeader: http.Header{"Authorization": {"Bearer " + a.Token}},
	})
	if err != nil {
		if resp != nil {
			return false, fmt.Errorf("open the socket: status %d: %w", resp.StatusCode, err)
		}
		return false, fmt.Errorf("open the socket: %w", err)
	}
	defer conn.CloseNow() //nolint:errcheck // closed already is as good
	conn.SetReadLimit(maxMessage)
	a.Log.DebugContext(ctx, "the socket is open")
	a.setConnected(true)
	defer a.setConnected(false)
	signal(a.work) // what came up meanwhile was said to nobody
	signal(a.news)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go keepAlive(ctx, conn)
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return true, fmt.Errorf("read from the socket: %w", err)
		}
		if err := a.follow(message); err != nil {
			return true, err
		}
	}
}

// socketAddress is where the control plane wants the next socket: at its API, or
// where it said when the delegate registered.
func (a *Agent) socketAddress() (string, error) {
	a.mu.Lock()
	a.line++
	elsewhere, line := a.timing.Socket, a.line
	a.mu.Unlock()
	if elsewhere == "" {
		return a.api.base + a.id + "/socket", nil
	}
	u, err := url.Parse(elsewhere)
	if err != nil {
		return "", fmt.Errorf("the control plane's socket address: %w", err)
	}
	q := u.Query()
	q.Set("delegate", a.id)
	q.Set("line", strconv.FormatInt(line, 10))
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// follow does what a message says. Types that this version doesn't know are
// left to newer ones.
func (a *Agent) follow(message []byte) error {
	var w protocol.Wake
	if err := json.Unmarshal(message, &w); err != nil {
		return fmt.Errorf("read a message of the socket: %w", err)
	}
	switch w.Type {
	case "work":
		signal(a.work)
	case "watch":
		signal(a.look)
	case "news":
		signal(a.news)
	case "cancel":
		a.cancel(w.Task, executor.ErrCancelled)
	}
	return nil
}

// setConnected says whether wake-ups come in; if they don't, work is looked for
// at once.
func (a *Agent) setConnected(yes bool) {
	a.mu.Lock()
	a.connected = yes
	if !yes && a.quiet > 0 { // silence would be taken for an end
		a.quiet, a.beatAt = 0, time.Now()
		a.beatLast = a.beatAt.Add(-a.timing.HeartbeatEvery)
		signal(a.beats)
	}
	a.mu.Unlock()
	if !yes {
		signal(a.work)
	}
}

// News has a signal when the control plane may have news for what else this process
// is: when it said so, and when what it said may have been lost.
func (a *Agent) News() <-chan struct{} { return a.news }

// Connected says whether the socket is open, so that News tells at once.
func (a *Agent) Connected() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.connected
}

// keepAlive pings until the connection or ctx ends. A failed ping closes the
// connection, which ends the reader.
func keepAlive(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ping, stop := context.WithTimeout(ctx, pingTimeout)
		err := conn.Ping(ping)
		stop()
		if err != nil {
			_ = conn.CloseNow() // closed already is as good
			return
		}
	}
}
