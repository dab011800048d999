package connector

import "strings"

// DockerHub is the host of Docker Hub's registry, whatever form its URL has.
const DockerHub = "index.docker.io"

// RegistryHost is the host of a registry's URL.
func RegistryHost(url string) string {
	_, host, found := strings.Cut(url, "://")
	if !found {
		host = url
	}
	host, _, _ = strings.Cut(host, "/")
	if strings.HasSuffix(host, "docker.io") || strings.HasSuffix(host, "hub.docker.com") {
		return DockerHub
	}
	return host
}

// RegistryAPI is where a registry's API is.
func RegistryAPI(url string) string {
	if strings.HasPrefix(url, "http://") {
		return "http://" + RegistryHost(url)
	}
	return "https://" + RegistryHost(url)
}
