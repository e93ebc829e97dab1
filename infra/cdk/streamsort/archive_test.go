package streamsort

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"
)

// TestArchiveBucket: the bucket that is made stays, is encrypted with the stack's key, and is for nobody else; a
// stack without an archive has none.
func TestArchiveBucket(t *testing.T) {
	tmpl := changed()
	bucket := tmpl.Resources["ArchiveBucket"]
	diff(t, "retained", []any{"Retain", "Retain"}, []any{bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]})
	properties := tmpl.properties(t, "ArchiveBucket", "AWS::S3::Bucket")
	diff(t, "public access", object{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true}, properties["PublicAccessBlockConfiguration"])
	if text := asText(t, properties["BucketEncryption"]); !strings.Contains(text, theKey) || !strings.Contains(text, "aws:kms") {
		t.Errorf("encrypted with %s", text)
	}
	policy := asText(t, tmpl.properties(t, "ArchiveBucketPolicy", "AWS::S3::BucketPolicy"))
	if !strings.Contains(policy, `"aws:SecureTransport":"false"`) || !strings.Contains(policy, `"Effect":"Deny"`) {
		t.Errorf("TLS is not asked for: %s", policy)
	}
	plain := synthesize("Streamsort", &Props{Consumers: []Consumer{{Name: "a", Sink: &Sink{Kind: "s3"}}, {Name: "b", Sink: &Sink{Kind: "s3"}}}})
	if text := asText(t, plain.properties(t, "ArchiveBucket", "AWS::S3::Bucket")["BucketEncryption"]); !strings.Contains(text, "AES256") {
		t.Errorf("encrypted with %s", text)
	}
	for id, resource := range defaults().Resources {
		if resource["Type"] == "AWS::S3::Bucket" {
			t.Errorf("%s: there is no archive", id)
		}
	}
	// Each archive has its folder: objects are put there by process, and listed and deleted there by the sweep alone.
	for _, folder := range []string{"a", "b"} {
		diff(t, "process", "s3:PutObject", allowed(t, plain, "Process")["ArchiveBucket.Arn/"+folder+"/*"])
		diff(t, "sweep", "s3:DeleteObject", allowed(t, plain, "Sweep")["ArchiveBucket.Arn/"+folder+"/*"])
	}
	diff(t, "lists", []any{object{"StringLike": object{"s3:prefix": "a/*"}}, object{"StringLike": object{"s3:prefix": "b/*"}}},
		slices.DeleteFunc(conditions(t, plain, "Sweep", "s3")["ArchiveBucket.Arn"].([]any), func(c any) bool { return c == nil }))
}

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
