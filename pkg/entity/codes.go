package entity

// The codes of this package's findings; those of pkg/yamldoc come beside
// them. They are part of the API.
const (
	wrongType           = "WRONG_TYPE"
	wrongValue          = "WRONG_VALUE"
	missingKey          = "MISSING_KEY"
	emptyList           = "EMPTY_LIST"
	ambiguous           = "AMBIGUOUS"     // keys that exclude each other
	misplacedKey        = "MISPLACED_KEY" // read, though it belongs elsewhere
	unknownKind         = "UNKNOWN_KIND"
	unknownStepType     = "UNKNOWN_STEP_TYPE"
	wrongScope          = "WRONG_SCOPE"
	badIdentifier       = "BAD_IDENTIFIER"
	badName             = "BAD_NAME"
	badReference        = "BAD_REFERENCE"
	badStrategy         = "BAD_FAILURE_STRATEGY"
	tooMany             = "TOO_MANY" // over a bound (pkg/extent)
	barrierDeadlock     = "BARRIER_DEADLOCK"
	duplicateIdentifier = "DUPLICATE_IDENTIFIER"
	repeatedIdentifier  = "REPEATED_IDENTIFIER" // legal, but a source of surprise
	unsupportedAtRun    = "UNSUPPORTED_AT_RUN"  // is saved; a run refuses it
	noEffect            = "NO_EFFECT"           // is read, and changes nothing
)
