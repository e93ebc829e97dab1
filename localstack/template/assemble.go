package template

import "slices"

// assemble joins the parts that refer to each other, and reports references that lead nowhere.
// Functions may belong to another template of the run, so their names are checked by the code that
// has them all.
func (r *reader) assemble() {
	for _, link := range r.links {
		link()
	}
	for _, api := range r.template.APIs {
		if len(api.Stages) == 0 {
			r.problems.add("Resources."+api.LogicalID,
				"has no AWS::ApiGatewayV2::Stage: on AWS it would answer nothing")
		}
	}
	for _, s := range r.template.Schedules {
		for _, target := range s.Targets {
			if !r.mayInvoke(target.Function, "events.amazonaws.com", s.ARN) {
				r.problems.add("Resources."+s.LogicalID, "no AWS::Lambda::Permission lets EventBridge invoke %s: on AWS it would never run", target.Function)
			}
		}
	}
}

// inAPI links a part with its API, once all are read.
func (r *reader) inAPI(p *props, link func(*API)) {
	id := p.need("ApiId")
	r.links = append(r.links, func() {
		i := slices.IndexFunc(r.template.APIs, func(a API) bool { return a.ID == id })
		if i < 0 {
			p.bad("ApiId", "API %q is not in the template", id)
			return
		}
		link(&r.template.APIs[i])
	})
}

func (r *reader) addRoute(p *props, api *API, route Route, integrationID, authorizerID string) {
	integration, ok := r.integrations[integrationID]
	if !ok || integration.api != api.ID {
		p.bad("Target", "integration %q of this API is not in the template", integrationID)
		return
	}
	route.Function, route.Timeout = integration.function, integration.timeout
	if route.JWT != nil {
		authorizer, ok := r.authorizers[authorizerID]
		if !ok || authorizer.api != api.ID {
			p.bad("AuthorizerId", "authoriser %q of this API is not in the template", authorizerID)
			return
		}
		route.JWT.Issuer, route.JWT.Audience = authorizer.Issuer, authorizer.Audience
	}
	for _, other := range api.Routes {
		if other.Key == route.Key {
			p.bad("RouteKey", "another route has the key %q", route.Key)
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
		r.problems.add(p.path, "no AWS::Lambda::Permission lets API Gateway invoke %s for %s: on AWS it would answer 500", route.Function, route.Key)
	}
	api.Routes = append(api.Routes, route)
}
