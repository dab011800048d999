package resolve

import (
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// google resolves a Gcp connector (semantics/entities §9).
func (s *Scope) google(connector *yamldoc.Node) (*task.Google, error) {
	if err := wantConnector(connector, "Gcp"); err != nil {
		return nil, err
	}
	credential := connector.At("spec", "credential")
	if text(credential.Get("type")) != "ManualConfig" {
		return &task.Google{}, nil
	}
	key, err := s.secretAt(credential.At("spec", "secretKeyRef"))
	return &task.Google{Key: key}, err
}

// azure resolves an Azure connector (semantics/entities §9).
func (s *Scope) azure(connector *yamldoc.Node) (*task.Azure, error) {
	if err := wantConnector(connector, "Azure"); err != nil {
		return nil, err
	}
	credential := connector.At("spec", "credential")
	a := &task.Azure{Government: text(connector.At("spec", "azureEnvironmentType")) == "AZURE_US_GOVERNMENT"}
	auth := credential.At("spec", "auth", "spec")
	if text(credential.Get("type")) == "InheritFromDelegate" {
		a.Managed, a.Client = true, text(auth.Get("clientId"))
		return a, nil
	}
	a.Tenant, a.Client = text(credential.At("spec", "tenantId")), text(credential.At("spec", "applicationId"))
	var err error
	if a.Secret, err = s.secretAt(auth.Get("secretRef")); err != nil {
		return nil, err
	}
	a.Certificate, err = s.secretAt(auth.Get("certificateRef"))
	return a, err
}

// rancher resolves a Rancher connector (semantics/entities §9).
func (s *Scope) rancher(connector *yamldoc.Node) (task.Server, error) {
	if err := wantConnector(connector, "Rancher"); err != nil {
		return task.Server{}, err
	}
	at := connector.At("spec", "credential", "spec")
	token, err := s.secretAt(at.At("auth", "spec", "passwordRef"))
	return task.Server{URL: text(at.Get("rancherUrl")), Auth: task.AuthBearer, Token: token}, err
}
