// Command webhooks is a Lambda function of a user's own, behind the cursors table's stream: it gets
// every queue's messages in order. Copy it, and change handle.
package main

import "github.com/streamsort/streamsort/pkg/delivery/deliverylambda"

func main() { deliverylambda.Start("webhooks", handle) }
