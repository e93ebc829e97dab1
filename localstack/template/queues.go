package template

import "time"

// Queue is an AWS::SQS::Queue that takes what mappings and asynchronous invocations give up on, or
// that a function reads. The runner keeps its messages.
type Queue struct {
	LogicalID, Name string
	// Delay is that of messages that name none, Visibility how long a message is hidden that was
	// handed out, Retention how long one is kept.
	Delay, Visibility, Retention time.Duration
	Fifo                         bool
}

// QueueMapping is an AWS::Lambda::EventSourceMapping of a queue.
type QueueMapping struct {
	LogicalID string
	Function  string
	Queue     string // its name
	Enabled   bool
	BatchSize int
	// Concurrency is the most calls at a time; 0 for no bound.
	Concurrency int
	// ReportBatchItemFailures: the function's answer names the failed messages.
	ReportBatchItemFailures bool
}

func (r *reader) queue(id, physical string, p *props) {
	p.ignore(
		"ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit",
		"KmsDataKeyReusePeriodSeconds", "KmsMasterKeyId", "MaximumMessageSize",
		"ReceiveMessageWaitTimeSeconds", "RedriveAllowPolicy", "RedrivePolicy",
		"SqsManagedSseEnabled", "Tags",
	)
	r.template.Queues = append(r.template.Queues, Queue{
		LogicalID: id, Name: physical,
		Delay:      p.seconds("DelaySeconds", 0, 0, 900),
		Visibility: p.seconds("VisibilityTimeout", 30, 0, 43_200),
		Retention:  p.seconds("MessageRetentionPeriod", 345_600, 60, 1_209_600),
		Fifo:       p.boolean("FifoQueue", false),
	})
}

// queueMapping reads a mapping of a queue. It has no place and gives nothing up.
func (r *reader) queueMapping(id, queue string, p *props) {
	m := QueueMapping{
		LogicalID: id, Queue: queue,
		Function:                functionOf(p, "FunctionName"),
		Enabled:                 p.boolean("Enabled", true),
		BatchSize:               p.integer("BatchSize", 10, 1, 10),
		ReportBatchItemFailures: reportsFailures(p),
	}
	p.within("ScalingConfig", func(p *props) {
		m.Concurrency = p.integer("MaximumConcurrency", 0, 2, 1000)
	})
	r.template.Readers = append(r.template.Readers, m)
}
