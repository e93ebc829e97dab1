package source

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// kafkaKind is a record of a topic of MSK, or of another Kafka: one queue for each partition, in
// the order of the offsets. Those have gaps, where a topic is compacted or written to in
// transactions: so they are keys, and no seqs.
//
// https://docs.aws.amazon.com/lambda/latest/dg/with-msk.html
var kafkaKind = kind{
	name: "kafka", events: []string{"aws:kafka", "SelfManagedKafka"},
	read:   reading("kafka", readKafka),
	fields: []string{"id", "key", "offset", "partition", "timestamp", "topic", "value"},
	body:   "value", queue: "partition", key: "offset", keyType: "number", id: "id",
}

type kafkaRecord struct {
	Topic     string
	Partition json.Number
	Offset    json.Number
	Timestamp json.Number
	Key       []byte
	Value     *[]byte
}

func readKafka(r kafkaRecord) (parts, error) {
	// One that has no value deletes its key.
	p := parts{"value": []byte("null")}
	if r.Value != nil {
		p["value"] = *r.Value
	}
	p.set("topic", r.Topic)
	p.set("offset", r.Offset)
	p.millis("timestamp", r.Timestamp)
	if r.Topic != "" && r.Partition != "" {
		partition := r.Topic + "-" + r.Partition.String()
		p.set("partition", partition)
		// The time tells apart those of a topic that was recreated.
		if r.Offset != "" {
			p.set("id", partition+"@"+r.Offset.String()+"@"+r.Timestamp.String())
		}
	}
	key := string(r.Key)
	if !utf8.ValidString(key) {
		key = base64.StdEncoding.EncodeToString(r.Key)
	}
	p.set("key", key)
	return p, nil
}

// place is where a record stands in its topic, as a partial answer names it; ok where it does.
func (r kafkaRecord) place() (partition string, offset int64, ok bool) {
	offset, err := strconv.ParseInt(r.Offset.String(), 10, 64)
	return r.Topic + "-" + r.Partition.String(), offset, err == nil && r.Topic != "" &&
		r.Partition != ""
}
