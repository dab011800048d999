package template

// The codes of this package's findings. They are part of the API.
const (
	badLink        = "BAD_TEMPLATE_LINK"
	wrongKind      = "WRONG_TEMPLATE_TYPE"
	cycle          = "TEMPLATE_CYCLE"
	tooDeep        = "TEMPLATES_TOO_DEEP"
	tooLarge       = "TEMPLATES_TOO_LARGE"
	unknownInput   = "UNKNOWN_TEMPLATE_INPUT" // the link gives what the template doesn't ask for
	badInput       = "BAD_TEMPLATE_INPUT"
	besideLink     = "BESIDE_TEMPLATE"      // a key that stands beside a link
	notOverridable = "OVERRIDE_NOT_ALLOWED" // it changes nothing, as in Harness
	missing        = "MISSING_KEY"
)
