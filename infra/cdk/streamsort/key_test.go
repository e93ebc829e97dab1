package streamsort

import (
	"strings"
	"testing"
)

const theKey = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"

// keyActions are what a role may do with the key.
var keyActions = []any{
	"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo",
}

// host is a service's name, with the domain of the stack's partition.
func host(service string) object { return hostIn(service, ref("AWS::URLSuffix")) }

func hostIn(service string, domain any) object {
	return object{"Fn::Join": []any{".", []any{service, ref("AWS::Region"), domain}}}
}

// Every table, every log group and the failure queue are encrypted with the key, a new one or one
// that is there.
func TestKeyEncrypts(t *testing.T) {
	for name, c := range map[string]struct {
		tmpl template
		key  any
	}{"new": {encrypted(), get("Key", "Arn")}, "there": {changed(), theKey}} {
		t.Run(name, func(t *testing.T) {
			counts := map[string]int{}
			for id, resource := range c.tmpl.Resources {
				typ, _ := resource["Type"].(string)
				properties, _ := resource["Properties"].(object)
				switch typ {
				case "AWS::DynamoDB::GlobalTable":
					diff(t, id, object{"SSEEnabled": true, "SSEType": "KMS"}, properties["SSESpecification"])
					for _, replica := range properties["Replicas"].([]any) {
						diff(t, id, object{"KMSMasterKeyId": c.key}, replica.(object)["SSESpecification"])
					}
				case "AWS::SQS::Queue":
					diff(t, id, c.key, properties["KmsMasterKeyId"])
				case "AWS::Logs::LogGroup":
					diff(t, id, c.key, properties["KmsKeyId"])
				default:
					continue
				}
				counts[typ]++
			}
			if counts["AWS::DynamoDB::GlobalTable"] < 8 || counts["AWS::SQS::Queue"] != 2 || counts["AWS::Logs::LogGroup"] < 6 {
				t.Errorf("looked at %v", counts)
			}
		})
	}
}

// A new key rotates and stays behind with what it encrypts. Besides the account's IAM policies,
// CloudWatch Logs may use it, for log groups of the account.
func TestNewKey(t *testing.T) {
	tmpl := encrypted()
	key := tmpl.properties(t, "Key", "AWS::KMS::Key")
	checkRemoval(t, tmpl, "Key", true)
	diff(t, "rotation", true, key["EnableKeyRotation"])
	statements := key["KeyPolicy"].(object)["Statement"].([]any)
	if len(statements) != 2 {
		t.Fatalf("%d statements", len(statements))
	}
	diff(t, "the account", object{
		"Action": "kms:*", "Effect": "Allow", "Resource": "*",
		"Principal": object{"AWS": object{"Fn::Join": []any{"", []any{"arn:", ref("AWS::Partition"), ":iam::", ref("AWS::AccountId"), ":root"}}}},
	}, statements[0])
	diff(t, "logs", object{
		"Action": keyActions, "Effect": "Allow", "Resource": "*",
		"Principal": object{"Service": host("logs")},
		"Condition": object{"ArnLike": object{"kms:EncryptionContext:aws:logs:arn": object{
			"Fn::Join": []any{"", []any{"arn:", ref("AWS::Partition"), ":logs:", ref("AWS::Region"), ":", ref("AWS::AccountId"), ":log-group:*"}},
		}}},
	}, statements[1])
	if tmpl.Outputs["EncryptionKeyArn"] == nil || changed().Outputs["EncryptionKeyArn"] != nil {
		t.Error("the key is an output where the stack makes it, and only there")
	}
}

// Each role may use the key, through the services that encrypt with it and in no other way.
func TestRolesUseTheKey(t *testing.T) {
	check := func(tmpl template, key any, want map[string]string) {
		for id, services := range want {
			found := 0
			for _, statement := range tmpl.properties(t, id+"Policy", "AWS::IAM::Policy")["PolicyDocument"].(object)["Statement"].([]any) {
				if text := asText(t, statement); strings.Contains(text, "kms:Encrypt") {
					found++
					via := []any{}
					for _, service := range strings.Fields(services) {
						via = append(via, hostIn(service, "amazonaws.com"), host(service))
					}
					diff(t, id, object{
						"Action": keyActions, "Effect": "Allow", "Resource": key,
						"Condition": object{"StringEquals": object{"kms:ViaService": via}},
					}, statement)
				}
			}
			if found != 1 {
				t.Errorf("%s has %d statements of the key", id, found)
			}
		}
	}
	check(encrypted(), get("Key", "Arn"), map[string]string{"Enqueue": "dynamodb sqs", "Sort": "dynamodb sqs", "Sweep": "dynamodb sqs", "Delivery": "dynamodb sqs", "Ack": "dynamodb sqs"})
	check(changed(), theKey, map[string]string{
		"Enqueue": "dynamodb sqs", "Sort": "dynamodb sqs", "Sweep": "dynamodb sns sqs", "Delivery": "dynamodb sqs", "Ack": "dynamodb sns sqs", "Process": "dynamodb sqs", "Webhook": "dynamodb sqs",
	})
	for id, resource := range defaults().Resources {
		if strings.Contains(asText(t, resource), "kms:") {
			t.Errorf("%s names a key, and nothing is there", id)
		}
	}
}

// A role that is granted a table's use is granted the key's.
func TestGrantsCoverTheKey(t *testing.T) {
	for name, tmpl := range map[string]template{"Books": granted(t, NewKey), "none": granted(t, "")} {
		for _, prefix := range []string{"BooksServiceRole", "Puller", "Worker"} {
			policy := asText(t, tmpl.find(t, "AWS::IAM::Policy", prefix)["PolicyDocument"])
			if strings.Contains(policy, "kms:Decrypt") != (name != "none") {
				t.Errorf("%s, with key %s: %s", prefix, name, policy)
			}
		}
	}
}
