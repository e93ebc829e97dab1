// Runs cdk-nag's pack ServerlessChecks over templates: node check.js TEMPLATE...
//
// reasons.json says which findings are meant to be: a rule, the logical ids of
// the resources that may break it (a regular expression, of the whole id), and
// why. It exits with 1, and names each, where a finding has no reason, a rule
// could not be applied, or a reason has no finding in any of the templates.
'use strict'

// CloudFormation's own rules are checked elsewhere; nobody would read them here.
process.env.CDK_VALIDATION = 'false'

const { App, Aspects, Stack } = require('aws-cdk-lib')
const { CfnInclude } = require('aws-cdk-lib/cloudformation-include')
const { ServerlessChecks } = require('cdk-nag')
const path = require('node:path')

const reasons = require('./reasons.json').map(({ rule, resources, reason }) => {
  if (!rule || !resources || !reason) throw new Error(`reasons.json: ${rule || 'an entry'} needs rule, resources and reason`)
  return { rule, resources: new RegExp(`^(${resources})$`), reason, used: 0 }
})

// Collector is a logger of cdk-nag's that keeps what it gets.
class Collector {
  findings = []
  compliant = 0

  onCompliance () { this.compliant++ }
  onNonCompliance (found) { this.findings.push({ ...named(found), what: found.ruleInfo }) }
  // A reason that the template itself gives, in its metadata.
  onSuppressed () {}
  onError (found) { this.findings.push({ ...named(found), what: `the rule failed: ${found.errorMessage}` }) }
  onSuppressedError (found) { this.onError(found) }
  onNotApplicable () {}
}

function named ({ ruleId, ruleOriginalName, resource }) {
  return { rule: ruleId, original: ruleOriginalName, resource: resource.node.id }
}

// check is what the pack finds in one template.
function check (file) {
  const app = new App({ analyticsReporting: false })
  const stack = new Stack(app, 'Checked')
  new CfnInclude(stack, 'Template', { templateFile: file })
  const collector = new Collector()
  Aspects.of(app).add(new ServerlessChecks({ reports: false, additionalLoggers: [collector] }))
  app.synth()
  if (collector.compliant + collector.findings.length === 0) throw new Error(`${file}: no rule looked at anything`)
  return collector
}

let bad = 0
for (const file of process.argv.slice(2)) {
  const { findings, compliant } = check(path.resolve(file))
  let meant = 0
  for (const { rule, original, resource, what } of findings) {
    const reason = reasons.find(r => r.rule === rule && r.resources.test(resource))
    if (reason) {
      reason.used++
      meant++
      continue
    }
    bad++
    console.log(`${path.basename(file)}: ${resource}: ${rule} (${original}): ${what}`)
  }
  console.log(`${path.basename(file)}: ${compliant} rules kept, ${meant} findings with a reason`)
}
for (const { rule, resources, used } of reasons) {
  if (used > 0) continue
  bad++
  console.log(`reasons.json: nothing breaks ${rule} at ${resources.source}: take the reason out`)
}
process.exitCode = bad > 0 ? 1 : 0
