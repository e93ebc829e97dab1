package streamsort

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
)

// TestStacksHaveFunctionsOfTheirOwn: two in one account with tables of their own do not make
// process under one name.
func TestStacksHaveFunctionsOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	if err := fakebin.Write(dir, "arm64"); err != nil {
		t.Fatal(err)
	}
	app := awscdk.NewApp(nil)
	for stage, want := range map[string]string{"Beta": "orders-Beta-1-process", "Prod": "orders-Prod-1-process"} {
		made, err := NewStack(awscdk.NewStage(app, jsii.String(stage), nil), "Orders", &Props{
			Binaries: dir, Tables: "orders-" + stage + ".1",
			Consumers: []Consumer{{Name: "books", Eager: true, Sink: &Sink{Kind: "lambda", ARN: jsii.String(bookARN)}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		name := written(t, made.Stack).Resources["ProcessFunction"]["Properties"].(object)["FunctionName"]
		if name != want {
			t.Errorf("stage %s makes the function %v, want %s", stage, name, want)
		}
	}
}
