package streamsort

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// What API Gateway has no metric of: it counts a 429 among all 4xx. So the requests that were
// answered 429 are counted in the access logs: of all routes of an API, or of the senders' alone.
const (
	accessNamespace   = metricsNamespace + "/Access"
	throttled         = "Throttled"
	webhooksThrottled = "WebhooksThrottled"
)

// countThrottled counts the lines of an API's access log that a pattern matches.
func (s *Streamsort) countThrottled(id string, api awsapigatewayv2.CfnApi, name, pattern string) {
	awslogs.NewCfnMetricFilter(s.scope, &id, &awslogs.CfnMetricFilterProps{
		LogGroupName:  s.accessLogs[api].LogGroupName(),
		FilterPattern: &pattern,
		MetricTransformations: []any{&awslogs.CfnMetricFilter_MetricTransformationProperty{
			MetricNamespace: jsii.String(accessNamespace), MetricName: &name, MetricValue: jsii.String("1"),
			Dimensions: []any{&awslogs.CfnMetricFilter_DimensionProperty{Key: jsii.String("ApiId"),
				Value: jsii.String("$.apiId")}},
		}},
	})
}
