package awslambda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// mostTold is how many versions an error names.
const mostTold = 5

// full is the error of a call, with which versions of the function could be deleted
// if the account has no room for more code. Slipway deletes none of them: somebody
// may call a version by its number.
func (s *session) full(ctx context.Context, name string, err error) error {
	known := (*fault.Error)(nil)
	if !aws.Is(err, "CodeStorageExceededException") || !errors.As(err, &known) {
		return err
	}
	old, lookErr := s.unnamed(ctx, name)
	hint := "no version of this function can make room: delete versions of other functions, or have the quota raised"
	switch {
	case lookErr != nil:
		hint = fmt.Sprintf("which versions could be deleted isn't known: %s", lookErr)
	case len(old) > 0:
		hint = "no alias names these versions of it, which could be deleted if nobody calls them by their numbers: " + told(old)
	}
	return fault.New(known.Code, "%w; the account keeps too much code of all versions of functions: %s", err, hint).Causing(known.Failures...)
}

// unnamed are the published versions of a function that no alias names, the oldest
// first. The newest is what a rollback leads to.
func (s *session) unnamed(ctx context.Context, name string) ([]types.FunctionConfiguration, error) {
	named, err := s.named(ctx, name)
	if err != nil {
		if aws.Is(err, notFound) {
			return nil, nil
		}
		return nil, err
	}
	all, err := s.published(ctx, name)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	slices.SortFunc(all, func(a, b types.FunctionConfiguration) int { return number(a.Version) - number(b.Version) })
	return slices.DeleteFunc(all[:len(all)-1], func(v types.FunctionConfiguration) bool { return named[sdk.ToString(v.Version)] != "" }), nil
}

// named are the versions of a function that aliases send traffic to, each with the
// name of one.
func (s *session) named(ctx context.Context, function string) (map[string]string, error) {
	by := map[string]string{}
	pages := lambda.NewListAliasesPaginator(s.client, &lambda.ListAliasesInput{FunctionName: &function})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.failed(ctx, "ListAliases", err)
		}
		for _, a := range page.Aliases {
			by[sdk.ToString(a.FunctionVersion)] = sdk.ToString(a.Name)
			if a.RoutingConfig == nil {
				continue
			}
			for version := range a.RoutingConfig.AdditionalVersionWeights {
				by[version] = sdk.ToString(a.Name)
			}
		}
	}
	return by, nil
}

// told are versions for people, e.g. "1 (of 2024-05-01, 3.4 MB), 2 (of ...) and 3 more".
func told(versions []types.FunctionConfiguration) string {
	var out []string
	for _, v := range versions[:min(len(versions), mostTold)] {
		changed, _, _ := strings.Cut(sdk.ToString(v.LastModified), "T")
		out = append(out, fmt.Sprintf("%s (of %s, %.1f MB)", sdk.ToString(v.Version), changed, float64(v.CodeSize)/1e6))
	}
	text := strings.Join(out, ", ")
	if more := len(versions) - mostTold; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
