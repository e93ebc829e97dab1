//go:build whole

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
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
	tables, err := dynamo.New(&dynamo.Options{Endpoint: server.Endpoint})
	check.OK(t, err)
	all := append(cursor.Names{}.Tables(), cursor.Names{}.ArrivalsTable())
	all = append(all, delivery.Names{Trouble: "streamsort-trouble"}.Tables()...)
	check.OK(t, table.Create(t.Context(), tables, append(all, xorack.Names{}.Tables()...)...))
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"states":{}}`)
	}))
	defer api.Close()
	template, err := os.ReadFile("testdata/doctor.template.json")
	check.OK(t, err)
	outputs, err := server.Deploy(t.Context(), "Watched",
		bytes.ReplaceAll(template, []byte("API_URL"), []byte(api.URL)), nil)
	check.OK(t, err)
	look := func(want diagnosis, lines ...string) {
		t.Helper()
		var out, errOut bytes.Buffer
		code := run(t.Context(), []string{"--context", "watched", "doctor"},
			strings.NewReader(""), &out, &errOut)
		for _, line := range lines {
			check.That(t, strings.Contains(out.String(), line), "%q is not said", line)
		}
		check.That(t, code == int(want) && errOut.Len() == 0, "exit %d, want %d; %q", code, want, &errOut)
		check.Need(t, !t.Failed(), "it said\n%s", &out)
	}
	var out, errOut bytes.Buffer
	code := run(t.Context(), []string{"context", "add", "watched", "--stack", "Watched"},
		strings.NewReader(""), &out, &errOut)
	check.Need(t, code == 0, "exit %d: %s", code, &errOut)
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
	out.Reset()
	run(t.Context(), []string{"--context", "watched", "-o", "json", "doctor"},
		strings.NewReader(""), &out, &errOut)
	var found []struct{ Check, State, Found string }
	err = json.Unmarshal(out.Bytes(), &found)
	check.That(t, err == nil && len(found) >= 10, "%v, of %s", err, &out)
}
