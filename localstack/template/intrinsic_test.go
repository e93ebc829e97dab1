package template

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestIntrinsics resolves one value each, in a template with a parameter, a list parameter, two
// conditions, a mapping and a table.
func TestIntrinsics(t *testing.T) {
	const template = `{
	 "Parameters": {"Size": {"Type": "Number", "Default": 3}, "Zones": {"Type": "CommaDelimitedList", "Default": "a, b"}},
	 "Conditions": {
	  "Yes": {"Fn::Equals": [{"Ref": "Size"}, "3"]},
	  "No": {"Fn::And": [{"Condition": "Yes"}, {"Fn::Not": [{"Condition": "Yes"}]}]},
	  "Either": {"Fn::Or": [{"Condition": "No"}, {"Condition": "Yes"}]},
	  "Loop": {"Fn::Not": [{"Condition": "Loop"}]}
	 },
	 "Mappings": {"M": {"one": {"two": "deep", "list": ["x", "y"]}}},
	 "Resources": {
	  "T": {"Type": "AWS::DynamoDB::Table"},
	  "Self": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Ref": "Self"}}},
	  "Gone": {"Type": "AWS::DynamoDB::Table", "Condition": "No"},
	  "V": {"Type": "AWS::Logs::LogGroup", "Properties": {"Value": VALUE}}
	 }}`
	cases := []struct{ name, value, want, err string }{
		{"plain", `[1, "a", true, null]`, `[1, "a", true, null]`, ""},
		{"number kept", `12345678901234567890`, `12345678901234567890`, ""},
		{"Ref parameter", `{"Ref": "Size"}`, `"3"`, ""},
		{"Ref list", `{"Ref": "Zones"}`, `["a", "b"]`, ""},
		{"Ref region", `{"Ref": "AWS::Region"}`, `"us-east-1"`, ""},
		{"Ref account", `{"Ref": "AWS::AccountId"}`, `"000000000000"`, ""},
		{"Ref partition", `{"Ref": "AWS::Partition"}`, `"aws"`, ""},
		{"Ref suffix", `{"Ref": "AWS::URLSuffix"}`, `"amazonaws.com"`, ""},
		{"Ref stack", `{"Ref": "AWS::StackName"}`, `"s"`, ""},
		{"Ref pseudo unknown", `{"Ref": "AWS::Moon"}`, "", "AWS::Moon"},
		{"Ref not a string", `{"Ref": 1}`, "", "Value.Ref, string"},
		{"NoValue in object", `{"a": {"Ref": "AWS::NoValue"}, "b": 1}`, `{"b": 1}`, ""},
		{"NoValue in list", `[{"Ref": "AWS::NoValue"}, 1]`, `[1]`, ""},
		{"Ref resource", `{"Ref": "T"}`, `"s-T"`, ""},
		{"Ref itself", `{"Ref": "Self"}`, "", "Self, itself"},
		{"Ref left out", `{"Ref": "Gone"}`, "", "condition No"},
		{"GetAtt", `{"Fn::GetAtt": ["T", "Arn"]}`, `"arn:aws:dynamodb:us-east-1:000000000000:table/s-T"`, ""},
		{"GetAtt short", `{"Fn::GetAtt": "T.Arn"}`, `"arn:aws:dynamodb:us-east-1:000000000000:table/s-T"`, ""},
		{"GetAtt unknown", `{"Fn::GetAtt": ["T", "Colour"]}`, "", "AWS::DynamoDB::Table, Colour"},
		{"GetAtt bad", `{"Fn::GetAtt": ["T"]}`, "", "GetAtt, list of 2"},
		{"Join", `{"Fn::Join": ["-", ["a", {"Ref": "Size"}, 7]]}`, `"a-3-7"`, ""},
		{"Join list ref", `{"Fn::Join": ["+", {"Ref": "Zones"}]}`, `"a+b"`, ""},
		{"Join bad", `{"Fn::Join": ["-", [{}]]}`, "", "Value.Fn::Join[1][0], string"},
		{"Sub", `{"Fn::Sub": "${AWS::StackName}/${T}/${T.Arn}/${Size}"}`, `"s/s-T/arn:aws:dynamodb:us-east-1:000000000000:table/s-T/3"`, ""},
		{"Sub literal", `{"Fn::Sub": "${!Size}"}`, `"${Size}"`, ""},
		{"Sub own", `{"Fn::Sub": ["${x}-${Size}", {"x": {"Ref": "T"}}]}`, `"s-T-3"`, ""},
		{"Sub open", `{"Fn::Sub": "${Size"}`, "", "has a ${ without its }"},
		{"Sub list parameter", `{"Fn::Sub": "${Zones}"}`, "", "${Zones}, string"},
		{"Select", `{"Fn::Select": [1, {"Fn::Split": ["|", "a|b|c"]}]}`, `"b"`, ""},
		{"Select text index", `{"Fn::Select": ["0", ["x"]]}`, `"x"`, ""},
		{"Select outside", `{"Fn::Select": [1, ["x"]]}`, "", `"1", list of 1`},
		{"Select negative", `{"Fn::Select": [-1, ["x"]]}`, "", "Select, \"-1\""},
		{"Split", `{"Fn::Split": [",", "a,b"]}`, `["a", "b"]`, ""},
		{"Split empty", `{"Fn::Split": ["", "a"]}`, "", "Fn::Split, empty"},
		{"If yes", `{"Fn::If": ["Yes", "y", {"Ref": "Nothing"}]}`, `"y"`, ""},
		{"If no", `{"Fn::If": ["No", 1, 2]}`, `2`, ""},
		{"If or", `{"Fn::If": ["Either", 1, 2]}`, `1`, ""},
		{"If NoValue", `{"k": {"Fn::If": ["No", 1, {"Ref": "AWS::NoValue"}]}}`, `{}`, ""},
		{"If unknown", `{"Fn::If": ["Maybe", 1, 2]}`, "", `"Maybe"`},
		{"If loop", `{"Fn::If": ["Loop", 1, 2]}`, "", "Loop, itself"},
		{"Equals in place", `{"Fn::Equals": ["a", "a"]}`, `true`, ""},
		{"FindInMap", `{"Fn::FindInMap": ["M", "one", "two"]}`, `"deep"`, ""},
		{"FindInMap list", `{"Fn::Select": [1, {"Fn::FindInMap": ["M", "one", "list"]}]}`, `"y"`, ""},
		{"FindInMap missing", `{"Fn::FindInMap": ["M", "one", "three"]}`, "", "Mappings.M.one.three"},
		{"FindInMap default", `{"Fn::FindInMap": ["M", "one", "three", {"DefaultValue": "d"}]}`, `"d"`, ""},
		{"Base64", `{"Fn::Base64": "hi"}`, `"aGk="`, ""},
		{"ImportValue missing", `{"Fn::ImportValue": "x"}`, "", `exports, "x"`},
		{"unknown function", `{"Fn::Transform": {}}`, "", "Fn::Transform"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc := check.Get(Parse([]byte(strings.Replace(template, "VALUE", c.value, 1))))
			r := check.Get(newResolver(doc, Options{Stack: "s"}))
			var got any
			err := try(func() { got = r.value("Value", doc.resources["V"].properties["Value"]) })
			if c.err != "" {
				check.That(t, names(err, c.err) && (strings.HasPrefix(err.Error(), "Value") ||
					strings.HasPrefix(err.Error(), "Resources.") ||
					strings.HasPrefix(err.Error(), "Conditions.")), "error = %v; want a path and %q", err,
					c.err)
				return
			}
			check.OK(t, err)
			text := check.Get(json.Marshal(got))
			var gotValue, wantValue any
			check.Need(t, json.Unmarshal(text, &gotValue) == nil &&
				json.Unmarshal([]byte(c.want), &wantValue) == nil, "not JSON: %s or %s", text, c.want)
			check.Is(t, cmp.Diff(wantValue, gotValue), "")
		})
	}
}
