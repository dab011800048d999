package gitops

// The types of agents, in Harness's words.
const (
	AgentManaged   = "MANAGED_ARGO_PROVIDER"   // it is the engine
	AgentConnected = "CONNECTED_ARGO_PROVIDER" // it stands before one
	AgentUnset     = "AGENT_TYPE_UNSET"
)

// Agent is a delegate that keeps applications as Git has them.
type Agent struct {
	// Namespace is where its own documents live; empty: its pod's.
	Namespace string
}
