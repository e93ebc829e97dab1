package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

func TestMain(m *testing.M) {
	// CloudFormation's rules are checked where the stack's own templates are.
	if err := os.Setenv("CDK_VALIDATION", "false"); err != nil {
		panic(err)
	}
	jsii.Close() // jsii has the environment of when it was initialised; this begins anew
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// The app builds its programs, and its stack has two consumers: the function behind the stream, and
// the queue behind process.
func TestShop(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{
		Context: &map[string]any{"binaries": t.TempDir()}, Outdir: jsii.String(t.TempDir()),
		StackTraces: jsii.Bool(false),
	})
	stack, err := addShop(app)
	if err != nil {
		t.Fatal(err)
	}
	template := assertions.Template_FromStack(stack, nil)
	// sort of both tables, ack, process, sweep for the timer, Books
	template.ResourceCountIs(jsii.String("AWS::Lambda::EventSourceMapping"), jsii.Number(6))
	text, err := json.Marshal(template.ToJSON())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`[{\"name\":\"books\"},{\"name\":\"billing\"}]`,                // the sweep looks after both
		`"streamsort:source":"consumer"`,                               // the local stack builds it
		`"STREAMSORT_MESSAGES_TABLE"`, `"TableName":"orders-messages"`, // and its tables are its own
		`"consumers.json":"{\"consumers\":[{\"name\":\"billing\",\"sink\":{`, // process delivers to the queue
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the template has no %s", want)
		}
	}
}
