// A stack of yours, in TypeScript: a consumer, and Streamsort from the template of a release.
// README.md says how to try it.
import * as cdk from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';

export interface OrdersProps extends cdk.StackProps {
  /** The bucket, in the stack's region, with a release's zips and template under streamsort/. */
  artifactBucket: string;
  /** The release, such as 1.2.3. */
  version: string;
}

export class OrdersStack extends cdk.Stack {
  constructor(scope: Construct, id: string, props: OrdersProps) {
    super(scope, id, props);

    const orders = new lambda.Function(this, 'Orders', {
      runtime: lambda.Runtime.NODEJS_22_X,
      handler: 'index.handler',
      code: lambda.Code.fromInline(`exports.handler = async batch => {
  for (const m of batch.messages) console.log(batch.queue, m.seq); // in order; an error redelivers the batch
};`),
    });

    const consumers = { consumers: [{ name: 'orders', sink: { kind: 'lambda', arn: orders.functionArn } }] };
    const streamsort = new cdk.CfnStack(this, 'Streamsort', {
      templateUrl: `https://${props.artifactBucket}.s3.${this.region}.${this.urlSuffix}/streamsort/streamsort_${props.version}.template.json`,
      parameters: {
        ArtifactBucket: props.artifactBucket,
        Consumers: this.toJsonString(consumers),
        Sinks: orders.functionArn,
      },
    });
    new cdk.CfnOutput(this, 'ApiUrl', { value: streamsort.getAtt('Outputs.ApiUrl').toString() });
  }
}

const app = new cdk.App();
new OrdersStack(app, 'Orders', { artifactBucket: app.node.getContext('artifactBucket'), version: app.node.getContext('version') });
