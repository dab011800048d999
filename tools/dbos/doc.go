// Package dbos measures a peer beside Slipway: ten durable steps that do
// nothing, as a workflow of DBOS Go on Postgres, which syncs every commit.
// DBOS runs its steps in its own process; Slipway hands each to a delegate.
//
// Slipway's own figures are those of the benchmarks of internal/e2e of the same
// names. The peer isn't a part of the product.
package dbos
