package yamldoc

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Edit gives a document's text after a change of its nodes; that of no text has no
// kind. Comments stay; blank lines and indentation may change.
func Edit(text []byte, change func(root *yaml.Node) error) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if err := change(&root); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&root); err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	return b.Bytes(), nil
}
