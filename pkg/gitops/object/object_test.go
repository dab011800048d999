package object

import "testing"

func TestTrackingID(t *testing.T) {
	t.Parallel()
	for _, k := range []Key{
		{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
		{Kind: "Namespace", Name: "shop"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:aggregate"},
	} {
		app, got, ok := ParseTrackingID(TrackingID("guestbook", k))
		if !ok || app != "guestbook" || got != k {
			t.Errorf("read %q %+v %v; want guestbook %+v", app, got, ok, k)
		}
	}
	for _, id := range []string{"", "guestbook", "guestbook:apps/Deployment", "guestbook:apps/Deployment:web", ":apps/Deployment:shop/web", "guestbook:/:shop/web"} {
		if app, k, ok := ParseTrackingID(id); ok {
			t.Errorf("%q was read as %q %+v; want nothing", id, app, k)
		}
	}
}
