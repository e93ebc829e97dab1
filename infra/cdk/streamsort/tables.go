package streamsort

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func (s *Streamsort) addTables() {
	t := s.props.Tables
	names := cursor.Names{Messages: t + "-messages", Cursors: t + "-cursors", Trouble: t + "-trouble",
		Arrivals: t + "-arrivals"}
	tables := names.Tables()
	s.MessagesTable = s.newTable("MessagesTable", tables[0])
	s.CursorsTable = s.newTable("CursorsTable", tables[1])
	s.TroubleTable = s.newTable("TroubleTable", tables[2])
	s.ArrivalsTable = s.newTable("ArrivalsTable", names.ArrivalsTable())

	tables = delivery.Names{Consumers: t + "-consumers", Audit: t + "-audit"}.Tables()
	s.ConsumersTable = s.newTable("ConsumersTable", tables[0])
	s.AuditTable = s.newTable("AuditTable", tables[1])

	s.ChainsTable = s.newTable("ChainsTable", xorack.Names{Chains: t + "-chains"}.Tables()[0])
	s.DedupTable = s.newTable("DedupTable", dedup.Names{Table: t + "-dedup"}.Tables()[0])
}

// newTable makes a table on demand, restorable to any second of the last 35 days, encrypted with
// the stack's key or with DynamoDB's own.
func (s *Streamsort) newTable(id string, definition table.Definition) awsdynamodb.TableV2 {
	props := &awsdynamodb.TablePropsV2{
		TableName:    &definition.Name,
		PartitionKey: attribute(definition.Partition),
		Billing:      awsdynamodb.Billing_OnDemand(nil),
		Encryption:   awsdynamodb.TableEncryptionV2_DynamoOwnedKey(),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		DeletionProtection: jsii.Bool(s.props.Removal == Retain),
		RemovalPolicy:      s.removalPolicy(),
	}
	if definition.Sort.Name != "" {
		props.SortKey = attribute(definition.Sort)
	}
	if index := definition.Index; index.Name != "" {
		props.GlobalSecondaryIndexes = &[]*awsdynamodb.GlobalSecondaryIndexPropsV2{{
			IndexName: &index.Name, PartitionKey: attribute(index.Partition), SortKey: attribute(index.Sort),
			ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY,
		}}
	}
	if definition.Stream != table.NoStream {
		props.DynamoStream = awsdynamodb.StreamViewType(definition.Stream) // by DynamoDB's names
	}
	if definition.TTL != "" {
		props.TimeToLiveAttribute = &definition.TTL
	}
	s.bounded(props)
	made := awsdynamodb.NewTableV2(s.scope, &id, props)
	resource := s.nameResource(made, id)
	if s.Key != nil {
		// TableV2 would ask for a stack whose region is known.
		resource.AddPropertyOverride(jsii.String("SSESpecification"),
			map[string]any{"SSEEnabled": true, "SSEType": "KMS"})
		resource.AddPropertyOverride(jsii.String("Replicas.0.SSESpecification"),
			map[string]any{"KMSMasterKeyId": s.Key.KeyArn()})
	}
	return made
}

func attribute(key table.Key) *awsdynamodb.Attribute {
	types := map[table.KeyType]awsdynamodb.AttributeType{
		table.String: awsdynamodb.AttributeType_STRING,
		table.Number: awsdynamodb.AttributeType_NUMBER,
		table.Binary: awsdynamodb.AttributeType_BINARY,
	}
	return &awsdynamodb.Attribute{Name: &key.Name, Type: types[key.Type]}
}

// mostUnits is above every quota that an account may ask for.
const mostUnits = 10_000_000

// bounded has a table, and its indexes, take no more than the stack's bounds.
func (s *Streamsort) bounded(props *awsdynamodb.TablePropsV2) {
	reads, writes := unlessZero(s.props.MaxReads), unlessZero(s.props.MaxWrites)
	if reads == nil && writes == nil {
		return
	}
	props.Billing = awsdynamodb.Billing_OnDemand(
		&awsdynamodb.MaxThroughputProps{MaxReadRequestUnits: reads, MaxWriteRequestUnits: writes})
	if props.GlobalSecondaryIndexes == nil {
		return
	}
	for _, index := range *props.GlobalSecondaryIndexes {
		index.MaxReadRequestUnits, index.MaxWriteRequestUnits = reads, writes
	}
}
