package source

import (
	"encoding/json"
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
	name: "s3", events: []string{"aws:s3"}, read: readS3,
	fields: []string{"bucket", "eTag", "eventId", "eventName", "key", "object",
		"sequencer", "time", "versionId"},
	body: record, queue: "object", key: "sequencer", keyType: "text", id: "eventId",
}

func readS3(raw json.RawMessage) (parts, error) {
	var r struct {
		EventName, EventTime string
		S3                   struct {
			Bucket struct{ Name string }
			Object struct{ Key, VersionID, ETag, Sequencer string }
		}
		// Of EventBridge:
		DetailType string `json:"detail-type"`
		Time       string
		Detail     struct {
			Bucket struct{ Name string }
			Object struct {
				Key, ETag, Sequencer string
				VersionID            string `json:"version-id"`
			}
		}
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, unread("s3", err)
	}
	p := parts{}
	key := r.Detail.Object.Key
	if r.DetailType == "" {
		p.set("bucket", r.S3.Bucket.Name)
		p.set("eTag", r.S3.Object.ETag)
		p.set("eventName", r.EventName)
		p.set("sequencer", r.S3.Object.Sequencer)
		p.set("time", r.EventTime)
		p.set("versionId", r.S3.Object.VersionID)
		// A notification has the key as a form has it, with + for a space; EventBridge as it is.
		var err error
		if key, err = url.QueryUnescape(r.S3.Object.Key); err != nil {
			return nil, unread("s3", err)
		}
	} else {
		p.set("bucket", r.Detail.Bucket.Name)
		p.set("eTag", r.Detail.Object.ETag)
		p.set("eventName", r.DetailType)
		p.set("sequencer", r.Detail.Object.Sequencer)
		p.set("time", r.Time)
		p.set("versionId", r.Detail.Object.VersionID)
	}
	p.set("key", key)
	bucket, _ := p["bucket"].(string)
	if bucket != "" && key != "" {
		p.set("object", bucket+"/"+key)
	}
	name, _ := p["eventName"].(string)
	if sequencer, _ := p["sequencer"].(string); sequencer != "" && name != "" {
		p.set("eventId", name+"@"+sequencer)
	}
	return p, nil
}
