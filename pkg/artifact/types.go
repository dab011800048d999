package artifact

// All are the types of artifact sources.
func All() Types {
	return Types{
		{Name: "Acr", New: decodeACR, Cloud: true},
		{Name: "AmazonMachineImage", New: decodeAMI},
		{Name: "AmazonS3", New: decodeS3},
		{Name: "ArtifactoryRegistry", New: decodeArtifactory},
		{Name: "CustomArtifact", New: decodeCustom, Late: []string{"inputs", "delegateSelectors"}},
		{Name: "DockerRegistry", New: decodeDocker},
		{Name: "Ecr", New: decodeECR, Cloud: true},
		{Name: "Gcr", New: decodeGCR, Cloud: true},
		{Name: "GithubPackageRegistry", New: decodeGitHub},
		{Name: "GoogleArtifactRegistry", New: decodeGAR, Cloud: true},
		{Name: "GoogleCloudStorage", New: decodeGCS},
		{Name: "Jenkins", New: decodeJenkins},
		{Name: "Nexus3Registry", New: decodeNexus},
	}
}
