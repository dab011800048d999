// Command console gives browsers the console's pages. It has no rights and asks
// nobody: the pages ask the API.
package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"github.com/slipway-cd/slipway/web"
)

func main() {
	socket, _ := os.LookupEnv("SLIPWAY_SOCKET")
	pages, err := web.With(socket, http.NotFoundHandler())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.Start(httpadapter.NewV2(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.TLS = &tls.ConnectionState{} // API Gateway speaks nothing else to browsers
		pages.ServeHTTP(w, r)
	})).ProxyWithContext)
}
