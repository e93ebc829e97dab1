package template

import "strings"

// findNotRun returns what would call a function and cannot here, with the reason: what brings
// records from services that are not part of the local stack. The functions run, and may be invoked
// with such events.
func findNotRun(resources map[string]rawResource) map[string]string {
	notRun := map[string]string{}
	for id, resource := range resources {
		var why string
		switch resource.typ {
		case "AWS::Lambda::EventSourceMapping":
			why = mappingNotRun(resource, resources)
		case "AWS::SNS::Subscription":
			if namesFunction(resource.properties["Endpoint"], resources) {
				why = "a topic of MiniStack does not reach the functions here"
			}
		case "AWS::Events::Rule":
			if resource.properties["ScheduleExpression"] == nil &&
				namesFunction(resource.properties["Targets"], resources) {
				why = "a bus of MiniStack does not reach the functions here"
			}
		}
		if why != "" {
			notRun[id] = why
		}
	}
	return notRun
}

// mappingNotRun is why a mapping is not run: empty for that of a table's stream and of a standard
// queue.
func mappingNotRun(mapping rawResource, resources map[string]rawResource) string {
	if mapping.properties["SelfManagedEventSource"] != nil {
		return "there is no Kafka here"
	}
	source := mapping.properties["EventSourceArn"]
	if text, _ := source.(string); strings.Contains(text, ":kafka:") {
		return "there is no Kafka here"
	}
	for _, id := range references(source) {
		of := resources[id]
		switch {
		case of.typ == "AWS::Kinesis::Stream":
			return "no stream of Kinesis is read here"
		case of.typ == "AWS::SQS::Queue" &&
			(of.properties["FifoQueue"] == true || of.properties["FifoQueue"] == "true"):
			return "only standard queues are read here"
		}
	}
	return ""
}

// namesFunction reports whether a value names a function, or an alias of one.
func namesFunction(value any, resources map[string]rawResource) bool {
	for _, id := range references(value) {
		switch resources[id].typ {
		case "AWS::Lambda::Function", "AWS::Lambda::Alias", "AWS::Lambda::Version":
			return true
		}
	}
	return false
}
