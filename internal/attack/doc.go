// Package attack tries what somebody would who means no good: with a token of
// the wrong sort or none, from the network, through what is run, and through
// what is shown.
//
// It has tests only. Each operation of the API, each parameter and each sort
// of attack has its row; what isn't tried here is tried beside the code that
// withstands it, and the table says where. A new operation without a row fails.
package attack
