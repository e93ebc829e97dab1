package streamsort

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/jsii-runtime-go"
)

// NewKey as Props.EncryptionKey has the stack make a key.
const NewKey = "new"

var keyARN = regexp.MustCompile(
	`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/(mrk-[0-9a-f]{32}|[0-9a-f-]{36})$`)

// addKey makes, or finds, the key that tables, logs and the failure queue are encrypted with, where
// one is wanted.
func (s *Streamsort) addKey() {
	switch s.props.EncryptionKey {
	case "":
	case NewKey:
		s.Key = awskms.NewKey(s.scope, jsii.String("Key"), &awskms.KeyProps{
			Description:       jsii.String("Streamsort: tables, logs and the failure queue of " + s.id),
			EnableKeyRotation: jsii.Bool(true),
			// What is left behind encrypted would be lost with its key. A key that is deleted all
			// the same waits for 30 days.
			RemovalPolicy: s.removalPolicy(),
		})
		s.nameResource(s.Key, "Key")
		s.Key.AddToResourcePolicy(s.logsUseKey(), nil)
	default:
		s.Key = awskms.Key_FromKeyArn(s.scope, jsii.String("Key"), &s.props.EncryptionKey)
	}
}

// logsUseKey lets CloudWatch Logs encrypt this account's log groups, and nobody else's.
func (s *Streamsort) logsUseKey() awsiam.PolicyStatement {
	stack := awscdk.Stack_Of(s.scope)
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey",
			"kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"),
		Resources: jsii.Strings("*"), // in a key's policy: the key
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(awscdk.Fn_Join(jsii.String("."),
			&[]*string{jsii.String("logs"), stack.Region(), stack.UrlSuffix()}), nil)},
		Conditions: &map[string]any{
			"ArnLike": map[string]any{"kms:EncryptionContext:aws:logs:arn": s.arn("logs", "log-group:*")},
		},
	})
}

// useKey allows to use the key through these services, in their names as hosts have them, and in no
// other way: DynamoDB asks for the caller's right to the key with each request to an encrypted
// table. None where there is no key.
func (s *Streamsort) useKey(services ...string) []awsiam.PolicyStatement {
	if s.Key == nil {
		return nil
	}
	stack := awscdk.Stack_Of(s.scope)
	var hosts []*string
	for _, service := range slices.Sorted(slices.Values(services)) {
		// In China both are in use; elsewhere they are one.
		for _, domain := range []*string{jsii.String("amazonaws.com"), stack.UrlSuffix()} {
			hosts = append(hosts,
				awscdk.Fn_Join(jsii.String("."), &[]*string{&service, stack.Region(), domain}))
		}
	}
	return []awsiam.PolicyStatement{awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey",
			"kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"),
		Resources:  &[]*string{s.Key.KeyArn()},
		Conditions: &map[string]any{"StringEquals": map[string]any{"kms:ViaService": hosts}},
	})}
}

func (s *Streamsort) keyServices(id string) []string {
	services := []string{"dynamodb", "sqs"}
	isSource := strings.HasPrefix(id, sourceID)
	if *s.props.AnnounceTopic != "" && (isSource || slices.Contains([]string{"Sweep", "Ack"}, id)) {
		services = append(services, "sns") // the topic may have the same key
	}
	return services
}
