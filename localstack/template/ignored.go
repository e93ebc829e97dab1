package template

// Ignored lists the resource types that have no meaning on one machine, each with the reason. A
// template may hold them; nothing runs for them. A type that is neither here, nor run by the local
// stack, nor in [Foreign] is an error.
var Ignored = map[string]string{
	"AWS::CDK::Metadata":                          "tells AWS which CDK version wrote the template",
	"AWS::IAM::Role":                              "permissions are checked by AWS only",
	"AWS::IAM::Policy":                            "permissions are checked by AWS only",
	"AWS::IAM::ManagedPolicy":                     "permissions are checked by AWS only",
	"AWS::IAM::RolePolicy":                        "permissions are checked by AWS only",
	"AWS::Logs::LogGroup":                         "a function's lines go to its own log file",
	"AWS::Logs::MetricFilter":                     "there are no metrics to filter logs into",
	"AWS::Logs::SubscriptionFilter":               "log lines are read from the log files",
	"AWS::Logs::QueryDefinition":                  "a saved query for people",
	"AWS::CloudWatch::Alarm":                      "watches metrics, which only AWS keeps",
	"AWS::CloudWatch::CompositeAlarm":             "watches metrics, which only AWS keeps",
	"AWS::CloudWatch::Dashboard":                  "shows metrics, which only AWS keeps",
	"AWS::CloudWatch::AnomalyDetector":            "watches metrics, which only AWS keeps",
	"AWS::KMS::Key":                               "nothing is encrypted at rest on one machine",
	"AWS::KMS::Alias":                             "nothing is encrypted at rest on one machine",
	"AWS::Lambda::LayerVersion":                   "a bootstrap is one file; layers bring nothing to it",
	"AWS::Lambda::CodeSigningConfig":              "nothing is signed on one machine",
	"AWS::Lambda::Version":                        "there is one version of each function, under any qualifier",
	"AWS::Lambda::Alias":                          "there is one version of each function, under any qualifier",
	"AWS::ApplicationAutoScaling::ScalableTarget": "capacity is the machine's",
	"AWS::ApplicationAutoScaling::ScalingPolicy":  "capacity is the machine's",
	"AWS::Scheduler::Schedule":                    "schedules of rules run here, the Scheduler's do not",
	"AWS::Scheduler::ScheduleGroup":               "only groups schedules by name",
	"AWS::ResourceGroups::Group":                  "only groups resources by tag",
	"AWS::Budgets::Budget":                        "nothing is billed",
	"AWS::Synthetics::Canary":                     "probes the deployed stack",
}

// Foreign lists the types of other services: the local stack does not run them, but passes them to
// MiniStack. A queue that only takes what stream mappings and asynchronous invocations give up on
// is not among them, nor is a rule with a schedule.
var Foreign = map[string]string{
	"AWS::SQS::Queue":             "SQS",
	"AWS::SQS::QueuePolicy":       "SQS",
	"AWS::SNS::Topic":             "SNS",
	"AWS::SNS::TopicPolicy":       "SNS",
	"AWS::SNS::Subscription":      "SNS",
	"AWS::Events::EventBus":       "EventBridge",
	"AWS::Events::EventBusPolicy": "EventBridge",
	"AWS::Events::Rule":           "EventBridge",
	"AWS::Kinesis::Stream":        "Kinesis",
	"AWS::S3::Bucket":             "S3",
	"AWS::S3::BucketPolicy":       "S3",
	"AWS::SSM::Parameter":         "SSM",
	"AWS::SecretsManager::Secret": "Secrets Manager",
}
