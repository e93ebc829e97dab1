package streamsort

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/internal/sink/s3"
)

func (c Consumer) isArchive() bool { return c.Sink != nil && c.Sink.Kind == s3.Name }

func (c Consumer) objects() *string {
	return jsii.String(*c.Sink.ARN + "/" + s3.Folder(c.Name) + "*")
}

// shelve gives archives without a bucket that of the stack, which is made for the first one. Each
// has a folder of its own there.
func (s *Streamsort) shelve(all []Consumer) []Consumer {
	shelved := slices.Clone(all)
	for i, c := range all {
		if !c.isArchive() || c.Sink.ARN != nil {
			continue
		}
		if s.ArchiveBucket == nil {
			s.addArchiveBucket()
		}
		to := *c.Sink
		to.ARN = s.ArchiveBucket.BucketArn()
		if s.Key != nil {
			to.Key = s.Key.KeyArn()
		}
		shelved[i].Sink = &to
	}
	return shelved
}

func (s *Streamsort) addArchiveBucket() {
	props := &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(), EnforceSSL: jsii.Bool(true),
		ObjectOwnership: awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		Encryption:      awss3.BucketEncryption_S3_MANAGED, RemovalPolicy: awscdk.RemovalPolicy_RETAIN,
	}
	if s.Key != nil {
		props.Encryption, props.EncryptionKey, props.BucketKeyEnabled = awss3.BucketEncryption_KMS, s.Key,
			jsii.Bool(true)
	}
	s.ArchiveBucket = awss3.NewBucket(s.scope, jsii.String("ArchiveBucket"), props)
	suppress(s.nameResource(s.ArchiveBucket, "ArchiveBucket"), suppression{
		rule:   "AwsSolutions-S1",
		reason: "Two functions of the stack use it, whose calls CloudTrail has where data events are on: a log of its own would need another bucket.",
	})
	s.nameResource(s.ArchiveBucket.Policy(), "ArchiveBucketPolicy")
}

// eraseArchives: delete the objects of each archive, and list no others.
func eraseArchives(all []Consumer) (statements []awsiam.PolicyStatement) {
	for _, c := range all {
		if !c.isArchive() {
			continue
		}
		list := allow([]string{"s3:ListBucket"}, c.Sink.ARN)
		list.AddCondition(jsii.String("StringLike"), map[string]any{"s3:prefix": s3.Folder(c.Name) + "*"})
		statements = append(statements, list, allow([]string{"s3:DeleteObject"}, c.objects()))
	}
	return statements
}
