package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// viewers is store.Viewers.
type viewers struct{ table *table }

// PutViewer stores a page's connection.
func (s viewers) PutViewer(ctx context.Context, v store.Viewer) error {
	it := viewerAt(v.Scope.Account, v.ID).item()
	it["token"], it["since"], it["opened"], it[Expires] = str(v.Token), num(millis(v.Since)), num(millis(v.Opened)), num(v.Opened.Add(longestConnection).Unix())
	it["account"], it["org"], it["project"] = str(v.Scope.Account), str(v.Scope.Org), str(v.Scope.Project)
	it["execution"], it["address"] = str(v.Execution), str(v.Address)
	_, _, err := s.table.place(ctx, it, "")
	return err
}

// Viewers lists an account's.
func (s viewers) Viewers(ctx context.Context, account string) ([]store.Viewer, error) {
	found, err := s.table.query(ctx, query{pk: viewersPK(account)})
	var out []store.Viewer
	for _, it := range found {
		if !s.table.expired(it) {
			out = append(out, store.Viewer{
				ID: text(it, "sk"), Token: text(it, "token"), Since: fromMillis(number(it, "since")), Execution: text(it, "execution"), Address: text(it, "address"), Opened: fromMillis(number(it, "opened")),
				Scope: ref.Scope{Account: text(it, "account"), Org: text(it, "org"), Project: text(it, "project")},
			})
		}
	}
	return out, err
}

// DeleteViewer forgets a page's connection.
func (s viewers) DeleteViewer(ctx context.Context, account, id string) (bool, error) {
	var out *dynamodb.DeleteItemOutput
	err := again(ctx, func() (err error) {
		out, err = s.table.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &s.table.name, Key: viewerAt(account, id).item(), ReturnValues: types.ReturnValueAllOld,
		})
		return err
	})
	return err == nil && len(out.Attributes) > 0, err
}
