package task

// Shell runs a script (semantics/pipeline §7.4). Values may hold secret
// placeholders.
type Shell struct {
	Shell   string            `json:"shell"` // Bash or PowerShell
	Script  string            `json:"script"`
	Env     map[string]string `json:"env,omitempty"`
	Outputs []ShellOutput     `json:"outputs,omitempty"`
	// WorkingDirectory is where the script runs; empty: a new directory that is
	// removed afterwards.
	WorkingDirectory string `json:"workingDirectory,omitempty"`
	// Cluster is the one whose kubeconfig the script wants (KubeConfigPath).
	Cluster *Cluster `json:"cluster,omitempty"`
	// Remote is the host on which the script runs; nil: the delegate's own.
	Remote *SSH `json:"remote,omitempty"`
}

// KubeConfigPath is the variable that tells a script where the kubeconfig of
// its stage's cluster is (semantics/pipeline §3.6).
// "${HARNESS_KUBE_CONFIG_PATH}" is replaced in the script, too: not every
// shell has variables of the environment under that name.
const KubeConfigPath = "HARNESS_KUBE_CONFIG_PATH"

// SSH is a host and who logs in there. Key and Passphrase are placeholders of
// secrets until a claim opens them.
type SSH struct {
	Host       string `json:"host"` // a name or an address, without a port
	Port       int    `json:"port"`
	User       string `json:"user"`
	Key        string `json:"key"` // a private key in PEM
	Passphrase string `json:"passphrase,omitempty"`
}

// ShellOutput is an output variable: the value that the shell's variable has
// when the script ends without an early exit.
type ShellOutput struct {
	Name     string `json:"name"`
	Variable string `json:"variable"`
	Secret   bool   `json:"secret,omitempty"`
	Number   bool   `json:"number,omitempty"`
}
