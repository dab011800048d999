package artifact

import (
	"errors"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// isStatus says whether a server answered with a status.
func isStatus(err error, status int) bool {
	var s *restapi.StatusError
	return errors.As(err, &s) && s.Status == status
}

// missingArtifact says that a server doesn't know the artifact at all.
func missingArtifact(name string, err error) error {
	return fault.New(fault.NotFound, "%s isn't there, or the connector may not see it: %w", name, err).Causing(fault.Unknown)
}
