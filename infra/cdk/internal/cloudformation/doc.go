// Package cloudformation makes the template of a release: the stack as one file, which
// CloudFormation deploys without the CDK.
//
// The stack's own code says what is in it. [Build] has it synthesised several times: as
// it is with everything on, once with other values for all parameters, and once for each
// part that a parameter can switch off. Where two templates differ there stands, in the
// result, a parameter, or a condition on one. So there is no second template to look
// after, and a difference that no parameter explains is an error.
//
// What is not as in a stack of the CDK's:
//
//   - The functions' programs are the zips of a release, in a bucket of the user's.
//   - Aliases are on $LATEST, and there are no versions: CloudFormation publishes a
//     version where its resource is new, and of a file that stays the same none would be,
//     so that a changed parameter would never reach what is called.
//   - Names begin with the stack's name as it is deployed, and not as it was synthesised.
//   - process and the sweep have their consumers in the environment: there is no file
//     beside the program. Of the sinks' ARNs, one list is allowed.
package cloudformation
