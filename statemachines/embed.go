// Package statemachines holds the Amazon States Language definitions, the
// same files for Step Functions and for the embedded engine, with their tests.
// What their Task states do is pkg/engine's.
package statemachines

import _ "embed"

// Node is the definition that drives one node of an execution's plan.
// Substitutions: EngineFunctionArn, NodeMachineArn.
//
//go:embed node.asl.json
var Node []byte
