package reconcile

import (
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// shows is what lists of applications show of an object.
type shows struct {
	Images []string `json:"images,omitempty"` // that it runs
	URLs   []string `json:"urls,omitempty"`   // where people find it
}

// linkNote begins the annotations by which an object says where people find it.
const linkNote = "link.argocd.argoproj.io/"

// showsOf is what an object shows.
func showsOf(o *unstructured.Unstructured) shows {
	out := shows{Images: images(o)}
	for name, text := range o.GetAnnotations() {
		if strings.HasPrefix(name, linkNote) {
			_, at, titled := strings.Cut(text, "|")
			if !titled {
				at = text
			}
			out.link(strings.TrimSpace(at))
		}
	}
	if gvk := o.GroupVersionKind(); gvk.Kind == "Ingress" && (gvk.Group == "networking.k8s.io" || gvk.Group == "extensions") {
		secure := map[string]bool{}
		rows, _, _ := unstructured.NestedSlice(o.Object, "spec", "tls")
		for _, row := range rows {
			tls, _ := row.(map[string]any)
			hosts, _ := tls["hosts"].([]any)
			for _, host := range hosts {
				if name, ok := host.(string); ok { // nobody has looked at what stands there
					secure[name] = true
				}
			}
		}
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		for _, row := range rules {
			rule, _ := row.(map[string]any)
			host, _ := rule["host"].(string)
			scheme := "http"
			if secure[host] {
				scheme = "https"
			}
			if host != "" && !strings.Contains(host, "*") {
				out.link(scheme + "://" + host)
			}
		}
	}
	slices.Sort(out.URLs)
	return out
}

// link adds an address of the web, and nothing else.
func (s *shows) link(text string) {
	at, err := url.Parse(text)
	if err == nil && at.Host != "" && at.User == nil && (at.Scheme == "https" || at.Scheme == "http") && !slices.Contains(s.URLs, text) {
		s.URLs = append(s.URLs, text)
	}
}

// summaryOf is what is shown of all objects that were applied and are there.
func summaryOf(a *app) gitops.Summary {
	var out gitops.Summary
	for k, one := range a.rec.Inventory {
		o, there := a.seen(k)
		if !there {
			continue
		}
		if w := a.target.find(k); w != nil && a.unchanged(w, o) {
			one.Shows = w.shows // a record of an earlier version has none
			a.rec.Inventory[k] = one
		}
		out.Images, out.ExternalURLs = append(out.Images, one.Shows.Images...), append(out.ExternalURLs, one.Shows.URLs...)
	}
	for _, list := range []*[]string{&out.Images, &out.ExternalURLs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}
