// Package awscall makes the few requests to AWS that functions make beside those to DynamoDB:
// [Client.Invoke] a Lambda function, [Client.SendBatch] to an SQS queue, [Client.Publish] and
// [Client.PublishBatch] to an SNS topic, [Client.PutEvents] to an EventBridge bus, fetch a
// [Client.Secret] or a [Client.Parameter], use the objects of a [Bucket] of S3. Call [New] once for
// a service and region, [NewBucket] for a bucket.
//
// The SDK's clients have every action of their service, and the linker cannot remove those: four
// together are 0.6 MB of a function's zip, of 3.2. The hard parts are the SDK's here too: the
// signature (package v4), and what is repeated, how often and when (package retry). TestLikeTheSDK
// compares each request with that of the SDK's own client.
//
// A client stores nothing and starts no goroutine. A request that fails is repeated as the SDK
// repeats it, three times in all, within the context: an action may have been done more often than
// it was answered.
package awscall
