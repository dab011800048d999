package connector

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// What a connector may be for. A Spec has those of these that its type gives.
type (
	// Clusters gives a Kubernetes cluster.
	Clusters interface {
		Cluster(r Reach) (task.Cluster, error)
	}
	// AWS gives an account of AWS. A region wins over the connector's own.
	AWS interface {
		AWS(r Reach, region string) (task.AWS, error)
		// Account is that of the role which the connector assumes; empty if that is
		// known to AWS alone.
		Account() string
	}
	// Google gives access to Google Cloud.
	Google interface {
		Google(r Reach) (*task.Google, error)
	}
	// Azure gives access to Azure.
	Azure interface {
		Azure(r Reach) (*task.Azure, error)
	}
	// Repositories gives a Git repository: its own, or the named one of its account
	// or its project.
	Repositories interface {
		Git(r Reach, repository string) (task.Git, error)
		// Listens is the URL of the repository, or that which those of all
		// repositories begin with.
		Listens() string
	}
	// Hosts gives the host of a Git repository, whose pull requests it keeps.
	Hosts interface {
		Host(r Reach, repository string) (task.GitHost, error)
	}
	// Packages gives the packages of a Git host.
	Packages interface {
		Packages(r Reach) (PackageHost, error)
	}
	// Servers gives a system with an HTTP API.
	Servers interface {
		Server(r Reach) (task.Server, error)
	}
	// Images gives a registry of images.
	Images interface {
		Images(r Reach) (ImageRegistry, error)
	}
	// Charts gives a repository of charts.
	Charts interface {
		Charts(r Reach) (*task.ChartRepo, error)
	}
	// Secrets gives the secrets that a manager keeps.
	Secrets interface {
		// Values is the value type of its secrets.
		Values() string
		Fetch(r Reach, s Secret) (Fetch, error)
	}
)

// PackageHost is a Git host that keeps packages.
type PackageHost struct {
	URL      string // of an account, or of a repository there
	Username string
	Password string
	Token    string // of its API; empty: the password does
}

// ImageRegistry is a registry of images, as its connector has it.
type ImageRegistry struct {
	URL    string
	Server task.Server
}

// Secret is a secret that a manager keeps, by what its document says.
type Secret struct {
	Scope ref.Scope // of the document
	Value string
}

// Fetch is how a delegate fetches a secret. Its name is filled in by who asks.
type Fetch struct {
	Task      task.FetchedSecret
	Selectors []string // a delegate needs these besides the connector's own
}

// Connector is a connector that somebody uses.
type Connector struct {
	ID        string
	Type      string
	Selectors []string
	spec      Spec
	wrong     error // what is wrong with its resolved document
	types     Types
	reach     Reach
}

// Use reads the resolved spec of a connector's document that lives in a scope.
func (l Types) Use(id, typ string, of ref.Scope, spec *yamldoc.Node, r Reach) Connector {
	c := Connector{ID: id, Type: typ, types: l, reach: r}
	t, ok := l.Of(typ)
	if !ok {
		return c
	}
	report := yamldoc.NewReport("").Resolved()
	decoded := t.Decode(resolved(report, of), yamldoc.Sub(spec, "spec"))
	c.Selectors, c.spec = decoded.Selectors.Value, decoded.Spec
	if err := report.Err(); err != nil {
		c.wrong = fault.Wrap(err, "connector %s", id)
	}
	return c
}

// want is what a connector is used for. only are the types that will do; none:
// all that give it.
func want[A any](c Connector, only ...string) (A, error) {
	gives, ok := c.spec.(A)
	if ok && (len(only) == 0 || slices.Contains(only, c.Type)) {
		return gives, c.wrong
	}
	if len(only) == 0 {
		only = giving[A](c.types)
	}
	return gives, WrongType(c.ID, c.Type, only...)
}

// WrongType is the error of a connector that can't be used for something,
// because it isn't of one of the types that can.
func WrongType(id, found string, want ...string) error {
	return fault.New(fault.Invalid, "connector %s is of type %s; want %s", id, found, document.Choice(want))
}

// giving are the types that give something.
func giving[A any](l Types) []string {
	var out []string
	for _, t := range l {
		nothing := resolved(yamldoc.NewReport(""), ref.Scope{})
		if _, ok := t.Decode(nothing, yamldoc.Sub(&yamldoc.Node{Kind: yamldoc.Mapping}, "")).Spec.(A); ok {
			out = append(out, t.Name)
		}
	}
	return out
}

// Probe is how the connector is tested.
func (c Connector) Probe() (Probe, error) {
	if c.spec == nil {
		return Probe{}, fault.New(fault.Unsupported, "connectors of type %s can't be tested yet", c.Type)
	}
	if c.wrong != nil {
		return Probe{}, c.wrong
	}
	p, err := c.spec.Probe(c.reach)
	if err != nil {
		return Probe{}, fault.Wrap(err, "connector %s", c.ID)
	}
	return p, nil
}

// Cluster is the connector's Kubernetes cluster.
func (c Connector) Cluster() (task.Cluster, error) {
	gives, err := want[Clusters](c)
	if err != nil {
		return task.Cluster{}, err
	}
	return gives.Cluster(c.reach)
}

// AWS is the connector's account. A region wins over its own.
func (c Connector) AWS(region string) (task.AWS, error) {
	gives, err := want[AWS](c)
	if err != nil {
		return task.AWS{}, err
	}
	return gives.AWS(c.reach, region)
}

// Google is the connector's access to Google Cloud.
func (c Connector) Google() (*task.Google, error) {
	gives, err := want[Google](c)
	if err != nil {
		return nil, err
	}
	return gives.Google(c.reach)
}

// Azure is the connector's access to Azure.
func (c Connector) Azure() (*task.Azure, error) {
	gives, err := want[Azure](c)
	if err != nil {
		return nil, err
	}
	return gives.Azure(c.reach)
}

// Git is the connector's repository, or the named one of its account or its
// project.
func (c Connector) Git(repository string) (task.Git, error) {
	gives, err := want[Repositories](c)
	if err != nil {
		return task.Git{}, err
	}
	return gives.Git(c.reach, repository)
}

// Host is that of the connector's repository, or of the named one of its account
// or its project.
func (c Connector) Host(repository string) (task.GitHost, error) {
	gives, err := want[Hosts](c)
	if err != nil {
		return task.GitHost{}, err
	}
	h, err := gives.Host(c.reach, repository)
	if err != nil {
		return h, fault.Wrap(err, "connector %s", c.ID)
	}
	return h, nil
}

// Packages are those of the connector's Git host.
func (c Connector) Packages() (PackageHost, error) {
	gives, err := want[Packages](c)
	if err != nil {
		return PackageHost{}, err
	}
	return gives.Packages(c.reach)
}

// Server is the connector's system with an HTTP API. A connector of any other
// type won't do.
func (c Connector) Server(typ string) (task.Server, error) {
	gives, err := want[Servers](c, typ)
	if err != nil {
		return task.Server{}, err
	}
	return gives.Server(c.reach)
}

// Images is the connector's registry of images.
func (c Connector) Images() (ImageRegistry, error) {
	gives, err := want[Images](c)
	if err != nil {
		return ImageRegistry{}, err
	}
	return gives.Images(c.reach)
}

// Charts is the connector's repository of charts. A connector of any other type
// won't do.
func (c Connector) Charts(typ string) (*task.ChartRepo, error) {
	gives, err := want[Charts](c, typ)
	if err != nil {
		return nil, err
	}
	return gives.Charts(c.reach)
}

// Fetch is how a delegate fetches a secret from the connector's manager.
// values is the value type that the secret has.
func (c Connector) Fetch(s Secret, values string) (Fetch, error) {
	gives, err := want[Secrets](c)
	if err != nil {
		return Fetch{}, err
	}
	if wanted := gives.Values(); values != wanted {
		return Fetch{}, fault.New(fault.Invalid, "it has the value type %s; secrets of a %s have %s", values, c.Type, wanted)
	}
	return gives.Fetch(c.reach, s)
}
