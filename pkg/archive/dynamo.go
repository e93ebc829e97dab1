package archive

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/table"
)

// Names are the names of the tables. An empty field means its default, so the
// zero Names is ready to use.
type Names struct {
	Archive string // table of archived messages; "streamsort-archive"
}

func (n Names) withDefaults() Names { return Names{cmp.Or(n.Archive, "streamsort-archive")} }

// The attributes of an item.
const (
	attrKey      = "key"
	attrDocument = "document"
)

// Tables are the definitions of the tables: the archive alone. It has no stream,
// and nothing in it expires.
func (n Names) Tables() []table.Definition {
	return []table.Definition{{
		Name:      n.withDefaults().Archive,
		Partition: table.Key{Name: attrKey, Type: table.String},
	}}
}

// Dynamo is the [Store] on a DynamoDB table as [Names.Tables] defines it.
type Dynamo struct {
	client *dynamodb.Client
	names  Names
}

var _ Store = (*Dynamo)(nil)

// NewDynamo returns the Store on this table. It makes no request.
func NewDynamo(client *dynamodb.Client, names Names) *Dynamo {
	return &Dynamo{client, names.withDefaults()}
}

// Put implements [Store]: one PutItem; 1 write unit for each KB.
func (s *Dynamo) Put(ctx context.Context, key string, document []byte) error {
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.names.Archive,
		Item:      dynamo.Item{attrKey: dynamo.Text(key), attrDocument: dynamo.Blob(document)},
	})
	return dynamo.Translate(err)
}

// Get implements [Store]: one strong GetItem; 1 read unit for each 4 KB.
func (s *Dynamo) Get(ctx context.Context, key string) ([]byte, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.names.Archive, Key: dynamo.Item{attrKey: dynamo.Text(key)}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, dynamo.Translate(err)
	}
	d := dynamo.Decoder{Item: out.Item}
	return d.BytesOr(attrDocument), d.Err
}
