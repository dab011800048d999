package dynamo

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is what DynamoDB keeps under a key, or the values of an expression.
type item = map[string]types.AttributeValue

func (k key) item() item { return item{"pk": str(k.pk), "sk": str(k.sk)} }

func keyOf(it item) key { return key{text(it, "pk"), text(it, "sk")} }

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func bin(b []byte) types.AttributeValue {
	if b == nil {
		b = []byte{}
	}
	return &types.AttributeValueMemberB{Value: b}
}

// text, number and bytes read an attribute; one that isn't there is empty.

func text(it item, name string) string {
	if s, ok := it[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func number(it item, name string) int64 {
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0 // only num writes numbers
	}
	return i
}

func bytes(it item, name string) []byte {
	if b, ok := it[name].(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}
