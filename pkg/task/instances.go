package task

// Instances runs the script of a deployment template and reads which instances
// it has found (semantics/pipeline §9.6).
type Instances struct {
	Target InstancesTarget `json:"target"`
	Stage  string          `json:"stage"` // the id of its node
	Script Shell           `json:"script"`
	// List is the JSON path of the list of instances in what the script writes,
	// Name that of the name in each of them.
	List       string            `json:"list"`
	Name       string            `json:"name"`
	Attributes map[string]string `json:"attributes,omitempty"` // name -> JSON path in an instance
}

// InstancesTarget is what the instances are of. The instance ledger reads it as
// it reads a KubernetesTarget.
type InstancesTarget struct {
	Service        string `json:"service"`
	Environment    string `json:"environment"`
	Infrastructure string `json:"infrastructure"`
	Image          string `json:"image,omitempty"` // of the stage's artifact, or its version
}

// InstancesFound is what a task with Instances puts out.
type InstancesFound struct {
	List []InstanceFound `json:"serverInstanceInfoList"`
}

// InstanceFound is one instance. Both names are the same.
type InstanceFound struct {
	HostName     string            `json:"hostName"`
	InstanceName string            `json:"instanceName"`
	Properties   map[string]string `json:"properties"`
}
