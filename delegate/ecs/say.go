package ecs

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// sayCount is how many tasks a service has, for people.
func sayCount(one types.Service) string {
	return fmt.Sprintf("%d/%d running, %d pending", one.RunningCount, one.DesiredCount, one.PendingCount)
}

// wrong is an error of what a user has written.
func wrong(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.ConfigurationFailure)
}
