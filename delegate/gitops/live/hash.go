package live

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Hash stands for the fields of an object that are ours. It moves when somebody
// changes or removes one of them, or takes it over, and not otherwise. None at
// all is 0.
type Hash uint64

// MarshalText writes a hash in 16 digits.
func (h Hash) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(h)), nil }

// UnmarshalText reads what MarshalText has written.
func (h *Hash) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil {
		return fmt.Errorf("the hash %q: want 16 hexadecimal digits", text)
	}
	*h = Hash(n)
	return nil
}

// OwnHash reads an object's hash from the entry that our applies have in its
// managedFields.
func OwnHash(o metav1.Object) Hash {
	if u, ok := o.(*unstructured.Unstructured); ok {
		version, fields := ownEntry(u)
		return hashOf(version, fields)
	}
	for _, f := range o.GetManagedFields() {
		if f.Manager == object.Manager && f.Operation == metav1.ManagedFieldsOperationApply && f.Subresource == "" && f.FieldsV1 != nil {
			return hashOf(f.APIVersion, f.FieldsV1.GetRawBytes())
		}
	}
	return 0
}

// ownEntry is OwnHash's entry of an object whose managedFields are but maps.
func ownEntry(o *unstructured.Unstructured) (version string, fields []byte) {
	all, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "managedFields")
	list, _ := all.([]any)
	for _, item := range list {
		f, _ := item.(map[string]any)
		if f["manager"] != object.Manager || f["operation"] != string(metav1.ManagedFieldsOperationApply) || f["subresource"] != nil && f["subresource"] != "" {
			continue
		}
		version, _ := f["apiVersion"].(string)
		fields, err := json.Marshal(f["fieldsV1"])
		if err != nil {
			return "", nil // it came as JSON
		}
		return version, fields
	}
	return "", nil
}

func hashOf(version string, fields []byte) Hash {
	if len(fields) == 0 {
		return 0
	}
	sum := sha256.New()
	sum.Write([]byte(version))
	sum.Write(inOrder(fields))
	return Hash(binary.BigEndian.Uint64(sum.Sum(nil)))
}

// inOrder writes a set of fields in one order. The server has two: that of the
// set, and for custom resources that of texts. They only differ for list items,
// which have a quote or a number in their key.
func inOrder(fields []byte) []byte {
	if !bytes.ContainsAny(fields, `\<>&`) && !bytes.Contains(fields, []byte(`"v:`)) {
		return fields
	}
	var set fieldpath.Set
	if err := set.FromJSON(bytes.NewReader(fields)); err != nil {
		return fields
	}
	doc, err := set.ToJSON()
	if err != nil {
		return fields
	}
	return doc
}
