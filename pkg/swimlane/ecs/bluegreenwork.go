package ecs

// BlueGreen says behind which rules a new service is made.
type BlueGreen struct {
	LoadBalancer string `json:"loadBalancer"` // its name or ARN
	ProdListener string `json:"prodListener"` // ARNs from here on
	ProdRule     string `json:"prodRule,omitempty"`
	// Where target groups are swapped:
	StageListener string `json:"stageListener,omitempty"`
	StageRule     string `json:"stageRule,omitempty"`
	// Shift: the two services share a rule, and this is the new one's target group.
	Shift            bool   `json:"shift,omitempty"`
	StageTargetGroup string `json:"stageTargetGroup,omitempty"`

	// UpdateGreen updates the service without traffic in place of making one.
	UpdateGreen bool `json:"updateGreen,omitempty"`
	// ScaleInSwap leaves it to the swap to scale the new service.
	ScaleInSwap bool `json:"scaleInSwap,omitempty"`
}

// Swap says what becomes of the service that had the traffic.
type Swap struct {
	KeepOld bool `json:"keepOld,omitempty"`
	Delay   int  `json:"delay,omitempty"` // in seconds, before it is scaled down
}
