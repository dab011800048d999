package attack_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// A server whose disk is full says so, goes on answering, and saves again as
// soon as there is room; what it had is there.
func TestAServerOutlivesAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skip("only root can mount a small file system: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	p := start(t, dir)
	c := apiclient.New(p.url, p.token)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	scope := ref.Scope{Org: "default", Project: "web"}
	save := func(id string) error {
		doc := strings.ReplaceAll(echo, "echo, identifier: echo", id+", identifier: "+id) + strings.Repeat("# "+strings.Repeat("x", 98)+"\n", 2000)
		_, err := c.Save(ctx, apiclient.Document{Scope: scope, YAML: []byte(doc)})
		return err
	}
	if err := save("before"); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for block := bytes.Repeat([]byte("x"), 4096); err == nil; {
		_, err = f.Write(block)
	}
	_ = f.Close()
	for i := range 3 {
		if err := save("refused"); !fault.Is(err, fault.StorageFull) {
			t.Fatalf("try %d: a full disk gives %v; want STORAGE_FULL", i, err)
		}
	}
	if h, err := c.Health(ctx); err != nil || h.Disk == nil || !h.Disk.Low {
		t.Errorf("health is %+v, %v; want that the disk is low", h.Disk, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for {
		err := save("after")
		if err == nil {
			break
		}
		if !fault.Is(err, fault.StorageFull) {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
			t.Fatal("there is room again, and nothing is saved: ", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	for id, want := range map[string]int{"before": http.StatusOK, "after": http.StatusOK, "refused": http.StatusNotFound} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/v1/entities/pipeline/"+id+"?org=default&project=web", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+p.token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("pipeline %s: status %d, want %d", id, resp.StatusCode, want)
		}
	}
}
