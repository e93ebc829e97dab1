# A consumer of Streamsort, and Streamsort itself from the template of a release: README.md.
terraform {
  required_providers {
    aws     = { source = "hashicorp/aws", version = ">= 5.0" }
    archive = { source = "hashicorp/archive", version = ">= 2.0" }
  }
}

variable "artifact_bucket" {
  type        = string
  description = "The bucket, in the provider's region, with a release's zips and template under streamsort/"
}

variable "release" {
  type        = string
  description = "The release, such as 1.2.3"
}

data "aws_region" "current" {}
data "aws_partition" "current" {}

data "archive_file" "orders" {
  type        = "zip"
  output_path = "${path.module}/orders.zip"
  source {
    filename = "index.py"
    content  = <<-PYTHON
      def handler(batch, context):
          for m in batch["messages"]:  # in order; an exception redelivers the batch
              print(batch["queue"], m["seq"])
    PYTHON
  }
}

resource "aws_iam_role" "orders" {
  name_prefix = "orders-"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy_attachment" "orders" {
  role       = aws_iam_role.orders.name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
}

resource "aws_lambda_function" "orders" {
  function_name    = "orders"
  runtime          = "python3.13"
  handler          = "index.handler"
  role             = aws_iam_role.orders.arn
  filename         = data.archive_file.orders.output_path
  source_code_hash = data.archive_file.orders.output_base64sha256
}

resource "aws_cloudformation_stack" "streamsort" {
  name         = "streamsort"
  template_url = "https://${var.artifact_bucket}.s3.${data.aws_region.current.name}.amazonaws.com/streamsort/streamsort_${var.release}.template.json"
  capabilities = ["CAPABILITY_IAM"]
  parameters = {
    ArtifactBucket = var.artifact_bucket
    Consumers      = jsonencode({ consumers = [{ name = "orders", sink = { kind = "lambda", arn = aws_lambda_function.orders.arn } }] })
    Sinks          = aws_lambda_function.orders.arn
  }
}

output "api_url" {
  value = aws_cloudformation_stack.streamsort.outputs["ApiUrl"]
}
