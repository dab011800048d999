package task

// Shell runs a script (pipeline spec §7.4). Values may hold secret
// placeholders.
type Shell struct {
	Shell   string            `json:"shell"` // Bash or PowerShell
	Script  string            `json:"script"`
	Env     map[string]string `json:"env,omitempty"`
	Outputs []ShellOutput     `json:"outputs,omitempty"`
	// WorkingDirectory is where the script runs; empty: a new directory that is
	// removed afterwards.
	WorkingDirectory string `json:"workingDirectory,omitempty"`
}

// ShellOutput is an output variable: the value that the shell's variable has
// when the script ends without an early exit.
type ShellOutput struct {
	Name     string `json:"name"`
	Variable string `json:"variable"`
	Secret   bool   `json:"secret,omitempty"`
	Number   bool   `json:"number,omitempty"`
}
