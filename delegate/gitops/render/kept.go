package render

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/slipway-cd/slipway/delegate/diskcache"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// pruneEvery is how often what nobody uses any more is removed.
const pruneEvery = time.Hour

// kept is what was rendered, on disk: what was last read for an application, and
// what came of what was read. A cache that can't be read or written is one that
// has nothing.
type kept struct {
	dir string

	mu     sync.Mutex
	pruned time.Time
}

// maxKept bounds one entry, in bytes.
const maxKept = 64 << 20

// content is a rendered application on disk.
type content struct {
	Objects    []json.RawMessage  `json:"objects"`
	Conditions []gitops.Condition `json:"conditions,omitempty"`
	Unstable   []unstable         `json:"unstable,omitempty"`
}

// seen gives what was read of each source when an application was last rendered.
func (k *kept) seen(about string) ([]map[string]string, bool) {
	var out []map[string]string
	text, err := k.read("read-" + about)
	return out, err == nil && json.Unmarshal(text, &out) == nil
}

func (k *kept) get(key string) (Result, bool) {
	var c content
	text, err := k.read("objects-" + key)
	if err != nil || json.Unmarshal(text, &c) != nil {
		return Result{}, false
	}
	out := Result{Key: key, Conditions: c.Conditions, Unstable: map[object.Key][]string{}, Objects: make([]*unstructured.Unstructured, len(c.Objects))}
	for _, u := range c.Unstable {
		out.Unstable[u.Key] = u.Fields
	}
	for i, doc := range c.Objects {
		out.Objects[i] = &unstructured.Unstructured{}
		if utiljson.Unmarshal(doc, &out.Objects[i].Object) != nil {
			return Result{}, false
		}
	}
	return out, true
}

func (k *kept) put(about string, seen []map[string]string, r Result) {
	c := content{Conditions: r.Conditions, Objects: make([]json.RawMessage, len(r.Objects))}
	for key, fields := range r.Unstable {
		c.Unstable = append(c.Unstable, unstable{key, fields})
	}
	for i, o := range r.Objects {
		doc, err := json.Marshal(o.Object)
		if err != nil {
			return
		}
		c.Objects[i] = doc
	}
	doc, err := json.Marshal(c)
	if err != nil || !k.write("objects-"+r.Key, doc) {
		return
	}
	if doc, err = json.Marshal(seen); err == nil {
		k.write("read-"+about, doc)
	}
}

func (k *kept) read(name string) ([]byte, error) {
	path := filepath.Join(k.dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	diskcache.Use(path)
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxKept))
}

// write puts an entry into place at once, so that nobody reads a half.
func (k *kept) write(name string, text []byte) bool {
	k.prune(time.Now())
	if os.MkdirAll(k.dir, 0o700) != nil {
		return false
	}
	f, err := os.CreateTemp(k.dir, "new-")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	z, _ := gzip.NewWriterLevel(f, gzip.BestSpeed) // which is a level
	_, err = z.Write(text)
	if zErr := z.Close(); err == nil {
		err = zErr
	}
	if fErr := f.Close(); err == nil {
		err = fErr
	}
	return err == nil && os.Rename(f.Name(), filepath.Join(k.dir, name)) == nil
}

func (k *kept) prune(now time.Time) {
	k.mu.Lock()
	due := now.Sub(k.pruned) >= pruneEvery
	if due {
		k.pruned = now
	}
	k.mu.Unlock()
	if due {
		diskcache.Prune(k.dir, now)
	}
}
