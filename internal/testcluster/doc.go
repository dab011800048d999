// Package testcluster runs a real Kubernetes control plane without containers, for tests and demonstrations:
// etcd, the API server, the controller manager and the scheduler are the released programs, and kwok plays
// the kubelets, so Deployments, StatefulSets and Jobs roll out through their real controllers.
//
// It is not a cluster to run anything on: pods have no processes, logs or network, nothing survives Stop, and
// etcd doesn't wait for the disk. What makes a pod fail is a rule of stages.yaml, never chance.
package testcluster
