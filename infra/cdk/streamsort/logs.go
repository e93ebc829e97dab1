package streamsort

import (
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// allSuccesses is the share of calls at which nothing that goes well is left out.
const allSuccesses = 100

func (p Props) checkLogs(c *checker) {
	between(c, "logSuccesses", *p.LogSuccesses, 0, allSuccesses)
	if (p.LogQueue == "") != (p.LogUntil == "") {
		c.fail("logQueue, logUntil", "are %q and %q; write both or none", p.LogQueue, p.LogUntil)
	}
	if _, err := time.Parse(time.RFC3339, p.LogUntil); p.LogUntil != "" && err != nil {
		c.fail("logUntil", "is %q; write a time such as 2026-01-02T15:04:05Z", p.LogUntil)
	}
	if !slices.Contains(retentionDays, p.LogRetentionDays) {
		c.fail("logRetentionDays", "is %d; write one of %s", p.LogRetentionDays, list(retentionDays))
	}
}

func (s *Streamsort) newLogGroup(id string) awslogs.LogGroup {
	group := awslogs.NewLogGroup(s.scope, &id,
		&awslogs.LogGroupProps{RemovalPolicy: s.removalPolicy(), EncryptionKey: s.Key})
	// The CDK has a name for each number of days; CloudFormation has the number.
	s.nameResource(group, id).(awslogs.CfnLogGroup).
		SetRetentionInDays(jsii.Number(s.props.LogRetentionDays))
	return group
}

// retentionDays are those for which CloudWatch can keep logs.
var retentionDays = []int{
	1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}
