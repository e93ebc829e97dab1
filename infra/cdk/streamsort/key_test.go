package streamsort

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

const theKey = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"

// Every table, every log group and every queue is encrypted with the key, and each role may use it.
func TestKeyEncrypts(t *testing.T) {
	const key = `":{"Fn::GetAtt":["Key","Arn"]}`
	counts := map[string]int{}
	for id, resource := range other().Resources {
		typ, text := resource["Type"].(string), asText(t, resource)
		want := map[string]string{
			"AWS::DynamoDB::GlobalTable": `"KMSMasterKeyId` + key, "AWS::SQS::Queue": `"KmsMasterKeyId` + key,
			"AWS::Logs::LogGroup": `"KmsKeyId` + key, "AWS::IAM::Policy": `{"kms:ViaService":[`,
		}[typ]
		check.That(t, strings.Contains(text, want), "%s has no %s: %s", id, want, text)
		counts[typ]++
	}
	if counts["AWS::DynamoDB::GlobalTable"] < 8 || counts["AWS::SQS::Queue"] != 2 ||
		counts["AWS::Logs::LogGroup"] < 6 {
		t.Errorf("looked at %v", counts)
	}
}
