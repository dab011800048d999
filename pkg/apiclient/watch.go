package apiclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// maxOutages is how many times in a row a watch reconnects in vain: some
// five minutes.
const maxOutages = 32

// Watch gives an execution as it is now and after every change, until it has
// ended. It reconnects when the connection breaks. The tree belongs to the
// callback only while it runs.
func (c *Client) Watch(ctx context.Context, id string, changed func(api.ExecutionTree)) error {
	w := watch{changed: changed}
	for outages := 0; ; outages++ {
		w.heard = false
		err := c.listen(ctx, id, &w)
		switch {
		case w.tree.Status.Terminal():
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.TooMany):
			return err
		}
		if w.heard {
			outages = 0
		}
		if outages == maxOutages {
			return err
		}
		pause := time.NewTimer(min(10*time.Second, time.Second<<min(outages, 4)/4))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// listen follows one connection until it ends; an end without an error is
// the server's.
func (c *Client) listen(ctx context.Context, id string, w *watch) error {
	resp, err := c.send(ctx, request{method: http.MethodGet, path: path("executions", id, "events"), accept: "text/event-stream"})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return events(resp.Body, w.hear)
}

// watch puts the events of an execution together.
type watch struct {
	tree    api.ExecutionTree
	heard   bool
	changed func(api.ExecutionTree)
}

// hear takes in one event.
func (w *watch) hear(name string, data []byte) error {
	var err error
	switch name {
	case api.EventTree:
		w.tree = api.ExecutionTree{}
		err = json.Unmarshal(data, &w.tree)
	case api.EventChange:
		var c api.ExecutionChange
		if err = json.Unmarshal(data, &c); err == nil && w.tree.Root != nil {
			w.tree.Execution = c.Execution
			for _, n := range c.Nodes {
				replace(w.tree.Root, *n)
			}
		}
	default: // of a newer server
		return nil
	}
	if err != nil {
		return fmt.Errorf("decode the event %s: %w", name, err)
	}
	w.heard = true
	w.changed(w.tree)
	return nil
}

// replace puts a node's new state in the place of its old one.
func replace(at *execution.TreeNode, n execution.TreeNode) bool {
	if at.ID == n.ID {
		n.Children = at.Children
		*at = n
		return true
	}
	for _, c := range at.Children {
		if replace(c, n) {
			return true
		}
	}
	return false
}

// maxEvent bounds one event in bytes: a server of an earlier release sends all
// nodes of a very large execution.
const maxEvent = 64 << 20

// events reads server-sent events.
func events(r io.Reader, hear func(name string, data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEvent)
	var name string
	var data []byte
	for lines.Scan() {
		key, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(lines.Bytes()) == 0 && name != "":
			if err := hear(name, data); err != nil {
				return err
			}
			name, data = "", nil
		case string(key) == "event":
			name = string(value)
		case string(key) == "data":
			data = append(data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		return fault.New(fault.Unavailable, "the stream of events broke: %w", err)
	}
	return nil
}
