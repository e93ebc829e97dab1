package template

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/table"
)

func endpoints(id, _ string) (string, error) { return "http://127.0.0.1:1/" + id, nil }

func readFile(t *testing.T, name string, options Options) (*Template, error) {
	t.Helper()
	text := check.Get(os.ReadFile(name))
	doc := check.Get(Parse(text))
	return doc.Read(options)
}

func TestReadStack(t *testing.T) {
	got := check.Get(readFile(t, "testdata/stack.json", Options{Stack: "shop", Endpoint: endpoints}))
	want := &Template{
		Stack: "shop",
		Tables: []Table{{
			LogicalID: "Events",
			Definition: table.Definition{
				Name:      "shop-events",
				Partition: table.Key{Name: "queue", Type: table.String},
				Sort:      table.Key{Name: "seq", Type: table.Number},
				Stream:    table.KeysOnly,
				TTL:       "expiresOn",
			},
		}},
		Functions: []Function{{
			LogicalID: "Sort", Name: "shop-Sort", Source: "functions/sort", Asset: "asset.HASH", Key: "HASH.zip", Runtime: "provided.al2023", Handler: "bootstrap",
			MemoryMB: 256, Timeout: 30 * time.Second, Reserved: 7, LogFormat: "JSON", LogLevel: "INFO",
			Env:   map[string]string{"TABLE": "shop-events", "BATCH": "25", "API": "http://127.0.0.1:1/Api"},
			Async: Async{Retries: 1, MaxAge: 6 * time.Hour, OnFailure: "shop-Failures"},
		}},
		Mappings: []Mapping{{
			LogicalID: "SortMapping", Function: "shop-Sort", Table: "shop-events",
			Enabled: true, StartingPosition: "TRIM_HORIZON", BatchSize: 100, Window: time.Second, MaxRetries: 10,
			MaxRecordAge: time.Hour, Parallelization: 10, Bisect: true, ReportBatchItemFailures: true,
			Filters: []string{`{"eventName":["INSERT"]}`}, OnFailure: "shop-Failures",
		}},
		APIs: []API{{
			LogicalID: "Api", ID: apiID("shop-Api"), Endpoint: "http://127.0.0.1:1/Api",
			Routes: []Route{{
				Key: "POST /messages", Method: "POST", Path: "/messages", Function: "shop-Sort", Timeout: 30 * time.Second, IAM: true,
			}},
			Stages: []Stage{{Name: "$default"}},
		}},
		URLs: []URL{{LogicalID: "SortUrl", Function: "shop-Sort",
			Endpoint: "http://127.0.0.1:1/SortUrl"}},
		Schedules: []Schedule{
			{
				LogicalID: "Every", Name: "shop-Every", ARN: arn("events", "rule/shop-Every"),
				Expression: "rate(5 minutes)", Every: 5 * time.Minute, Enabled: true,
				Targets: []Target{{Function: "shop-Sort"}},
			},
			{
				LogicalID: "Nightly", Name: "shop-Nightly", ARN: arn("events", "rule/shop-Nightly"),
				Expression: "cron(0 3 * * ? *)", Enabled: true,
				Targets: []Target{{Function: "shop-Sort", Input: `{"full":true}`}},
			},
		},
		NotRun: []string{
			"Nightly: a cron is never due here; POST /_streamsort/schedules/Nightly runs it",
		},
		Queues: []Queue{{LogicalID: "Failures", Name: "shop-Failures", Visibility: 30 * time.Second,
			Retention: 336 * time.Hour}},
		Outputs: map[string]string{"Stream": StreamARN("shop-events"), "Url": "http://127.0.0.1:1/Api"},
		Exports: map[string]string{"shop-stream": StreamARN("shop-events")},
	}
	check.Is(t, cmp.Diff(want, got), "")
}

func TestReadWithParameters(t *testing.T) {
	_, err := readFile(t, "testdata/stack.json",
		Options{Parameters: map[string]string{"Prefix": "lab"}, Endpoint: endpoints})
	if err == nil || err.Error() != "Resources.LabOnly: type AWS::Nobody::Knows is not run on one machine, and is not on the list of types without local meaning" {
		t.Errorf("error = %v; want the unknown type that the condition lets in", err)
	}
	_, err = readFile(t, "testdata/stack.json",
		Options{Parameters: map[string]string{"Prefix": "other"}, Endpoint: endpoints})
	if err == nil || err.Error() != `Parameters.Prefix: must be one of shop, lab, not "other"` {
		t.Errorf("error = %v; want the allowed values", err)
	}
}

// TestErrors changes one thing in a good template and expects one error.
func TestErrors(t *testing.T) {
	good, err := os.ReadFile("testdata/stack.json")
	check.OK(t, err)
	// want is what the error names, with a comma between: the place, and what may stand there.
	cases := []struct{ name, old, new, want string }{
		{"not JSON", `{`, `[`, "JSON object"},
		{"unknown section", `"Rules"`, `"Transform"`, "Transform, section"},
		{"range", `"Timeout": 30`, `"Timeout": 901`, "Resources.Sort.Properties.Timeout, 1, 900"},
		{"type", `"MemorySize": 256`, `"MemorySize": "big"`, "Resources.Sort.Properties.MemorySize, integer"},
		{"runtime", `provided.al2023`, `java21`, "Resources.Sort.Properties.Runtime, provided.al2023, provided.al2, python3.N or nodejsN.x"},
		{"interpreted", `provided.al2023`, `nodejs22.x`, "Resources.Sort.Properties.Handler, FILE.FUNCTION"},
		{"files", `"streamsort:source"`, `"streamsort:files": 1, "streamsort:source"`, "Resources.Sort.Metadata.streamsort:files, object"},
		{"file that is no text", `"streamsort:source"`, `"streamsort:files": {"a": 1}, "streamsort:source"`, "Resources.Sort.Metadata.streamsort:files.a, text"},
		{"file outside", `"streamsort:source"`, `"streamsort:files": {"../a": ""}, "streamsort:source"`, "streamsort:files.../a, bootstrap"},
		{"file over the program", `"streamsort:source"`, `"streamsort:files": {"bootstrap": ""}, "streamsort:source"`, "streamsort:files.bootstrap, file"},
		{"source outside", `functions/sort`, `../functions/sort`, "Resources.Sort.Metadata.streamsort:source, absolute"},
		{"unknown property", `"Handler": "bootstrap"`, `"FileSystemConfigs": []`, "Resources.Sort.Properties.FileSystemConfigs"},
		{"rate", `5 minutes`, `5 seconds`, "Resources.Every.Properties.ScheduleExpression, rate(…)"},
		{"tumbling window", `"ParallelizationFactor": 10`, `"TumblingWindowInSeconds": 60`, "TumblingWindowInSeconds"},
		{"record age", `"MaximumRecordAgeInSeconds": 3600`, `"MaximumRecordAgeInSeconds": 30`, "MaximumRecordAgeInSeconds, -1, 60, 604800"},
		{"no such resource", `{"Ref": "Events"}`, `{"Ref": "Nothing"}`, "Resources.Sort.Properties.Environment.Variables.TABLE, Nothing"},
		{"left out", `"Condition": "IsShop", `, `"Condition": "IsLab", `, ""},
		{"no permission", `"apigateway.amazonaws.com"`, `"other.amazonaws.com"`, "Resources.ApiRoute.Properties, AWS::Lambda::Permission, API Gateway, shop-Sort, POST /messages"},
		{"permission elsewhere", `/*/*/messages`, `/*/*/others`, "Resources.ApiRoute.Properties, AWS::Lambda::Permission, API Gateway"},
		{"schedule's permission", `"events.amazonaws.com"`, `"other.amazonaws.com"`, "Resources.Every, AWS::Lambda::Permission, EventBridge"},
		{"integration", `{"Ref": "ApiIntegration"}`, `"nothing"`, `Resources.ApiRoute.Properties.Target, integration, "nothing"`},
		{"payload 1.0", `"PayloadFormatVersion": "2.0"`, `"PayloadFormatVersion": "1.0"`, `PayloadFormatVersion, 2.0`},
		{"no stage", `"AWS::ApiGatewayV2::Stage"`, `"AWS::Logs::LogGroup"`, "Resources.Api, AWS::ApiGatewayV2::Stage"},
		{"key type", `"AttributeName": "seq", "AttributeType": "N"`, `"AttributeName": "sq", "AttributeType": "N"`, `Resources.Events.Properties.KeySchema[1].AttributeName, "seq"`},
		{"queue ARN", `"Destination": {"Fn::GetAtt": ["Failures", "Arn"]}}},
    "EventSourceArn"`, `"Destination": "arn:aws:sns:us-east-1:000000000000:topic"}},
    "EventSourceArn"`, "DestinationConfig.OnFailure.Destination, SQS"},
		{"stream", `{"Fn::GetAtt": ["Events", "StreamArn"]},
    "Filter`, `"arn:aws:kinesis:us-east-1:000000000000:stream/x",
    "Filter`, "Resources.SortMapping.Properties.EventSourceArn, DynamoDB"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(string(good), c.old, c.new, 1)
			doc, err := Parse([]byte(text))
			if err == nil {
				_, err = doc.Read(Options{Stack: "shop", Endpoint: endpoints})
			}
			switch {
			case c.want == "" && err != nil:
				t.Errorf("error = %v; want none", err)
			case c.want != "" && !names(err, c.want):
				t.Errorf("error = %v\nwant it to name: %s", err, c.want)
			}
		})
	}
}

// names reports whether an error names all these, between which there is a comma.
func names(err error, all string) bool {
	return err != nil && !slices.ContainsFunc(strings.Split(all, ", "), func(one string) bool {
		return !strings.Contains(err.Error(), one)
	})
}

func TestImport(t *testing.T) {
	const text = `{"Resources": {"Logs": {"Type": "AWS::Logs::LogGroup"}}, "Outputs": {"X": {"Value": {"Fn::ImportValue": {"Fn::Join": ["-", ["shop", "stream"]]}}}}}`
	doc, err := Parse([]byte(text))
	check.OK(t, err)
	_, err = doc.Read(Options{})
	check.Is(t, check.As[*MissingImportError](t, err).Name, "shop-stream")
	got, err := doc.Read(Options{Imports: map[string]string{"shop-stream": "here"}})
	check.That(t, err == nil && got.Outputs["X"] == "here", "Read = %+v, %v", got, err)
}

func TestNames(t *testing.T) {
	for reference, qualifier := range map[string]string{
		"sort":                                   "",
		"sort:live":                              "live",
		"000000000000:sort":                      "",
		"000000000000:function:sort":             "",
		FunctionARN("sort"):                      "",
		FunctionARN("sort") + ":$LATEST":         "$LATEST",
		"us-east-1:000000000000:function:sort:1": "1",
	} {
		got, by := FunctionName(reference), FunctionQualifier(reference)
		check.That(t, got == "sort" && by == qualifier, "%q is %q by %q", reference, got, by)
	}
	got, ok := StreamTable(StreamARN("a.b-c"))
	check.That(t, got == "a.b-c" && ok, "StreamTable = %q, %v", got, ok)
	got = shorten(strings.Repeat("x", 70) + "End")
	check.That(t, len(got) == 64 && strings.HasSuffix(got, "End"), "shorten = %q (%d)", got, len(got))
}

const withTokens = `{"Resources": {
 "F": {"Type": "AWS::Lambda::Function", "Metadata": {"streamsort:source": "functions/sort"},
  "Properties": {"Runtime": "provided.al2023", "Handler": "bootstrap", "Code": {"ZipFile": "x"}, "Role": "r"}},
 "Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"ProtocolType": "HTTP", "Name": "a"}},
 "Stage": {"Type": "AWS::ApiGatewayV2::Stage", "Properties": {"ApiId": {"Ref": "Api"}, "StageName": "$default", "AutoDeploy": true}},
 "Integration": {"Type": "AWS::ApiGatewayV2::Integration", "Properties": {"ApiId": {"Ref": "Api"}, "IntegrationType": "AWS_PROXY",
  "IntegrationUri": {"Fn::GetAtt": ["F", "Arn"]}, "PayloadFormatVersion": "2.0"}},
 "Permission": {"Type": "AWS::Lambda::Permission", "Properties": {"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": "F"},
  "Principal": "apigateway.amazonaws.com"}},
 "Tokens": {"Type": "AWS::ApiGatewayV2::Authorizer", "Properties": {"ApiId": {"Ref": "Api"}, "Name": "n", "AuthorizerType": "JWT",
  "IdentitySource": ["$request.header.Authorization"], "JwtConfiguration": {"Issuer": "https://a.example", "Audience": ["shop"]}}},
 "Route": {"Type": "AWS::ApiGatewayV2::Route", "Properties": {"ApiId": {"Ref": "Api"}, "RouteKey": "GET /x", "AuthorizationType": "JWT",
  "AuthorizerId": {"Ref": "Tokens"}, "AuthorizationScopes": ["read"], "Target": {"Fn::Join": ["/", ["integrations", {"Ref": "Integration"}]]}}}
}}`

func TestAuthorizer(t *testing.T) {
	read := func(text string) (*Template, error) {
		doc := check.Get(Parse([]byte(text)))
		return doc.Read(Options{Endpoint: endpoints})
	}
	got, err := read(withTokens)
	check.OK(t, err)
	want := &JWT{Issuer: "https://a.example", Audience: []string{"shop"}, Scopes: []string{"read"}}
	check.Is(t, cmp.Diff(want, got.APIs[0].Routes[0].JWT), "")
	for _, c := range []struct{ old, new, want string }{
		{`"AuthorizerType": "JWT"`, `"AuthorizerType": "REQUEST"`, "Resources.Tokens.Properties.AuthorizerType, JWT"},
		{`["$request.header.Authorization"]`, `["$request.querystring.token"]`, "IdentitySource, $request.header.Authorization"},
		{`"Issuer": "https://a.example", `, ``, "JwtConfiguration.Issuer"},
		{`, "JwtConfiguration"`, `, "Other"`, "JwtConfiguration, missing"},
		{`{"Ref": "Tokens"}`, `"elsewhere"`, `Resources.Route.Properties.AuthorizerId, "elsewhere"`},
		{`"AuthorizationType": "JWT"`, `"AuthorizationType": "CUSTOM"`, "AuthorizationType, NONE, AWS_IAM, JWT"},
		{`"AuthorizationType": "JWT"`, `"AuthorizationType": "AWS_IAM"`, "AuthorizerId"},
	} {
		_, err := read(strings.Replace(withTokens, c.old, c.new, 1))
		check.That(t, names(err, c.want), "%s: error %v, want %s", c.new, err, c.want)
	}
}

// A queue that a function reads is the runner's own, also where others send to it.
func TestQueuesThatFunctionsRead(t *testing.T) {
	const text = `{"Resources": {
  "Clock": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 3, "VisibilityTimeout": 90, "MessageRetentionPeriod": 3600}},
  "ClockPolicy": {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": [{"Ref": "Clock"}]}},
  "Work": {"Type": "AWS::Lambda::Function", "Metadata": {"streamsort:source": "work"}, "Properties": {"Runtime": "provided.al2023", "Handler": "bootstrap",
   "Environment": {"Variables": {"CLOCK": {"Ref": "Clock"}}}}},
  "Mapping": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {
   "FunctionName": {"Ref": "Work"}, "EventSourceArn": {"Fn::GetAtt": ["Clock", "Arn"]}, "BatchSize": 7,
   "FunctionResponseTypes": ["ReportBatchItemFailures"], "ScalingConfig": {"MaximumConcurrency": 4}}}
}}`
	doc := check.Get(Parse([]byte(text)))
	foreign, _ := check.Get2(doc.ForeignTemplate(Options{}))
	check.That(t, foreign == nil, "%+v", foreign)
	read := check.Get(doc.Read(Options{}))
	want := []Queue{{LogicalID: "Clock", Name: "local-Clock", Delay: 3 * time.Second,
		Visibility: 90 * time.Second, Retention: time.Hour}}
	check.Is(t, cmp.Diff(want, read.Queues), "")
	readers := []QueueMapping{{LogicalID: "Mapping", Function: "local-Work", Queue: "local-Clock",
		Enabled: true, BatchSize: 7, Concurrency: 4, ReportBatchItemFailures: true}}
	check.Is(t, cmp.Diff(readers, read.Readers), "")
	url := read.Functions[0].Env["CLOCK"]
	check.That(t, strings.HasSuffix(url, "/local-Clock"), "the function sends to %s", url)
}

func TestRate(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"rate(1 minute)": time.Minute, "rate(5 minutes)": 5 * time.Minute,
		"rate(2 days)": 48 * time.Hour, "rate(1 hour)": time.Hour, "cron(0 10 * * ? *)": 0,
	} {
		check.Is(t, check.Get(rate(expression)), want, expression)
	}
	for _, expression := range []string{
		"rate(0 minutes)", "rate(1 minutes)", "rate(2 minute)", "rate(5 seconds)", "5 minutes",
	} {
		check.Says(t, check.Err(rate(expression)), "rate", expression)
	}
}

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
