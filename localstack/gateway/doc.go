// Package gateway answers HTTP requests as three of AWS's front doors do, and passes them to
// functions: an HTTP API of API Gateway ([NewAPI]), a function URL ([NewURL]) and the Invoke action
// of Lambda's own API ([NewInvoke]). Each is an http.Handler. None stores anything.
//
// # What is not as on AWS
//
//   - Signatures are not checked, and a request without one is let through. On a route with IAM
//     authorisation, the function gets the identity block that a checked signature gives, with the
//     access key that the Authorization header names (AWS4-HMAC-SHA256), or "unsigned".
//   - Tokens are checked, by keys that are fetched from their issuer.
//   - API Gateway decodes a path before it passes it to the function (rawPath); AWS
//     also cuts it at an encoded question mark, which is not repeated here.
//   - CORS, Lambda authorisers, parameter mapping and throttling are not
//     run; reading a template that asks for them is an error.
package gateway
