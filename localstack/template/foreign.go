package template

import (
	"encoding/json"
	"slices"
	"strings"
)

// findForeign returns which resources other services have to run.
func findForeign(resources map[string]rawResource, notRun map[string]string) map[string]bool {
	foreign := map[string]bool{}
	used := usedQueues(resources)
	for id := range readQueues(resources, notRun) {
		delete(used, id) // the runner's own
	}
	for id, resource := range resources {
		if Foreign[resource.typ] == "" || notRun[id] != "" {
			continue
		}
		switch resource.typ {
		case "AWS::SQS::Queue":
			foreign[id] = used[id]
		case "AWS::SQS::QueuePolicy":
			foreign[id] = slices.ContainsFunc(references(resource.properties["Queues"]),
				func(id string) bool {
					return used[id]
				})
		case "AWS::Events::Rule":
			foreign[id] = resource.properties["ScheduleExpression"] == nil
		default:
			foreign[id] = true
		}
	}
	return foreign
}

// readQueues are the queues that functions read.
func readQueues(resources map[string]rawResource, notRun map[string]string) map[string]bool {
	read := map[string]bool{}
	for id, resource := range resources {
		if resource.typ == "AWS::Lambda::EventSourceMapping" && notRun[id] == "" {
			for _, id := range references(resource.properties["EventSourceArn"]) {
				read[id] = resources[id].typ == "AWS::SQS::Queue"
			}
		}
	}
	return read
}

// usedQueues are the queues that something sends to or reads from: all but those that are only
// named as the place for what a mapping or an asynchronous invocation gives up on.
func usedQueues(resources map[string]rawResource) map[string]bool {
	used := map[string]bool{}
	failureOnly := map[string]bool{}
	for _, resource := range resources {
		for name, value := range resource.properties {
			forFailures := failurePlaces(resource.typ, name, value)
			for _, id := range references(value) {
				switch {
				case slices.Contains(forFailures, id):
					failureOnly[id] = true
				case Ignored[resource.typ] == "" && resource.typ != "AWS::SQS::QueuePolicy":
					used[id] = true
				}
			}
		}
	}
	for id, resource := range resources {
		if resource.typ == "AWS::SQS::Queue" && !failureOnly[id] {
			used[id] = true
		}
	}
	return used
}

// failurePlaces are the resources that a property of a type names as the places where failures go.
func failurePlaces(typ, property string, value any) []string {
	switch typ + "." + property {
	case "AWS::Lambda::Function.Environment":
		// That of a source sends what makes no message there.
		environment, _ := value.(map[string]any)
		variables, _ := environment["Variables"].(map[string]any)
		return references(variables["STREAMSORT_FAILURE_QUEUE"])
	case "AWS::SNS::Subscription.RedrivePolicy":
		return references(value)
	case "AWS::Lambda::EventSourceMapping.DestinationConfig",
		"AWS::Lambda::EventInvokeConfig.DestinationConfig",
		"AWS::Lambda::Function.DeadLetterConfig":
		return references(value)
	case "AWS::Events::Rule.Targets":
		targets, _ := value.([]any)
		var ids []string
		for _, target := range targets { // which may be a queue itself, and is in use
			properties, _ := target.(map[string]any)
			ids = append(ids, references(properties["DeadLetterConfig"])...)
		}
		return ids
	}
	return nil
}

// references are the logical ids that Ref, Fn::GetAtt and Fn::Sub name in v.
func references(v any) []string {
	var ids []string
	walk(v, func(id, _ string) { ids = append(ids, id) })
	return ids
}

// walk visits what each Ref, Fn::GetAtt and Fn::Sub inside v names: an id, and an attribute.
func walk(v any, visit func(id, attribute string)) {
	named := func(text string) {
		id, attribute, _ := strings.Cut(text, ".")
		visit(id, attribute)
	}
	switch v := v.(type) {
	case []any:
		for _, entry := range v {
			walk(entry, visit)
		}
	case map[string]any:
		for name, value := range v {
			walk(value, visit)
			list, _ := value.([]any)
			first, _ := value.(string)
			if len(list) > 0 {
				first, _ = list[0].(string)
			}
			switch {
			case name == "Fn::Sub":
				_ = try(func() {
					replaceVariables("", first, func(variable string) string {
						named(variable)
						return ""
					})
				})
			case name == "Fn::GetAtt" && len(list) == 2:
				attribute, _ := list[1].(string)
				visit(first, attribute)
			case name == "Ref", name == "Fn::GetAtt":
				named(first)
			}
		}
	}
}

// ForeignTemplate is a template of just the resources that belong to other services, with the
// values of all others written in, and the services' names. The text is nil where there are none.
//
// Its outputs are the return values that the rest of the template needs: "R" and the logical id for
// Ref, and "A", the logical id, "A" and the attribute for Fn::GetAtt ([ForeignOutput]).
func (d *Document) ForeignTemplate(options Options) (text []byte, services []string, err error) {
	r, err := newResolver(d, options)
	if err != nil {
		return nil, nil, err
	}
	r.partial = true
	resources := map[string]any{}
	err = try(func() {
		for _, id := range sorted(d.resources) {
			resource, path := d.resources[id], "Resources."+id
			if !d.foreign[id] ||
				resource.condition != "" && !r.condition(path+".Condition", resource.condition) {
				continue
			}
			d.refuseCalls(path+".Properties", resource)
			properties := r.value(path+".Properties", resource.properties)
			resources[id] = map[string]any{"Type": resource.typ, "Properties": properties}
			services = append(services, Foreign[resource.typ])
		}
	})
	if err != nil || len(resources) == 0 {
		return nil, nil, err
	}
	slices.Sort(services)
	text, err = json.Marshal(map[string]any{"Resources": resources,
		"Outputs": d.foreignOutputs(resources)})
	return text, slices.Compact(services), err
}

// refuseCalls refuses a foreign resource that invokes a function: the service that holds the one
// cannot reach the other.
func (d *Document) refuseCalls(path string, resource rawResource) {
	for _, id := range references(resource.properties) {
		if isFunction(d.resources[id]) {
			panic(invalid(path, "names function %s: here functions are called by streams of tables, queues, routes, URLs and schedules only", id))
		}
	}
}

// ForeignOutput is the name of the output of a foreign template that holds a resource's return
// value: of Ref where attribute is empty, else of Fn::GetAtt.
func ForeignOutput(id, attribute string) string {
	if attribute == "" {
		return "R" + id
	}
	return "A" + id + "A" + strings.ReplaceAll(attribute, ".", "")
}

// foreignOutputs asks for each return value that something outside uses.
func (d *Document) foreignOutputs(resources map[string]any) map[string]any {
	outputs := map[string]any{}
	want := func(id, attribute string) {
		if resources[id] == nil {
			return
		}
		var value any = map[string]any{"Ref": id}
		if attribute != "" {
			value = map[string]any{"Fn::GetAtt": []any{id, attribute}}
		}
		outputs[ForeignOutput(id, attribute)] = map[string]any{"Value": value}
	}
	for id, resource := range d.resources {
		if !d.foreign[id] {
			walk(resource.properties, want)
		}
	}
	walk(d.outputs, want)
	return outputs
}

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
	return slices.ContainsFunc(references(value), func(id string) bool {
		return isFunction(resources[id])
	})
}

func isFunction(r rawResource) bool {
	return slices.Contains([]string{"AWS::Lambda::Function", "AWS::Lambda::Alias",
		"AWS::Lambda::Version"}, r.typ)
}
