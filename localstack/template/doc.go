// Package template reads a synthesised CloudFormation template, as `cdk synth` writes it, and says
// in plain values what there is to run: tables, functions, event source mappings, HTTP APIs,
// function URLs, schedules and the queues that take what failed.
//
// Call [ReadFile] for a template's text, [Parse], then [Document.Read]; between the last two the
// caller may ask [Document.Foreign] which resources belong to services that this project does not
// run itself. Nothing is stored and nothing is called: but for [ReadFile], reading is a pure
// function of the template and the [Options].
//
// # What is guaranteed
//
//   - A resource type or a property that the local stack neither runs nor has on
//     its written list of those without local meaning is an error that names it
//     ([Ignored] is that list). Nothing of a template is left out silently.
//   - An error names the place inside the template, as in
//     "Resources.SortFunction.Properties.Timeout: must be from 1 to 900".
//     All errors of a template are reported together.
//   - No input makes it panic (FuzzRead).
//
// # Names
//
// A resource without a name of its own is called "STACK-LogicalID", so the same template gives the
// same names in every run. The account is 000000000000, the region us-east-1, the partition aws.
//
// The rules of the template's anatomy and of the intrinsic functions are those of the AWS
// CloudFormation Template Reference ("Template sections", "Intrinsic function reference", "Pseudo
// parameters reference").
package template

// The account, region and partition that every template is read for.
const (
	Account   = "000000000000"
	Region    = "us-east-1"
	Partition = "aws"
	urlSuffix = "amazonaws.com"
)
