package template

import "github.com/streamsort/streamsort/pkg/table"

// Table is an AWS::DynamoDB::Table, or an AWS::DynamoDB::GlobalTable with its one local replica.
type Table struct {
	LogicalID string
	table.Definition
}

// Capacity, encryption, backups and tags have no local meaning.
var tableIgnores = []string{
	"BillingMode", "ContributorInsightsSpecification", "DeletionProtectionEnabled", "KinesisStreamSpecification",
	"OnDemandThroughput", "PointInTimeRecoverySpecification", "ProvisionedThroughput", "ResourcePolicy",
	"SSESpecification", "TableClass", "Tags", "WarmThroughput", "WriteOnDemandThroughputSettings",
	"WriteProvisionedThroughputSettings", "GlobalTableSourceArn", "GlobalTableWitnesses", "MultiRegionConsistency",
	"Replicas", // one region: the local one
}

func (r *reader) table(id, physical string, p *props) {
	p.ignore(tableIgnores...)
	types := attributeTypes(p)
	t := Table{LogicalID: id}
	t.Name = physical
	if len(physical) < 3 || len(physical) > 255 {
		p.bad("TableName", "must have 3 to 255 characters")
	}
	t.Partition, t.Sort = keys(p, types)
	t.Index = index(p, types)
	p.within("StreamSpecification", func(stream *props) {
		stream.ignore("StreamEnabled", "ResourcePolicy")
		t.Stream = table.StreamView(stream.oneOf("StreamViewType", string(table.NewAndOldImages),
			string(table.KeysOnly), string(table.NewImage), string(table.OldImage),
			string(table.NewAndOldImages)))
	})
	p.within("TimeToLiveSpecification", func(ttl *props) {
		if name := ttl.need("AttributeName"); ttl.boolean("Enabled", true) {
			t.TTL = name
		}
	})
	r.template.Tables = append(r.template.Tables, t)
}

// index reads a table's index: one at most, of the keys only.
func index(p *props, types map[string]table.KeyType) (made table.Index) {
	for i, entry := range p.objects("GlobalSecondaryIndexes") {
		entry.ignore("OnDemandThroughput", "ProvisionedThroughput", "WarmThroughput",
			"WriteOnDemandThroughputSettings",
			"WriteProvisionedThroughputSettings", "ContributorInsightsSpecification")
		made.Name = entry.need("IndexName")
		made.Partition, made.Sort = keys(entry, types)
		entry.within("Projection", func(p *props) { p.oneOf("ProjectionType", "", "KEYS_ONLY") })
		if i > 0 {
			entry.bad("IndexName", "is a second index: tables with more than one are not run")
		}
	}
	return made
}

func attributeTypes(p *props) map[string]table.KeyType {
	types := map[string]table.KeyType{}
	for _, attribute := range p.objects("AttributeDefinitions") {
		types[attribute.need("AttributeName")] = table.KeyType(
			attribute.oneOf("AttributeType", "S", "S", "N", "B"))
	}
	return types
}

// keys reads a KeySchema: one HASH key, and at most one RANGE key.
func keys(p *props, types map[string]table.KeyType) (partition, sort table.Key) {
	for _, entry := range p.objects("KeySchema") {
		key := table.Key{Name: entry.need("AttributeName")}
		if key.Type = types[key.Name]; key.Type == "" {
			entry.bad("AttributeName", "%q is not among the table's AttributeDefinitions", key.Name)
		}
		into := &partition
		if entry.oneOf("KeyType", "HASH", "HASH", "RANGE") == "RANGE" {
			into = &sort
		}
		if into.Name != "" {
			entry.bad("KeyType", "stands twice in the schema")
		}
		*into = key
	}
	if partition.Name == "" {
		p.bad("KeySchema", "must have a HASH key")
	}
	return partition, sort
}
