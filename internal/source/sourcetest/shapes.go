package sourcetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	region, account = "eu-west-1", "123456789012"
)

// Shapes are all of them, each with its own name.
var Shapes = []Shape{
	{
		Name: "sqs", Most: 10,
		Source: `{"name":"src","kind":"sqs","queue":"account","seq":"n"}`,
		record: func(queue, n int) any {
			return message(id(1, queue, n), text(payload(queue, n)), "payments", Time(n), nil)
		},
		event: list, Queue: byName, N: ofPayload,
	},
	{
		Name: "sqsFifo", Most: 10, Source: `{"name":"src","kind":"sqsFifo"}`, Settles: true,
		record: func(queue, n int) any {
			return message(id(2, queue, n), text(payload(queue, n)), "ledger.fifo", Time(n), object{
				"SequenceNumber": fmt.Sprintf("188%017d", 256*n), "MessageGroupId": queueName(queue),
				"MessageDeduplicationId": fmt.Sprintf("%d/%d", queue, n),
			})
		},
		event: list, Queue: byName, N: ofPayload,
	},
	{
		Name: "sns", Most: 1, Source: ofAccount, Settles: true,
		record: func(queue, n int) any { return notified(id(3, queue, n), "changes", text(payload(queue, n)), Time(n)) },
		event:  list, Queue: byName, N: ofPayload,
	},
	inSQS(Shape{Name: "sns by sqs", Source: ofAccount, Queue: byName, N: ofPayload},
		"changes", 5, func(queue, n int) string {
			return forwarded(id(4, queue, n), "changes", text(payload(queue, n)), Time(n))
		}),
	{
		Name: "eventbridge", Most: 1, Source: byTimeAndNumber, Settles: true,
		record: func(queue, n int) any { return ordered(6, queue, n) },
		event:  one, Queue: byName, N: ofPayload,
	},
	inSQS(Shape{Name: "eventbridge by sqs", Source: byTimeAndNumber, Queue: byName, N: ofPayload},
		"orders", 8, func(queue, n int) string { return text(ordered(7, queue, n)) }),
	{
		Name: "kinesis", Most: 100, Source: `{"name":"src","kind":"kinesis"}`, Settles: true,
		record: func(queue, n int) any {
			number := SequenceNumber(n*1000 + queue)
			return object{
				"kinesis": object{
					"kinesisSchemaVersion": "1.0", "partitionKey": queueName(queue), "sequenceNumber": number,
					"data": base64.StdEncoding.EncodeToString(marshal(payload(queue, n))),
					"approximateArrivalTimestamp": json.Number(fmt.Sprintf("%d.%03d", Time(n).Unix(),
						Time(n).Nanosecond()/1e6)),
				},
				"eventSource": "aws:kinesis", "eventVersion": "1.0",
				"eventID":   "shardId-000000000006:" + number,
				"eventName": "aws:kinesis:record", "invokeIdentityArn": "arn:aws:iam::" + account +
					":role/source", "awsRegion": region,
				"eventSourceARN": "arn:aws:kinesis:" + region + ":" + account + ":stream/clicks",
			}
		},
		event: list, Queue: byName, N: ofPayload,
	},
	{
		Name: "s3", Most: 1, Source: objects, Settles: true,
		record: func(queue, n int) any { return stored(queue, n) },
		event:  list, Queue: ofObject, N: ofSequencer,
	},
	inSQS(Shape{Name: "s3 by sqs", Source: objects, Queue: ofObject, N: ofSequencer},
		"inbox", 9, func(queue, n int) string {
			return text(object{"Records": []any{stored(queue, n)}})
		}),
	inSQS(Shape{Name: "s3 by sns and sqs", Source: objects, Queue: ofObject, N: ofSequencer},
		"inbox", 11, func(queue, n int) string {
			body := text(object{"Records": []any{stored(queue, n)}})
			return forwarded(id(10, queue, n), "inbox", body, Time(n))
		}),
	{
		Name: "s3 by eventbridge", Most: 1, Source: objects, Settles: true,
		record: func(queue, n int) any {
			e := busEvent(id(12, queue, n), "aws.s3", "Object Created", Time(n), object{
				"version": "0", "bucket": object{"name": "inbox"}, "request-id": fmt.Sprintf("N4N7GDK5%08X", n),
				"requester": account,
				"object": object{"key": objectKey(queue), "size": n,
					"etag": "b1946ac92492d2347c6235b4d2611184", "sequencer": sequencer(n)},
				"source-ip-address": "203.0.113.7", "reason": "PutObject",
			})
			e["resources"] = []any{"arn:aws:s3:::inbox"}
			return e
		},
		event: one, Queue: ofObject, N: ofSequencer,
	},
	{
		Name: "dynamodb", Most: 100, Source: `{"name":"src","kind":"dynamodb"}`, Settles: true,
		record: func(queue, n int) any {
			image := func(n int) object {
				return object{"account": object{"S": queueName(queue)}, "region/zone": object{"N": "7"},
					"n": object{"N": strconv.Itoa(n)}, "open": object{"BOOL": true}}
			}
			change := object{
				"ApproximateCreationDateTime": Time(n).Unix(),
				"Keys": object{"account": object{"S": queueName(queue)},
					"region/zone": object{"N": "7"}},
				"NewImage":       image(n),
				"SequenceNumber": fmt.Sprintf("44215845000000000%08d", n*1000+queue),
				"SizeBytes":      84, "StreamViewType": "NEW_AND_OLD_IMAGES",
			}
			name := "INSERT"
			if n > 1 {
				change["OldImage"], name = image(n-1), "MODIFY"
			}
			return object{
				"eventID": fmt.Sprintf("%016x%016x", queue+1, n), "eventName": name, "eventVersion": "1.1",
				"eventSource": "aws:dynamodb", "awsRegion": region,
				"dynamodb": change, "eventSourceARN": "arn:aws:dynamodb:" + region + ":" + account +
					":table/accounts/stream/2026-03-01T00:00:00.000",
			}
		},
		event: list,
		Queue: func(queue int) string { return "src/accounts/" + queueName(queue) + "/7" },
		N: func(body []byte) (int, error) {
			var r struct {
				DynamoDB struct {
					NewImage struct {
						N struct{ N string } `json:"n"`
					}
				}
			}
			if err := json.Unmarshal(body, &r); err != nil {
				return 0, err
			}
			return strconv.Atoi(r.DynamoDB.NewImage.N.N)
		},
	},
	{
		Name: "kafka", Most: 100, Source: `{"name":"src","kind":"kafka"}`, Settles: true,
		record: func(queue, n int) any {
			return object{
				// Offsets have gaps.
				"topic": "trades", "partition": queue, "offset": 3 * n, "timestamp": Time(n).UnixMilli(),
				"timestampType": "CREATE_TIME",
				"key":           base64.StdEncoding.EncodeToString([]byte(queueName(queue))),
				"value":         base64.StdEncoding.EncodeToString(marshal(payload(queue, n))),
				"headers":       []any{object{"trace": []int{118, -36, 0, 127, -128}}},
			}
		},
		event: func(records []json.RawMessage) any {
			partitions := map[string][]json.RawMessage{}
			for _, raw := range records {
				var r struct{ Partition int }
				_ = json.Unmarshal(raw, &r)
				name := fmt.Sprintf("trades-%d", r.Partition)
				partitions[name] = append(partitions[name], raw)
			}
			return object{
				"eventSource": "aws:kafka", "eventSourceArn": "arn:aws:kafka:" + region + ":" + account +
					":cluster/trades/e9f754c6-d29a-4430-a7db-958a19fd2c54-4",
				"bootstrapServers": "b-1.trades.a1bcde.c1.kafka." + region + ".amazonaws.com:9092",
				"records":          partitions,
			}
		},
		Queue: func(queue int) string { return fmt.Sprintf("src/trades-%d", queue) }, N: ofPayload,
	},
}

// inSQS is a shape whose records come in the messages of a queue of SQS, with these bodies.
func inSQS(s Shape, queue string, kind byte, body func(queue, n int) string) Shape {
	s.Most, s.Settles, s.event = 10, true, list
	s.record = func(of, n int) any {
		return message(id(kind, of, n), body(of, n), queue, Time(n), nil)
	}
	return s
}

// message is a message of a queue of SQS, with a body of its own.
func message(messageID, body, queue string, sent time.Time, attributes object) object {
	all := object{
		"ApproximateReceiveCount": "1", "SentTimestamp": millis(sent), "SenderId": "AIDAEXAMPLESENDER",
		"ApproximateFirstReceiveTimestamp": millis(sent.Add(3 * time.Millisecond)),
	}
	for name, value := range attributes {
		all[name] = value
	}
	return object{
		"messageId": messageID, "receiptHandle": "AQEB" + messageID, "body": body, "attributes": all,
		"messageAttributes": object{"trace": object{"stringValue": messageID, "stringListValues": []any{},
			"binaryListValues": []any{}, "dataType": "String"}},
		"md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3", "eventSource": "aws:sqs",
		"awsRegion":      region,
		"eventSourceARN": "arn:aws:sqs:" + region + ":" + account + ":" + queue,
	}
}

func text(document any) string { return string(marshal(document)) }

// notification is one of SNS; the URL's member has another name in an event of Lambda's.
func notification(messageID, topic, message, certificate, unsubscribe string, at time.Time) object {
	return object{
		"Type": "Notification", "MessageId": messageID,
		"TopicArn": "arn:aws:sns:" + region + ":" + account + ":" + topic,
		"Subject":  "a change", "Message": message, "Timestamp": at.Format("2006-01-02T15:04:05.000Z"),
		"SignatureVersion": "1",
		"Signature":        "tcc6faL2yUC6dgZdmrwh1Y4cGa/ebXEkAi6RibDsvpi+tE/1+82j...",
		certificate: "https://sns." + region +
			".amazonaws.com/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem",
		unsubscribe:         "https://sns." + region + ".amazonaws.com/?Action=Unsubscribe",
		"MessageAttributes": object{"kind": object{"Type": "String", "Value": "change"}},
	}
}

// notified is a record of SNS, as Lambda gets it.
func notified(messageID, topic, message string, at time.Time) object {
	n := notification(messageID, topic, message, "SigningCertUrl", "UnsubscribeUrl", at)
	return object{
		"EventVersion": "1.0", "EventSource": "aws:sns",
		"EventSubscriptionArn": n["TopicArn"].(string) + ":21be56ed-a058-49f5-8c98-aedd2564c486",
		"Sns":                  n,
	}
}

// forwarded is a message of SQS that SNS sent there, without raw delivery.
func forwarded(messageID, topic, message string, at time.Time) string {
	return text(notification(messageID, topic, message, "SigningCertURL", "UnsubscribeURL", at))
}

// busEvent is an event of EventBridge, whose times have seconds.
func busEvent(eventID, source, detailType string, at time.Time, detail object) object {
	return object{
		"version": "0", "id": eventID, "detail-type": detailType, "source": source, "account": account,
		"time": at.Format("2006-01-02T15:04:05Z"), "region": region, "resources": []any{},
		"detail": detail,
	}
}

// ordered is one of the bus that has orders.
func ordered(kind byte, queue, n int) object {
	return busEvent(id(kind, queue, n), "com.example.orders", "Order Changed", Time(n),
		payload(queue, n))
}

// ofAccount is the description of a source of SNS.
const ofAccount = `{"name":"src","kind":"sns","queue":"account"}`

// byTimeAndNumber is the description of a source of EventBridge: its times have seconds, so a
// number in the event tells those of one second apart.
const byTimeAndNumber = `{"name":"src","kind":"eventbridge","queue":"account","key":"@time,n","keyType":"time,number"}`

// SequenceNumber is a sequence number of Kinesis: 56 digits, of which the last ones count.
func SequenceNumber(n int) string {
	first, _ := new(big.Int).SetString("49590338271490256608559692538361571095921575989136588898", 10)
	return first.Add(first, new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(1_000_003))).String()
}

// objectKey is the key of an object, with what a notification escapes.
func objectKey(queue int) string {
	return fmt.Sprintf("in/%s/Grüße + 100%%.json", queueName(queue))
}

// sequencer is one of S3: digits to the base of 16, not always of one length.
func sequencer(n int) string {
	return strings.TrimRight(fmt.Sprintf("0055AED6DCD9%010X", 16*n), "0")
}

func stored(queue, n int) object {
	return object{
		"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": region,
		"eventTime": Time(n).Format("2006-01-02T15:04:05.000Z"),
		"eventName": "ObjectCreated:Put", "userIdentity": object{"principalId": "AWS:AROAEXAMPLE"},
		"requestParameters": object{"sourceIPAddress": "203.0.113.7"},
		"responseElements": object{"x-amz-request-id": fmt.Sprintf("C3D13FE5%08X", n),
			"x-amz-id-2": "FMyUVURIY8/IgAtTv8xRjskZQpcIZ9KG4V5Wp6S7S/JRWeUWerMUE5JgHvANOjpD"},
		"s3": object{
			"s3SchemaVersion": "1.0", "configurationId": "all",
			"bucket": object{"name": "inbox", "ownerIdentity": object{"principalId": "A3NL1KOZZKExample"},
				"arn": "arn:aws:s3:::inbox"},
			"object": object{"key": url.QueryEscape(objectKey(queue)), "size": n,
				"eTag": "d41d8cd98f00b204e9800998ecf8427e", "sequencer": sequencer(n)},
		},
	}
}

func ofObject(queue int) string { return "src/inbox/" + objectKey(queue) }

// ofSequencer finds n in the body of an object's record, of either form.
func ofSequencer(body []byte) (int, error) {
	var r struct {
		S3, Detail struct{ Object struct{ Sequencer string } }
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return 0, err
	}
	digits := strings.TrimPrefix(r.S3.Object.Sequencer+r.Detail.Object.Sequencer, "0055AED6DCD9")
	n, err := strconv.ParseInt(digits+strings.Repeat("0", 10-len(digits)), 16, 64)
	return int(n / 16), err
}

const objects = `{"name":"src","kind":"s3"}`
