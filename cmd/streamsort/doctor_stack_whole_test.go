//go:build whole

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	watch "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/localstack/ministack"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// TestDoctorOfStack: what a stack of CloudFormation has beside its API: tables and the layouts of
// their items, mappings and alarms.
func TestDoctorOfStack(t *testing.T) {
	server := ministack.ForTest(t)
	home := t.TempDir()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.Endpoint, "AWS_ENDPOINT_URL_DYNAMODB": "", "AWS_REGION": ministack.Region,
		"AWS_ACCESS_KEY_ID": ministack.AccessKeyID, "AWS_SECRET_ACCESS_KEY": ministack.SecretKey, "AWS_PROFILE": "",
		"HOME": home, "XDG_CONFIG_HOME": home, "STREAMSORT_URL": "", "STREAMSORT_CONTEXT": "",
	} {
		t.Setenv(name, value)
	}
	tables := check.Get(dynamo.New(&dynamo.Options{Endpoint: server.Endpoint}))
	all := append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable())
	all = append(all, delivery.Names{Trouble: "streamsort-trouble"}.Tables()...)
	check.OK(t, table.Create(t.Context(), tables, append(all, xorack.Names{}.Tables()...)...))
	api := answers(t, map[string]string{"/summary": `{"states":{}}`})
	template := check.Get(os.ReadFile("testdata/doctor.template.json"))
	outputs := check.Get(server.Deploy(t.Context(), "Watched",
		bytes.ReplaceAll(template, []byte("API_URL"), []byte(api)), nil))
	look := func(want diagnosis, lines ...string) {
		t.Helper()
		out, errOut, code := prints(t, "--context", "watched", "doctor")
		for _, line := range lines {
			check.Has(t, out, line)
		}
		check.Need(t, code == int(want) && errOut == "", "exit %d, want %d; %q", code, want, errOut)
	}
	_, errOut, code := prints(t, "context", "add", "watched", "--stack", "Watched")
	check.Need(t, code == 0, "exit %d: %s", code, errOut)
	look(well, "mapping of watched-handler\tok\tis Enabled", "alarms\tok\tnone of 1 is on",
		"sweep\tok\tno pass has ended yet: the stack is new",
		"table streamsort-chains\tok\tis ACTIVE, and its items' layout is known (1 at most)")

	// An alarm is on, and a mapping is off.
	settings := aws.Config{Region: ministack.Region, BaseEndpoint: &server.Endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(ministack.AccessKeyID,
			ministack.SecretKey, "")}
	check.Get(cloudwatch.NewFromConfig(settings).SetAlarmState(t.Context(),
		&cloudwatch.SetAlarmStateInput{
			AlarmName: aws.String("watched-behind"), StateReason: aws.String("a test"),
			StateValue: watch.StateValueAlarm,
		}))
	look(warning, "alarm watched-behind\twarning\tis on: Somebody is behind.")
	mapping := outputs["Mapping"]
	check.Get(lambda.NewFromConfig(settings).UpdateEventSourceMapping(t.Context(),
		&lambda.UpdateEventSourceMappingInput{UUID: &mapping, Enabled: aws.Bool(false)}))
	look(critical, "mapping of watched-handler\tcritical\tis Disabl")

	// A table has what a later version wrote.
	check.Get(tables.PutItem(t.Context(),
		&dynamodb.PutItemInput{TableName: aws.String("streamsort-chains"),
			Item: map[string]types.AttributeValue{
				"tag": &types.AttributeValueMemberS{Value: "later"}, "v": &types.AttributeValueMemberN{Value: "99"},
			}}))
	look(critical, "table streamsort-chains\tcritical\thas items of layout 99, and this program knows 1: take a newer streamsort")

	// A caller in JSON gets the same.
	out, _, _ := prints(t, "--context", "watched", "-o", "json", "doctor")
	var found []struct{ Check, State, Found string }
	check.OK(t, json.Unmarshal([]byte(out), &found))
	check.That(t, len(found) >= 10, "%s", out)
}
