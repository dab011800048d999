package resolve

import (
	"encoding/base64"
	"slices"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// maxConfigFile is how large a config file may be (entities spec §2.5).
const maxConfigFile = 1 << 20

// configFile is the content of a config file of what the stage deploys, its
// expressions resolved: the file of the last layer that has one of that name.
func (s *Scope) configFile(id string, encoded bool) (expr.Value, error) {
	d, err := s.deploys(s.Node.Stage())
	if err != nil {
		return expr.Null(), fault.New(fault.Invalid, "config file %q: %w", id, err)
	}
	for _, layer := range slices.Backward(d.Layers()) {
		file := identified(layer.ConfigFiles, "configFile", id)
		if file == nil {
			continue
		}
		store := file.At("spec", "store")
		if typ := text(store.Get("type")); typ != "Inline" {
			return expr.Null(), fault.New(fault.Unsupported, "config file %q is in a store of the type %s, which can't be read yet", id, typ)
		}
		v, err := s.value(text(store.At("spec", "content")))
		switch {
		case err != nil:
			return expr.Null(), fault.New(fault.CodeOf(err), "config file %q: %w", id, err)
		case len(v.Text()) > maxConfigFile:
			return expr.Null(), fault.New(fault.TooLarge, "config file %q has %d bytes; the limit is %d", id, len(v.Text()), maxConfigFile)
		case !encoded:
			return v, nil
		case v.Secret():
			return expr.Null(), fault.New(fault.Unsupported, "config file %q has a secret in it and can't be encoded yet", id)
		}
		return expr.String(base64.StdEncoding.EncodeToString([]byte(v.Text()))), nil
	}
	return expr.Null(), fault.New(fault.UnresolvedExpression, "there is no config file %q", id)
}

// identified is the item of a list of wrapped things that has an identifier.
func identified(list *yamldoc.Node, wrapper, id string) *yamldoc.Node {
	if list == nil {
		return nil
	}
	for _, item := range list.Items {
		if one := item.Get(wrapper); text(one.Get("identifier")) == id {
			return one
		}
	}
	return nil
}
