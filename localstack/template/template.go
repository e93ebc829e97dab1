package template

import "cmp"

// Options are what a template is read for. The zero Options is valid.
type Options struct {
	// Stack is AWS::StackName and the beginning of made-up names; "local" where empty.
	Stack string
	// Parameters are values of the template's parameters; those not here have their defaults. Names
	// that the template does not declare are not an error.
	Parameters map[string]string
	// Imports are the exports of other stacks, for Fn::ImportValue.
	Imports map[string]string
	// Endpoint returns the base URL, without a final slash, at which the HTTP API or function URL
	// with this logical id and resource type will answer. It is asked only for those that exist,
	// and may be asked more than once.
	Endpoint func(logicalID, resourceType string) (string, error)
	// Foreign returns the return value of a resource that another service runs: of Ref where
	// attribute is empty, else of Fn::GetAtt.
	Foreign func(logicalID, attribute string) (string, error)
}

// Template is what there is to run, in the order of the logical ids.
type Template struct {
	Stack     string
	Tables    []Table
	Functions []Function
	Mappings  []Mapping
	APIs      []API
	URLs      []URL
	Schedules []Schedule
	Queues    []Queue           // those that take failures, and those that functions read
	Readers   []QueueMapping    // the functions that read queues
	NotRun    []string          // what would call functions and does not here, with the reason
	Outputs   map[string]string // by their names in the template
	Exports   map[string]string // by their exported names
}

// Read resolves the template. Its error joins all that is wrong with it; it holds a
// [MissingImportError] where an export is missing.
func (d *Document) Read(options Options) (*Template, error) {
	r, err := newResolver(d, options)
	if err != nil {
		return nil, err
	}
	reader := &reader{
		resolver: r, template: &Template{Stack: r.options.Stack},
		integrations: map[string]integration{}, authorizers: map[string]jwtAuthorizer{},
	}
	for _, id := range sorted(d.resources) {
		reader.problems.try(func() { reader.resource(id) })
	}
	reader.template.Outputs, reader.template.Exports = map[string]string{}, map[string]string{}
	for _, name := range sorted(d.outputs) {
		reader.problems.try(func() { reader.output("Outputs."+name, name) })
	}
	if reader.problems.err() == nil {
		reader.assemble()
	}
	if err := reader.problems.err(); err != nil {
		return nil, err
	}
	return reader.template, nil
}

func newResolver(d *Document, options Options) (*resolver, error) {
	options.Stack = cmp.Or(options.Stack, "local")
	r := &resolver{
		doc: d, options: options,
		parameters: map[string]any{}, conditions: map[string]bool{}, visiting: map[string]bool{},
	}
	var problems problems
	for _, name := range sorted(d.parameters) {
		problems.try(func() { r.parameters[name] = r.parameterValue(name, d.parameters[name]) })
	}
	return r, problems.err()
}

// reader builds a Template from a document, resource by resource. Parts that refer to each other
// (routes to APIs, permissions to functions) are kept until all are known.
type reader struct {
	*resolver
	problems problems
	template *Template

	integrations map[string]integration   // by logical id
	authorizers  map[string]jwtAuthorizer // by logical id
	permissions  []permission
	links        []func() // join what refers to each other, once all is read
}

// A typeReader reads one resource of its type.
type typeReader func(r *reader, id, physical string, p *props)

// typeReaders are the types that the local stack runs. (A function, not a variable: the readers
// refer to it in turn.)
func typeReaders() map[string]typeReader {
	return map[string]typeReader{
		"AWS::DynamoDB::Table":            (*reader).table,
		"AWS::DynamoDB::GlobalTable":      (*reader).table,
		"AWS::Lambda::Function":           (*reader).function,
		"AWS::Lambda::EventSourceMapping": (*reader).mapping,
		"AWS::Lambda::EventInvokeConfig":  (*reader).invokeConfig,
		"AWS::Lambda::Permission":         (*reader).permission,
		"AWS::Lambda::Url":                (*reader).url,
		"AWS::ApiGatewayV2::Api":          (*reader).api,
		"AWS::ApiGatewayV2::Route":        (*reader).route,
		"AWS::ApiGatewayV2::Integration":  (*reader).integration,
		"AWS::ApiGatewayV2::Authorizer":   (*reader).authorizer,
		"AWS::ApiGatewayV2::Stage":        (*reader).stage,
		"AWS::Events::Rule":               (*reader).rule,
		"AWS::SQS::Queue":                 (*reader).queue,
		"AWS::SQS::QueuePolicy":           nil, // who may send to a queue of the runner's: AWS checks it
	}
}

// resource reads one resource. What is wrong with its properties goes to r.problems; it panics with
// what kept them from being read at all.
func (r *reader) resource(id string) {
	resource, path := r.doc.resources[id], "Resources."+id
	if resource.condition != "" && !r.condition(path+".Condition", resource.condition) {
		return
	}
	if r.doc.foreign[id] || Ignored[resource.typ] != "" {
		return
	}
	if why := r.doc.notRun[id]; why != "" {
		r.template.NotRun = append(r.template.NotRun, id+": "+why)
		return
	}
	read, known := typeReaders()[resource.typ]
	if !known {
		panic(invalid(path, "type %s is not run on one machine, and is not on the list of types without local meaning", resource.typ))
	}
	if read == nil {
		return
	}
	physical := r.physicalName(id)
	properties, _ := r.value(path+".Properties", resource.properties).(map[string]any)
	p := newProps(path+".Properties", properties, &r.problems)
	if name := nameProperties[resource.typ]; name != "" {
		p.ignore(name)
	}
	read(r, id, physical, p)
	p.done()
}

// output reads an entry of the Outputs section, and its export.
func (r *reader) output(path, name string) {
	object, ok := r.doc.outputs[name].(map[string]any)
	if !ok {
		panic(invalid(path, "must be an object"))
	}
	if condition, ok := object["Condition"].(string); ok &&
		!r.condition(path+".Condition", condition) {
		return
	}
	value := r.text(path+".Value", object["Value"])
	r.template.Outputs[name] = value
	if export, ok := object["Export"].(map[string]any); ok {
		r.template.Exports[r.text(path+".Export.Name", export["Name"])] = value
	}
}
