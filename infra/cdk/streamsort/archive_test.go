package streamsort

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"
)

// TestArchivesOfYours: a bucket may be one that is there, or be named by a consumer that is added.
func TestArchivesOfYours(t *testing.T) {
	tmpl := synthesize("Streamsort", &Props{Consumers: []Consumer{{Name: "books", Sink: &Sink{Kind: "s3", ARN: new("arn:aws:s3:::books-2026")}}}})
	if tmpl.Resources["ArchiveBucket"] != nil {
		t.Error("a bucket is made beside the one that is there")
	}
	diff(t, "process", "s3:PutObject", allowed(t, tmpl, "Process")["arn:aws:s3:::books-2026/books/*"])
	diff(t, "sweep", "s3:ListBucket", allowed(t, tmpl, "Sweep")["arn:aws:s3:::books-2026"])

	stack, s, _, read := own(t)
	bucket := awss3.NewBucket(stack, jsii.String("Shelf"), nil)
	if err := s.AddSink(Consumer{Name: "shelf", To: bucket}, Consumer{Name: "made", Sink: &Sink{Kind: "s3"}}); err != nil {
		t.Fatal(err)
	}
	made := read()
	file, variables, policy := made.process(t)
	sweep := asText(t, made.find(t, "AWS::IAM::Policy", "OrdersSweepRoleDefaultPolicy"))
	for text, wants := range map[string][]string{
		file:      {`{"name":"shelf","sink":{"kind":"s3","arn":"${STREAMSORT_SINK_0}"}},{"name":"made","sink":{"kind":"s3","arn":"${STREAMSORT_SINK_1}"}}`},
		variables: {`"STREAMSORT_SINK_0":{"Fn::GetAtt":["Shelf`, `"STREAMSORT_SINK_1":{"Fn::GetAtt":["OrdersArchiveBucket`},
		policy:    {`"/shelf/*"`, `"/made/*"`},
		sweep:     {`"s3:ListBucket"`, `"s3:DeleteObject"`, `"/shelf/*"`, `"/made/*"`},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
	}
}
