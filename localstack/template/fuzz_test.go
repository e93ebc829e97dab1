package template

import (
	"os"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// FuzzRead holds that no text makes reading panic, and that a template which can be read is read
// the same again.
func FuzzRead(f *testing.F) {
	stack, err := os.ReadFile("testdata/stack.json")
	check.OK(f, err)
	f.Add(stack)
	f.Add([]byte(foreignStack))
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `{"Resources": null}`, `{"Resources": {"A": 1}}`,
		`{"Resources": {"A": {"Type": "AWS::Lambda::Function", "Properties": {"Timeout": {"Fn::If": ["C", 1, 2]}}}}, "Conditions": {"C": {"Condition": "C"}}}`,
		`{"Resources": {"A": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Fn::Sub": "${A}"}}}}}`,
		`{"Resources": {"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::GetAtt": [null, {}]}}}}}`,
		`{"Resources": {"A": {"Type": "AWS::ApiGatewayV2::Route", "Properties": {"Target": {"Fn::Split": ["", {"Fn::Select": []}]}}}}}`,
		`{"Resources": {"A": {"Type": "AWS::Lambda::Alias", "Properties": {"FunctionName": {"Ref": "A"}}}, "B": {"Type": "AWS::Lambda::Url", "Properties": {"TargetFunctionArn": {"Ref": "A"}}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := Parse(text)
		if err != nil {
			return
		}
		foreign := func(string, string) (string, error) { return "x", nil }
		options := Options{Endpoint: endpoints, Foreign: foreign}
		_, _, _ = doc.ForeignTemplate(options)
		_, first := doc.Read(options)
		_, second := doc.Read(options)
		if (first == nil) != (second == nil) || first != nil && first.Error() != second.Error() {
			t.Errorf("read twice: %v, then %v", first, second)
		}
	})
}
