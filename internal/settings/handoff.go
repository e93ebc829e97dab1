package settings

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// NewDeliverer makes the Deliverer on the tables, and the Sorter that it works
// with: both on one client, so that one set of connections serves them, and all
// else that is made on it. acker has the chains of tracked batches; nil where
// none are met. observe, if not nil, gets how each delivery ended. It makes no
// request. more set what else there is of its options.
//
// The error names STREAMSORT_CONSUMERS_TABLE and STREAMSORT_AUDIT_TABLE where
// they are not set: only what delivers needs them.
func (s Settings) NewDeliverer(client *dynamodb.Client, acker *xorack.Acker, observe func(handoff.Delivery), more ...func(*handoff.Options)) (*handoff.Deliverer, *cursor.Sorter, error) {
	var r reader
	r.given("STREAMSORT_CONSUMERS_TABLE", s.Consumers.Consumers)
	r.given("STREAMSORT_AUDIT_TABLE", s.Consumers.Audit)
	if err := r.err(); err != nil {
		return nil, nil, err
	}
	sorter, err := s.NewSorter(client)
	if err != nil {
		return nil, nil, err
	}
	options := &handoff.Options{Observe: observe, Acker: acker, KnownQueues: s.KnownQueues}
	for _, set := range more {
		set(options)
	}
	if s.Timer != nil {
		options.WakeUp, options.WakeCircuit, options.WakeBatch = s.Timer.Consumer, s.Timer.Circuit, s.Timer.Batch
	}
	deliverer, err := handoff.New(handoff.NewDynamo(client, s.Consumers), sorter, options)
	return deliverer, sorter, err
}
