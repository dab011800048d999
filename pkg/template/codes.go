package template

// The codes of this package's findings; those of pkg/input come beside them.
// They are part of the API.
const (
	badLink        = "BAD_TEMPLATE_LINK"
	wrongKind      = "WRONG_TEMPLATE_TYPE"
	cycle          = "TEMPLATE_CYCLE"
	tooDeep        = "TEMPLATES_TOO_DEEP"
	tooLarge       = "TEMPLATES_TOO_LARGE"
	besideLink     = "BESIDE_TEMPLATE"      // a key that stands beside a link
	noEffect       = "NO_EFFECT"            // a key that is read, and changes nothing
	notOverridable = "OVERRIDE_NOT_ALLOWED" // it changes nothing, as in Harness
)
