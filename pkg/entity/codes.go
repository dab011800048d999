package entity

// The codes of this package's findings; those of pkg/yamldoc and pkg/document come beside
// them. They are part of the API.
const (
	unknownKind        = "UNKNOWN_KIND"
	unknownStepType    = "UNKNOWN_STEP_TYPE"
	wrongScope         = "WRONG_SCOPE"
	badStrategy        = "BAD_FAILURE_STRATEGY"
	badRego            = "BAD_REGO"
	tooMany            = "TOO_MANY" // over a bound (pkg/extent)
	barrierDeadlock    = "BARRIER_DEADLOCK"
	repeatedIdentifier = "REPEATED_IDENTIFIER" // legal, but a source of surprise
)
