package document

// The codes of this package's findings; those of pkg/yamldoc come beside
// them. They are part of the API.
const (
	WrongType           = "WRONG_TYPE"
	WrongValue          = "WRONG_VALUE"
	BadExpression       = "BAD_EXPRESSION"
	BadInput            = "BAD_INPUT"
	ShortDuration       = "SHORT_DURATION"
	MissingKey          = "MISSING_KEY"
	Ambiguous           = "AMBIGUOUS" // keys that exclude each other
	BadIdentifier       = "BAD_IDENTIFIER"
	BadName             = "BAD_NAME"
	DuplicateIdentifier = "DUPLICATE_IDENTIFIER"
	NoEffect            = "NO_EFFECT" // is read, and changes nothing
	BadReference        = "BAD_REFERENCE"
	EmptyList           = "EMPTY_LIST"
	MisplacedKey        = "MISPLACED_KEY"      // read, though it belongs elsewhere
	UnsupportedAtRun    = "UNSUPPORTED_AT_RUN" // is saved; a run refuses it
)
