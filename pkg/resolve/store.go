package resolve

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// Store is how the files of a store are reached that has been resolved
// (semantics/entities §2.4).
func (s *Scope) Store(from *filesource.Store) (task.Store, error) {
	switch typ := from.Type.Value; typ {
	case filesource.Inline:
		return task.Store{Inline: from.Content.Value}, nil
	case filesource.Script:
		return task.Store{Script: &task.Extraction{Script: from.Extraction.Script.Value, Path: from.Extraction.FilePath.Value}}, nil
	case filesource.Inherited:
		return task.Store{Inherited: from.Paths.Value}, nil
	case filesource.Harness:
		f, err := s.access().fileStore(from.Stored)
		return task.Store{Files: f}, err
	case filesource.S3:
		if from.Objects.Bucket.Set {
			c, err := s.Connector(from.Objects.ConnectorRef.Value)
			if err != nil {
				return task.Store{}, err
			}
			files, err := objects(c, from.Objects)
			return task.Store{S3: files}, err
		}
		repo, err := s.access().charts(from)
		return task.Store{Charts: repo}, err
	case filesource.HTTP, filesource.OCI, filesource.GCS:
		repo, err := s.access().charts(from)
		return task.Store{Charts: repo}, err
	default:
		if !slices.Contains(filesource.Git(), typ) {
			return task.Store{}, fault.New(fault.Unsupported, "store type %s can't be used yet", typ)
		}
		g, err := s.access().git(from.Repository)
		return task.Store{Git: g}, err
	}
}

// fileStore is a store in the file store (semantics/entities §2.4). A delegate
// fetches the files; those that are secrets come as placeholders.
func (acc access) fileStore(from filesource.Stored) (*task.FileStore, error) {
	out := &task.FileStore{Paths: from.Files.Value}
	for _, path := range out.Paths {
		if _, err := acc.scope.documents().file(path); err != nil {
			return nil, err
		}
	}
	for _, id := range from.Secrets.Value {
		v, err := acc.secret(id, acc.scope.Execution.Scope)
		if err != nil {
			return nil, err
		}
		out.Secrets = append(out.Secrets, task.SecretFile{ID: id, Text: v.Text()})
	}
	if len(out.Paths)+len(out.Secrets) == 0 {
		return nil, fault.New(fault.Invalid, "the store of the type Harness names no files")
	}
	return out, nil
}

// objects is how files in a bucket are reached.
func objects(c connector.Connector, from filesource.Objects) (*task.S3Objects, error) {
	if from.Bucket.Value == "" || len(from.Paths.Value) == 0 {
		return nil, fault.New(fault.Invalid, "the store of the type S3 needs a bucketName and paths")
	}
	account, err := c.AWS(from.Region.Value)
	return &task.S3Objects{AWS: account, Bucket: from.Bucket.Value, Paths: from.Paths.Value}, err
}

// charts is how a repository of charts is reached (semantics/entities §9).
func (acc access) charts(from *filesource.Store) (*task.ChartRepo, error) {
	of := from.Charts
	c, err := acc.scope.Connector(of.ConnectorRef.Value)
	if err != nil {
		return nil, err
	}
	switch from.Type.Value {
	case filesource.S3, filesource.GCS:
		return chartBucket(c, from.Type.Value, of)
	case filesource.OCI:
		if of.Registry.Value == "ECR" || of.Registry.Value == "GAR" {
			return cloudRegistry(c, of)
		}
	}
	repo, err := c.Charts(map[string]string{filesource.HTTP: "HttpHelmRepo", filesource.OCI: "OciHelmRepo"}[from.Type.Value])
	if err == nil && repo.OCI {
		repo.URL = strings.TrimSuffix(repo.URL+"/"+strings.Trim(of.BasePath.Value, "/"), "/")
	}
	return repo, err
}

// chartBucket is a folder of a bucket with charts in it.
func chartBucket(c connector.Connector, store string, of filesource.ChartRepository) (*task.ChartRepo, error) {
	name, folder := of.Bucket.Value, strings.Trim(of.Folder.Value, "/")
	if name == "" {
		return nil, fault.New(fault.Invalid, "bucketName is empty")
	}
	var err error
	repo, scheme := &task.ChartRepo{Folder: folder}, "s3://"
	if store == filesource.S3 {
		repo.S3 = &task.S3Objects{Bucket: name}
		repo.S3.AWS, err = c.AWS(of.Region.Value)
	} else {
		scheme = "gs://"
		repo.GCS = &task.GoogleBucket{Bucket: name}
		var access *task.Google
		if access, err = c.Google(); err == nil {
			repo.GCS.Google = *access
		}
	}
	repo.URL = strings.TrimSuffix(scheme+name+"/"+folder, "/")
	return repo, err
}

// cloudRegistry is a registry of AWS or Google Cloud with charts in it.
func cloudRegistry(c connector.Connector, of filesource.ChartRepository) (*task.ChartRepo, error) {
	base := strings.Trim(of.BasePath.Value, "/")
	repo, host := &task.ChartRepo{OCI: true, Folder: base}, ""
	if of.Registry.Value == "ECR" {
		access, err := c.AWS(of.Region.Value)
		if err != nil {
			return nil, err
		}
		repo.AWS = &access
		if account := of.Account.Value; account != "" {
			host = artifact.ECRHost(lookup.ECRImages{AWS: access, Account: account})
		}
	} else {
		access, err := c.Google()
		if err != nil {
			return nil, err
		}
		repo.Google = access
		host = of.Region.Value + "-docker.pkg.dev/" + of.Project.Value + "/" + of.Repository.Value
	}
	if host != "" {
		repo.URL = strings.TrimSuffix("oci://"+host+"/"+base, "/")
	}
	return repo, nil
}
