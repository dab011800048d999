// Package testaws is an AWS account on this machine, for tests: a host that
// runs compiled functions as Lambda does, moto's Step Functions and other
// services, what API Gateway does between clients and functions, and a World
// that tests deploy to.
//
// It knows nothing of Slipway but that a delegate opens a WebSocket; DynamoDB
// is internal/testdynamo's. README.md lists where moto differs from AWS, and
// what the Python files change in it. It isn't for anything but tests: it
// checks no signatures and no permissions.
package testaws
