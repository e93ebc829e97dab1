package template

import "slices"

// assemble joins the parts that refer to each other, and reports references that lead nowhere.
// Functions may belong to another template of the run, so their names are checked by the code that
// has them all.
func (r *reader) assemble() {
	for _, stage := range r.stages {
		if api := r.findAPI(stage.path, stage.api); api != nil {
			api.Stages = append(api.Stages, stage.Stage)
		}
	}
	for _, route := range r.routes {
		if api := r.findAPI(route.path, route.api); api != nil {
			r.addRoute(api, route)
		}
	}
	for _, api := range r.template.APIs {
		if len(api.Stages) == 0 {
			r.problems.add("Resources."+api.LogicalID,
				"has no AWS::ApiGatewayV2::Stage: on AWS it would answer nothing")
		}
	}
	for _, config := range r.invokes {
		i := slices.IndexFunc(r.template.Functions, func(f Function) bool {
			return f.Name == config.function
		})
		if i < 0 {
			r.problems.add(config.path+".FunctionName", "function %q is not in the template",
				config.function)
			continue
		}
		r.template.Functions[i].Async = config.async
	}
	for _, s := range r.template.Schedules {
		for _, target := range s.Targets {
			if !r.mayInvoke(target.Function, "events.amazonaws.com", s.ARN) {
				r.problems.add("Resources."+s.LogicalID, "no AWS::Lambda::Permission lets EventBridge invoke %s: on AWS it would never run", target.Function)
			}
		}
	}
}

func (r *reader) findAPI(path, id string) *API {
	for i := range r.template.APIs {
		if r.template.APIs[i].ID == id {
			return &r.template.APIs[i]
		}
	}
	r.problems.add(path+".ApiId", "API %q is not in the template", id)
	return nil
}

func (r *reader) addRoute(api *API, route rawRoute) {
	integration, ok := r.integrations[route.integration]
	if !ok || integration.api != api.ID {
		r.problems.add(route.path+".Target", "integration %q of this API is not in the template",
			route.integration)
		return
	}
	route.Function, route.Timeout = integration.function, integration.timeout
	if route.authorizer != "" {
		authorizer, ok := r.authorizers[route.authorizer]
		if !ok || authorizer.api != api.ID {
			r.problems.add(route.path+".AuthorizerId", "authoriser %q of this API is not in the template",
				route.authorizer)
			return
		}
		token := authorizer.JWT
		token.Scopes = route.scopes
		route.JWT = &token
	}
	for _, other := range api.Routes {
		if other.Key == route.Key {
			r.problems.add(route.path+".RouteKey", "another route has the key %q", route.Key)
		}
	}
	// The source ARN of a call: .../STAGE/METHOD/path, with the route's key in place of the
	// request's own method and path ("Permissions for HTTP APIs").
	method := route.Method
	if method == "ANY" {
		method = "*"
	}
	source := arn("execute-api", api.ID) + "/stage/" + method + route.Path
	if route.Key == "$default" {
		source = arn("execute-api", api.ID) + "/stage/$default"
	}
	if !r.mayInvoke(route.Function, "apigateway.amazonaws.com", source) {
		r.problems.add(route.path, "no AWS::Lambda::Permission lets API Gateway invoke %s for %s: on AWS it would answer 500", route.Function, route.Key)
	}
	api.Routes = append(api.Routes, route.Route)
}
