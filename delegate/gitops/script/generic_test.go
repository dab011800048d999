package script

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/pkg/gitops/settings"
)

// TestGenericHealth: of whose kind nothing is known fares as its conditions say, and
// not at all if it has none, or if somebody wants that.
func TestGenericHealth(t *testing.T) {
	t.Parallel()
	off, scripted := settings.Settings{NoGenericHealth: true}, settings.Settings{Kinds: []settings.Kind{{Group: "example.com", Kind: "*", Health: `return nil`}}}
	for name, tt := range map[string]struct {
		set  settings.Settings
		o    string
		want string
	}{
		"without a status":           {o: `{}`, want: "none"},
		"a status without either":    {o: `{status: {phase: Failed, conditions: []}}`, want: "none"},
		"seen":                       {o: `{metadata: {generation: 2}, status: {observedGeneration: 2}}`, want: "Healthy"},
		"not seen yet":               {o: `{metadata: {generation: 2}, status: {observedGeneration: 1}}`, want: "Progressing Widget generation is 2, but latest observed generation is 1"},
		"ready":                      {o: `{status: {conditions: [{type: Ready, status: "True", message: it is}]}}`, want: "Healthy"},
		"not ready":                  {o: `{status: {conditions: [{type: Ready, status: "False", message: no disk}]}}`, want: "Progressing no disk"},
		"reconciling":                {o: `{status: {conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True", message: at it}]}}`, want: "Progressing at it"},
		"stalled":                    {o: `{status: {conditions: [{type: Ready, status: "False"}, {type: Stalled, status: "True", message: no such bucket}]}}`, want: "Degraded no such bucket"},
		"other conditions":           {o: `{status: {conditions: [{type: Painted, status: "False"}]}}`, want: "Healthy"},
		"conditions of another form": {o: `{status: {observedGeneration: many, conditions: [Ready]}}`, want: "none"},
		"being deleted":              {o: `{metadata: {deletionTimestamp: "2026-11-24T10:00:00Z"}, status: {conditions: [{type: Ready, status: "True"}]}}`, want: "Progressing Pending deletion"},
		"switched off":               {set: off, o: `{status: {conditions: [{type: Stalled, status: "True"}]}}`, want: "none"},
		"a script that says nothing": {set: scripted, o: `{status: {conditions: [{type: Ready, status: "False"}]}}`, want: "Progressing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := map[string]any{}
			if err := yaml.Unmarshal([]byte(tt.o), &o); err != nil {
				t.Fatal(err)
			}
			o["apiVersion"], o["kind"] = "example.com/v1", "Widget"
			whole(o)
			got := "none"
			if h := NewKinds(tt.set).Health(t.Context(), o); h != nil {
				if got = string(h.Status); h.Message != "" {
					got += " " + h.Message
				}
			}
			if got != tt.want {
				t.Errorf("it is %s; want %s", got, tt.want)
			}
		})
	}
}

// whole has numbers be as the API server gives them.
func whole(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case map[string]any:
			whole(v)
		case float64:
			m[k] = int64(v)
		}
	}
}

// TestWhichKindsFare: objects are read whole where their kind may tell how they fare.
func TestWhichKindsFare(t *testing.T) {
	t.Parallel()
	on, off := NewKinds(settings.Settings{}), NewKinds(settings.Settings{NoGenericHealth: true})
	for kind, want := range map[[2]string][2]bool{
		{"", "ConfigMap"}: {}, {"", "Secret"}: {}, {"rbac.authorization.k8s.io", "Role"}: {}, {"networking.k8s.io", "NetworkPolicy"}: {},
		{"policy", "PodDisruptionBudget"}: {true, false}, {"example.com", "Widget"}: {true, false}, {"gateway.networking.k8s.io", "Gateway"}: {true, false},
		{"apps", "Deployment"}: {true, true},
	} {
		if got := [2]bool{on.Has(kind[0], kind[1]), off.Has(kind[0], kind[1])}; got != want {
			t.Errorf("%v: %v; want %v, with and without health of unknown kinds", kind, got, want)
		}
	}
	if !(*Kinds)(nil).Has("example.com", "Widget") {
		t.Error("without settings unknown kinds don't fare")
	}
}
