package source

import (
	"net/url"
)

// s3Kind is what happened to an object: as a notification, by itself or within messages of SQS and
// SNS, or as an event of EventBridge. One queue for each object, in the order of the sequencers. S3
// has such for objects that are made and removed, not for the rest.
//
// AWS has the shorter one of two sequencers padded with zeros at its right, and both compared as
// texts. A text that another one begins with sorts first without that, and 0 is the least digit: so
// they sort as they are.
//
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html
var s3Kind = kind{
	name: "s3", events: []string{"aws:s3"}, read: reading("s3", readS3),
	fields: []string{"bucket", "eTag", "eventId", "eventName", "key", "object",
		"sequencer", "time", "versionId"},
	body: record, queue: "object", key: "sequencer", keyType: "text", id: "eventId",
}

type s3Object struct {
	Bucket struct{ Name string }
	Object struct {
		Key, ETag, Sequencer, VersionID string
		BusVersionID                    string `json:"version-id"`
	}
}

func readS3(r struct {
	EventName, EventTime string
	S3                   s3Object
	// Of EventBridge:
	DetailType string `json:"detail-type"`
	Time       string
	Detail     s3Object
}) (parts, error) {
	of, name, at := r.Detail, r.DetailType, r.Time
	key, version := of.Object.Key, of.Object.BusVersionID
	if r.DetailType == "" {
		of, name, at, version = r.S3, r.EventName, r.EventTime, r.S3.Object.VersionID
		// A notification has the key as a form has it, with + for a space; EventBridge as it is.
		var err error
		if key, err = url.QueryUnescape(r.S3.Object.Key); err != nil {
			return nil, unread("s3", err)
		}
	}
	p := parts{}
	p.set("bucket", of.Bucket.Name)
	p.set("eTag", of.Object.ETag)
	p.set("eventName", name)
	p.set("sequencer", of.Object.Sequencer)
	p.set("time", at)
	p.set("versionId", version)
	p.set("key", key)
	if of.Bucket.Name != "" && key != "" {
		p.set("object", of.Bucket.Name+"/"+key)
	}
	if of.Object.Sequencer != "" && name != "" {
		p.set("eventId", name+"@"+of.Object.Sequencer)
	}
	return p, nil
}
