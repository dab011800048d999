package artifact

import (
	"errors"
	"net/http"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// notThere says whether a server answered that it knows no such thing.
func notThere(err error) bool {
	var s *restapi.StatusError
	return errors.As(err, &s) && s.Status == http.StatusNotFound
}

// missingArtifact says that a server doesn't know the artifact at all.
func missingArtifact(name string, err error) error {
	return fault.New(fault.NotFound, "%s isn't there, or the connector may not see it: %w", name, err).Causing(fault.Unknown)
}
