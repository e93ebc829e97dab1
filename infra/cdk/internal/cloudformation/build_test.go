package cloudformation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parsed(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// A value stands where its sample does: whole, within a text, and as a number; what only part of
// a template has is an error that says where it is.
func TestValues(t *testing.T) {
	v := values{texts: map[string]any{}, numbers: map[float64]any{}}
	for _, p := range []Parameter{
		{Prop: "policy", sample: "skip"},
		{Prop: "gapAfter", Unit: "Seconds", sample: "701s"},
		{Prop: "eventBus", sample: "other-bus"},
		{Prop: "retention", Unit: "Hours", sample: "731h1s"},
		{Prop: "memory", Default: 512, sample: "702"},
	} {
		texts, numbers := p.written()
		for text, put := range texts {
			v.texts[text] = put
		}
		for number, put := range numbers {
			v.numbers[number] = put
		}
	}
	plain := `{"A":[{"x":"wait"},"5m0s",300,512],"B":"bus/${z}/default","C":"336h","D":{"same":1}}`
	sampled := `{"A":[{"x":"skip"},"11m41s",701,702],"B":"bus/${z}/other-bus","C":"731h0m1s","D":{"same":1,"new":"702"}}`
	want := `{"A":[{"x":{"Ref":"Policy"}},{"Fn::Sub":"${GapAfterSeconds}s"},{"Ref":"GapAfterSeconds"},{"Ref":"Memory"}],
		"B":{"Fn::Sub":"bus/${!z}/${EventBus}"},"C":{"Fn::Sub":"${RetentionHours}h"},"D":{"same":1,"new":{"Ref":"Memory"}}}`
	got, err := v.put(nil, parsed(t, plain), parsed(t, sampled))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parsed(t, want), got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	for _, c := range []struct{ plain, sampled, want string }{
		{`{"R":{"p":1800}}`, `{"R":{"p":1402}}`, "R.p is 1800, and 1402"},
		{`{"R":{"p":1}}`, `{"R":{}}`, "R.p is not there"},
		{`{"R":[1]}`, `{"R":[1,2]}`, "R is "},
	} {
		if _, err := v.put(nil, parsed(t, c.plain), parsed(t, c.sampled)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s and %s: error %v", c.plain, c.sampled, err)
		}
	}
}

// switchOff merges with and without, for a parameter of this name.
func switchOff(t *testing.T, name string, made any, with, without string) (any, error) {
	t.Helper()
	s := switching{parameter: Parameter{Prop: name, on: "true", off: "false", condition: "Has" + name}}
	return s.merge(nil, made, parsed(t, with), parsed(t, without))
}

// What is there only with a parameter gets its condition: a resource as a whole, a property, an
// element of a list. Two parameters may both keep something away, and a value of the
// parameter's own is a reference to it.
func TestSwitching(t *testing.T) {
	const with = `{"Resources":{"A":{"Properties":{"list":["x","y","z"],"env":{"on":"true","more":1},"size":2,"join":{"Fn::Join":["",["a","b"]]}}},"B":{"Properties":{"p":1}}}}`
	const withoutOne = `{"Resources":{"A":{"Properties":{"list":["x","z"],"env":{"on":"false"},"size":3,"join":{"Fn::Join":["",["a"]]}}}}}`
	const withoutTwo = `{"Resources":{"A":{"Properties":{"list":["x","w"],"env":{"on":"true","more":1},"size":2,"join":{"Fn::Join":["",["a","b"]]}}},"B":{"Properties":{}}}}`
	want := `{"Resources":{"A":{"Properties":{
		"list":["x",{"Fn::If":["Hastwo",{"Fn::If":["Hasone","y",{"Ref":"AWS::NoValue"}]},{"Ref":"AWS::NoValue"}]},{"Fn::If":["Hastwo","z",{"Ref":"AWS::NoValue"}]},{"Fn::If":["Hastwo",{"Ref":"AWS::NoValue"},"w"]}],
		"env":{"on":{"Ref":"One"},"more":{"Fn::If":["Hasone",1,{"Ref":"AWS::NoValue"}]}},
		"size":{"Fn::If":["Hasone",2,3]},"join":{"Fn::If":["Hasone",{"Fn::Join":["",["a","b"]]},{"Fn::Join":["",["a"]]}]}}},
		"B":{"Condition":"Hasone","Properties":{"p":{"Fn::If":["Hastwo",1,{"Ref":"AWS::NoValue"}]}}}}}`
	made, err := switchOff(t, "one", parsed(t, with), with, withoutOne)
	if err == nil {
		made, err = switchOff(t, "two", made, with, withoutTwo)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parsed(t, want), made); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}

// What a file cannot say is an error that names the place.
func TestSwitchingRefuses(t *testing.T) {
	const with, one = `{"Resources":{"A":{"Properties":{"size":2}}}}`, `{"Resources":{"A":{"Properties":{"size":3}}}}`
	made, err := switchOff(t, "one", parsed(t, with), with, one)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ without, want string }{
		{`{"Resources":{"A":{"Properties":{"size":4}}}}`, "Resources.A.Properties.size depends on another parameter as well"},
		{`{"Resources":{"A":{"Properties":{"size":2}},"B":{}}}`, "Resources.B is there where the parameter is off"},
	} {
		if _, err := switchOff(t, "two", made, with, c.without); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.without, err, c.want)
		}
	}
}

// Each parameter has a name and a heading of its own, says what it is, and has a default that is
// within its bounds; only the bucket has none.
func TestParameters(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range withSamples() {
		if seen[p.Name()] || p.Description == "" || p.Group == "" || (p.Default == nil) != (p.Prop == "artifactBucket") {
			t.Errorf("%+v", p)
		}
		seen[p.Name()] = true
		if number, is := p.Default.(int); is && p.Allowed == nil && (number < p.Min || number > p.Max) {
			t.Errorf("%s: %d is not from %d to %d", p.Name(), number, p.Min, p.Max)
		}
		if p.Allowed != nil && !strings.Contains(fmt.Sprint(p.Allowed), fmt.Sprint(p.Default)) {
			t.Errorf("%s: %v is not among %v", p.Name(), p.Default, p.Allowed)
		}
	}
}
