package streamsort

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// timerVariable says to a function where its wake-ups go.
const timerVariable = "STREAMSORT_TIMER_QUEUE"

const (
	// sweepTimeout is how long a call of sweep may take: four minutes of a wake-up's work, and its
	// last turn. A scheduled call ends within a minute.
	sweepTimeout = 5 * time.Minute
	// timerRetention is how long a wake-up may be tried: longer than SQS delays one, or hides one
	// that a call has.
	timerRetention = time.Hour
	// timerBatch is how many wake-ups a call gets, and does side by side.
	timerBatch = 10
	// timerCalls is how many calls are made at a time: what is due at once for very many things
	// must take neither the account's functions nor the tables from the others.
	timerCalls = 10
)

// addTimerQueue makes the queue with delays that carries the wake-ups. It is not in the messages'
// path, and nothing depends on it.
func (s *Streamsort) addTimerQueue() {
	s.TimerQueue = s.newQueue("TimerQueue", &awssqs.QueueProps{
		RetentionPeriod: seconds(timerRetention),
		// As AWS recommends it for functions. By then the sweep has come.
		VisibilityTimeout: seconds(6 * sweepTimeout),
	}, "Nothing depends on a wake-up: due times stand in the tables, and the sweep finds what no wake-up came for. One that fails for an hour is of no use any more.")
}

func (s *Streamsort) addTimerMapping() {
	props := newMapping(s.liveARN(s.SweepFunction), s.TimerQueue.QueueArn(), timerBatch, nil)
	props.ScalingConfig = atATime(timerCalls)
	awslambda.NewCfnEventSourceMapping(s.scope, jsii.String("TimerMapping"), props)
}

func (s *Streamsort) sendWakeUps() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{allow([]string{"sqs:SendMessage"}, s.TimerQueue.QueueArn())}
}
