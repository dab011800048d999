package agent

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// keeper keeps the agent's documents in Secrets of its namespace. There are two sets,
// of which the one is written while the other is whole.
type keeper struct {
	cluster          *applying.Cluster
	namespace, label string
	generation       int64 // of the set that was read or written last
}

const (
	// labelDocuments is on the Secrets, with the agent's label as its value.
	labelDocuments = object.Prefix + "gitops-documents"
	// maxChunk is how much of a set one Secret holds; a Secret takes 1 MiB.
	maxChunk = 500 << 10
	// maxDocuments bounds what a set may unpack to.
	maxDocuments = 256 << 20
)

var secrets = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// load reads the newest set that is whole.
func (k *keeper) load(ctx context.Context) ([]protocol.Document, error) {
	res, err := k.cluster.Resource(applying.Named(secrets, object.Key{Namespace: k.namespace}))
	if err != nil {
		return nil, fmt.Errorf("read the agent's documents: %w", err)
	}
	all, err := applying.ListAll(ctx, res, metav1.ListOptions{LabelSelector: labelDocuments + "=" + k.label})
	if err != nil {
		return nil, fmt.Errorf("read the agent's documents: %w", applying.Classify(err))
	}
	sets := map[int64]map[int][]byte{}
	sizes := map[int64]int{}
	for i := range all {
		data, _, _ := unstructured.NestedStringMap(all[i].Object, "data")
		field := func(name string) []byte {
			text, err := base64.StdEncoding.DecodeString(data[name])
			if err != nil {
				return nil // a set that isn't whole isn't taken
			}
			return text
		}
		generation, err1 := strconv.ParseInt(string(field("generation")), 10, 64)
		place, err2 := strconv.Atoi(string(field("place")))
		of, err3 := strconv.Atoi(string(field("of")))
		if err1 != nil || err2 != nil || err3 != nil {
			continue
		}
		if sets[generation] == nil {
			sets[generation] = map[int][]byte{}
		}
		sets[generation][place], sizes[generation] = field("documents"), of
	}
	generations := make([]int64, 0, len(sets))
	for g := range sets {
		generations = append(generations, g)
	}
	slices.Sort(generations)
	slices.Reverse(generations)
	for _, g := range generations {
		k.generation = max(k.generation, g)
		if docs, err := joined(sets[g], sizes[g]); err == nil {
			return docs, nil
		}
	}
	return nil, nil
}

func joined(chunks map[int][]byte, of int) ([]protocol.Document, error) {
	var packed bytes.Buffer
	for i := range of {
		chunk, ok := chunks[i]
		if !ok {
			return nil, fmt.Errorf("part %d of %d isn't there", i+1, of)
		}
		packed.Write(chunk)
	}
	unpack, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, err
	}
	var docs []protocol.Document
	if err := json.NewDecoder(io.LimitReader(unpack, maxDocuments)).Decode(&docs); err != nil {
		return nil, err
	}
	return docs, nil
}

// save writes a new set over the older one.
func (k *keeper) save(ctx context.Context, docs []protocol.Document) error {
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	if err := json.NewEncoder(pack).Encode(docs); err != nil {
		return fmt.Errorf("keep the documents: %w", err)
	}
	if err := pack.Close(); err != nil {
		return fmt.Errorf("keep the documents: %w", err)
	}
	k.generation++
	chunks := slices.Collect(slices.Chunk(packed.Bytes(), maxChunk))
	for i, chunk := range chunks {
		name := fmt.Sprintf("slipway-gitops-docs-%s-%d-%d", k.label, k.generation%2, i)
		secret := applying.Named(secrets, object.Key{Namespace: k.namespace, Name: name})
		secret.SetLabels(map[string]string{labelDocuments: k.label})
		data := map[string]any{}
		for field, value := range map[string][]byte{
			"generation": strconv.AppendInt(nil, k.generation, 10), "place": strconv.AppendInt(nil, int64(i), 10), "of": strconv.AppendInt(nil, int64(len(chunks)), 10),
			"documents": chunk,
		} {
			data[field] = base64.StdEncoding.EncodeToString(value)
		}
		secret.Object["data"] = data
		if _, err := k.cluster.Replace(ctx, secret, object.Manager); err != nil {
			return fmt.Errorf("keep the documents: %w", err)
		}
	}
	return nil
}
