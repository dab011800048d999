package mirror

import "github.com/slipway-cd/slipway/pkg/gitops/protocol"

// The bounds of what is kept of an application: about 2 KB at most, whatever its
// agent says.
const (
	mostText       = 256
	mostConditions = 5
	mostImages     = 10
	mostURLs       = 5
	mostRollouts   = 10
)

// short cuts a summary to its bounds.
func short(s protocol.Summary) protocol.Summary {
	s.Sync.Revision, s.Health.Message, s.Hold = cut(s.Sync.Revision), cut(s.Health.Message), cut(s.Hold)
	s.Sync.Revisions = each(s.Sync.Revisions, mostImages)
	s.Images, s.URLs = each(s.Images, mostImages), each(s.URLs, mostURLs)
	s.Rollouts = each(s.Rollouts, mostRollouts)
	for _, o := range []**protocol.OperationSummary{&s.Operation, &s.Requested} {
		if *o != nil {
			short := **o
			short.Message = cut(short.Message)
			*o = &short
		}
	}
	if len(s.Conditions) > mostConditions {
		s.Conditions = s.Conditions[:mostConditions]
	}
	for i := range s.Conditions {
		s.Conditions[i].Message = cut(s.Conditions[i].Message)
	}
	return s
}

func each(texts []string, most int) []string {
	if len(texts) > most {
		texts = texts[:most]
	}
	for i := range texts {
		texts[i] = cut(texts[i])
	}
	return texts
}

// cut shortens a text to whole characters.
func cut(text string) string {
	for i := range text {
		if i > mostText-len("…") {
			return text[:lastRune(text, mostText-len("…"))] + "…"
		}
	}
	return text
}

// lastRune is the start of the last character that begins at most at a byte.
func lastRune(text string, at int) int {
	last := 0
	for i := range text {
		if i > at {
			break
		}
		last = i
	}
	return last
}
