package helm

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/kubernetes"
)

// getter is how Helm reaches a cluster.
type getter struct{ *kubernetes.Foreign }

// ToRESTMapper finds the endpoints of kinds.
func (g getter) ToRESTMapper() (meta.RESTMapper, error) {
	known, err := g.Foreign.ToRESTMapper()
	return mapper{known}, err
}

// mapper asks the cluster once more for a kind that isn't known: another
// delegate may have deployed it since.
type mapper struct{ meta.RESTMapper }

// RESTMapping finds the endpoint of a kind.
func (m mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	found, err := m.RESTMapper.RESTMapping(kind, versions...)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	m.Reset()
	return m.RESTMapper.RESTMapping(kind, versions...)
}

// Reset forgets what is known, as Helm does after it has defined kinds.
func (m mapper) Reset() { meta.MaybeResetRESTMapper(m.RESTMapper) }
